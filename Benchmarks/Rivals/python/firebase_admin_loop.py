"""Google's own firebase-admin for Python in a bare loop: no queue, one message to many tokens.

Usage: firebase_admin_loop.py JOB_FILE

Takes the job file of the libcurl floor, with the message's fields, the service account and a token to number besides,
and prints the same answer. The library is told which authority to trust and, in place of FCM's, the sink's address;
otherwise it is as it comes.
"""

import asyncio
import json
import os
import resource
import sys
import time

with open(sys.argv[1], encoding="utf-8") as file:
    job = json.load(file)
os.environ["REQUESTS_CA_BUNDLE"] = job["authority"]
os.environ["SSL_CERT_FILE"] = job["authority"]

import firebase_admin  # noqa: E402
from firebase_admin import credentials, messaging  # noqa: E402

# The library has no setting for it.
messaging._MessagingService.FCM_URL = job["url"]
firebase_admin.initialize_app(credentials.Certificate(job["account"]))
# As many as the library takes at once.
MOST = 500
answer = {"sent": 0, "failed": 0, "firstError": ""}


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int(usage.ru_utime * 1e9), int(usage.ru_stime * 1e9)


def peak_memory():
    """In megabytes, as the kernel counts it: what getrusage says counts the parent at the time of the fork too."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def message(tokens):
    fields = job["message"]
    return messaging.MulticastMessage(
        tokens=tokens,
        notification=messaging.Notification(**fields["notification"]),
        data=fields["data"],
        android=messaging.AndroidConfig(priority=fields["android"]["priority"].lower()),
    )


async def phase(tokens):
    for start in range(0, len(tokens), MOST):
        batch = await messaging.send_each_for_multicast_async(message(tokens[start : start + MOST]))
        answer["sent"] += batch.success_count
        answer["failed"] += batch.failure_count
        for response in batch.responses:
            if response.exception and not answer["firstError"]:
                answer["firstError"] = repr(response.exception)


async def main():
    tokens = job["tokens"]
    await phase(tokens[: job["warmUp"]])
    if answer["failed"]:
        return
    answer["sent"] = 0
    before, started = used(), time.monotonic_ns()
    await phase(tokens)
    after = used()
    answer["wallNs"] = time.monotonic_ns() - started
    answer["userNs"] = after[0] - before[0]
    answer["systemNs"] = after[1] - before[1]
    answer["warmUpCPUNs"] = sum(before)
    answer["peakMemoryMegabytes"] = peak_memory()


asyncio.run(main())
if "wallNs" not in answer:
    sys.exit(answer["firstError"])
print(json.dumps(answer))
