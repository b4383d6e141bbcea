"""Runs Google's own firebase-admin library, unmodified, against a sandbox.

Usage: firebase_admin_send.py STATE_DIR PORT PROJECT

The library is told nothing but a service account and, through the environment
(REQUESTS_CA_BUNDLE, SSL_CERT_FILE), which authority to trust. The only
stand-in is name resolution: *.googleapis.com leads to this machine, and port
443 to the sandbox's, as a hosts entry and a port redirection would do.
Prints one JSON object.
"""

import asyncio
import json
import os
import socket
import sys

state, port, project = sys.argv[1], int(sys.argv[2]), sys.argv[3]
authority = os.path.join(state, "ca.pem")
os.environ["REQUESTS_CA_BUNDLE"] = authority
os.environ["SSL_CERT_FILE"] = authority

real_getaddrinfo = socket.getaddrinfo


def getaddrinfo(host, service, *rest, **named):
    name = host.decode() if isinstance(host, bytes) else host
    if name and name.endswith("googleapis.com"):
        return real_getaddrinfo("127.0.0.1", port, *rest, **named)
    return real_getaddrinfo(host, service, *rest, **named)


socket.getaddrinfo = getaddrinfo

# asyncio resolves first and then connects to the port that was asked for.
real_create_connection = asyncio.base_events.BaseEventLoop.create_connection


async def create_connection(loop, protocol, host=None, service=None, **named):
    if service == 443:
        service = port
    return await real_create_connection(loop, protocol, host, service, **named)


asyncio.base_events.BaseEventLoop.create_connection = create_connection

import firebase_admin  # noqa: E402
from firebase_admin import credentials, messaging  # noqa: E402

account = os.path.join(state, "service-account-" + project + ".json")
app = firebase_admin.initialize_app(credentials.Certificate(account))


def attempt(call):
    try:
        return {"ok": call()}
    except Exception as error:  # the class is what is reported
        return {"error": type(error).__name__, "code": getattr(error, "code", ""), "message": str(error)}


def tokens(*names):
    return messaging.MulticastMessage(
        tokens=list(names),
        notification=messaging.Notification(title="Title", body="Body"),
        data={"key": "value"},
    )


def summary(batch):
    return {
        "success": batch.success_count,
        "failure": batch.failure_count,
        "errors": [type(r.exception).__name__ if r.exception else None for r in batch.responses],
    }


def managed(response):
    return {
        "success": response.success_count,
        "failure": response.failure_count,
        "errors": {str(error.index): error.reason for error in response.errors},
    }


def rich():
    return messaging.send(
        messaging.Message(
            token="sbx-apple-sdk",
            notification=messaging.Notification(title="Title", body="Body"),
            data={"key": "value"},
            android=messaging.AndroidConfig(
                priority="high",
                ttl=3600,
                collapse_key="c",
                notification=messaging.AndroidNotification(
                    color="#112233", tag="t", title_loc_key="k", title_loc_args=["a"]
                ),
            ),
            apns=messaging.APNSConfig(
                headers={"apns-priority": "10"},
                payload=messaging.APNSPayload(aps=messaging.Aps(badge=1, sound="default"), custom=1),
            ),
            webpush=messaging.WebpushConfig(
                headers={"TTL": "60"},
                notification=messaging.WebpushNotification(title="W", silent=True),
                fcm_options=messaging.WebpushFCMOptions(link="https://example.com/"),
            ),
            fcm_options=messaging.FCMOptions(analytics_label="label"),
        )
    )


subscribers = ["plain", "sbx-apple-topic", "sbx-unregistered-1", "sbx-invalid-1"]
names = ["plain", "sbx-unregistered-1", "sbx-invalid-1", "sbx-mismatch-1", "sbx-quota-9-a", "sbx-auth-1"]
print(
    json.dumps(
        {
            "version": firebase_admin.__version__,
            "rich": attempt(rich),
            "subscribe": attempt(lambda: managed(messaging.subscribe_to_topic(subscribers, "news"))),
            "topic": attempt(lambda: messaging.send(messaging.Message(topic="news", data={"a": "b"}))),
            "unsubscribe": attempt(lambda: managed(messaging.unsubscribe_from_topic(["plain"], "news"))),
            "condition": attempt(
                lambda: messaging.send(messaging.Message(condition="'a' in topics || 'b' in topics", data={"a": "b"}))
            ),
            "dry_run": attempt(lambda: messaging.send(messaging.Message(token="dry", data={"a": "b"}), dry_run=True)),
            "each": attempt(lambda: summary(messaging.send_each_for_multicast(tokens(*names)))),
            # This one speaks HTTP/2, by httpx.
            "each_async": attempt(
                lambda: summary(asyncio.run(messaging.send_each_for_multicast_async(tokens(*names))))
            ),
        }
    )
)
