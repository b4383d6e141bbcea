"""Usage: REDIS_URL=redis://127.0.0.1:6379/0 python3 push.py PROJECT JOB_ID TOKEN...

Exits with 0 if all of it was sent, 1 if something failed, 69 if Redis cannot be reached. Needs: pip install redis
"""

import json
import os
import sys
import time

import redis

project, job_id, tokens = sys.argv[1], sys.argv[2], sys.argv[3:]
base = f"fanfare:{{{project}}}"
group = "newsletter-py"
r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0"), decode_responses=True)


def read(stream, handle):
    """Hands over what the group has not acknowledged: first what this consumer was given before it crashed."""
    for start in ("0", ">"):
        while True:
            entries = dict(r.xreadgroup(group, "one", {stream: start}, count=100)).get(stream, [])
            if entries and isinstance(entries[0], list):
                entries = entries[0]  # protocol=3 in the URL: a list in a list
            if not entries:
                break
            for entry_id, fields in entries:
                handle(fields)
                r.xack(stream, group, entry_id)  # only now: a crash before this line has it read again


def on_results(fields):
    for result in json.loads(fields["results"]):
        # "sent": FCM accepted the message. It does not mean that a device showed it.
        print(f"{fields['job']} {result['i']} {result['status']} {result.get('error', '-')}")


def on_feedback(fields):
    # "remove": forget the token. "replace": use fields["replacement"] from now on.
    print(f"feedback {fields['action']} {fields.get('token') or fields.get('fid')}")


def follow(job_id):
    """Reads results and feedback until the job is over. Returns whether all of it was sent."""
    while True:
        job = r.hgetall(f"{base}:job:{job_id}")  # empty until a worker has taken the job
        read(f"{base}:results", on_results)
        read(f"{base}:feedback", on_feedback)
        if job.get("state") == "rejected":
            print(f"{job_id} is rejected: {job['reason']}", file=sys.stderr)
            return False
        if job.get("state") in ("done", "cancelled", "expired"):
            break
        time.sleep(0.2)
    counts = f"{job['sent']} sent, {job['failed']} failed, {job['unknown']} unknown of {job['total']}"
    print(f"{job_id} is {job['state']}: {counts}")
    return job["sent"] == job["total"]


def main():
    # Created before the first push and at the end of each stream ($), so that this group reads every result of its own
    # jobs and none that is older. It stays until XGROUP DESTROY.
    for name in ("results", "feedback"):
        try:
            r.xgroup_create(f"{base}:{name}", group, id="$", mkstream=True)
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    # The id makes the push idempotent: repeated within 24 hours, it sends nothing.
    message = {"notification": {"title": "Hello", "body": "World"}}
    r.xadd(f"{base}:jobs", {"id": job_id, "tokens": json.dumps(tokens), "message": json.dumps(message)})

    # A personal job: each recipient has a value for the placeholder.
    personal = f"{job_id}-personal"
    people = [{"token": token, "vars": {"name": "Ana"}} for token in tokens]
    message = {"notification": {"title": "Hello {{name|there}}", "body": "World"}}
    r.xadd(f"{base}:jobs", {"id": personal, "recipients": json.dumps(people), "message": json.dumps(message)})
    print(f"pushed {job_id} and {personal}")

    return 0 if all([follow(job_id), follow(personal)]) else 1


try:
    sys.exit(main())
except (redis.ConnectionError, redis.TimeoutError) as error:
    print(f"Redis cannot be reached: {error}", file=sys.stderr)
    sys.exit(69)
