#!/usr/bin/env python3
"""Drives a gateway with Google's own SDK, firebase-admin, unmodified but for its constants of addresses.

    admin.py ORIGIN PROJECT KEY

Prints a JSON object of what the application sees: names, types of errors, counts.
"""
import json
import sys

import firebase_admin
import google.oauth2.credentials
from firebase_admin import credentials, messaging
from sdk import message, outcome, topic

origin, project, key = sys.argv[1:]
messaging._MessagingService.FCM_URL = origin + "/v1/projects/{0}/messages:send"


class Key(credentials.Base):
    """A gateway's key in place of a token of Google's."""

    def get_credential(self):
        return google.oauth2.credentials.Credentials(token=key)


firebase_admin.initialize_app(Key(), {"projectId": project})
seen = {}
seen["send"] = outcome(lambda: messaging.send(message("sdk-1")))
seen["dry run"] = outcome(lambda: messaging.send(message("sdk-dry"), dry_run=True))
seen["topic"] = outcome(lambda: messaging.send(messaging.Message(topic="news", data={"a": "b"})))
seen["unregistered"] = outcome(lambda: messaging.send(message("sbx-unregistered-sdk")))
seen["wrong message"] = outcome(lambda: messaging.send(message("sdk-2", data={"from": "x"})))
service = messaging._get_messaging_service(firebase_admin.get_app())
service._fcm_topic_url = f"{origin}/v1/projects/{project}/registrations"
tokens = [f"sdk-each-{number}" for number in range(200)]
tokens[7] = "sbx-unregistered-each"
batch = messaging.send_each_for_multicast(
    messaging.MulticastMessage(tokens=tokens, notification=messaging.Notification(title="All")))
seen["each"] = [batch.success_count, batch.failure_count, type(batch.responses[7].exception).__name__]
seen["subscribe"] = topic(messaging.subscribe_to_topic(["sdk-1", "sbx-unregistered-sdk"], "news"))
firebase_admin.delete_app(firebase_admin.get_app())
key = "wrong"
firebase_admin.initialize_app(Key(), {"projectId": project})
seen["wrong key"] = outcome(lambda: messaging.send(message("sdk-3")))
print(json.dumps(seen))
