#!/usr/bin/env python3
"""Clients of the protocol that Google switched off in 2024, as their last servers ran them: PyFCM 1.5 and python-gcm.

    legacy.py KEY

PYTHONPATH has these versions. Prints a JSON object of what the application sees.
"""
import json
import sys

from gcm import GCM
from pyfcm import FCMNotification

key = sys.argv[1]
seen = {}


def outcome(send):
    try:
        return send()
    except Exception as error:
        return type(error).__name__


pyfcm = FCMNotification(api_key=key)
seen["one"] = outcome(lambda: pyfcm.notify_single_device(registration_id="old-1", message_title="Hello"))
seen["gone"] = outcome(lambda: pyfcm.notify_single_device(registration_id="sbx-unregistered-old", message_title="x"))
several = ["old-2", "sbx-unregistered-old", "sbx-invalid-old", "sbx-mismatch-old", "sbx-auth-old", "no token"]
seen["several"] = outcome(lambda: pyfcm.notify_multiple_devices(registration_ids=several, message_body="All"))
seen["dry run"] = outcome(lambda: pyfcm.notify_single_device(registration_id="old-dry", message_title="x", dry_run=True))
seen["topic"] = outcome(lambda: pyfcm.notify_topic_subscribers(topic_name="news", message_body="x"))
seen["subscribe"] = outcome(lambda: pyfcm.subscribe_registration_ids_to_topic(["old-1", "old-2"], "news"))
seen["unsubscribe"] = outcome(lambda: pyfcm.unsubscribe_registration_ids_from_topic(["old-1"], "news"))
seen["wrong key"] = outcome(lambda: FCMNotification(api_key="AIza").notify_single_device(registration_id="old-1"))

gcm = GCM(key)
seen["gcm json"] = outcome(lambda: gcm.json_request(registration_ids=["old-3", "sbx-unregistered-gcm"], data={"n": 1}))
seen["gcm canonical"] = outcome(lambda: gcm.json_request(registration_ids=["old-4", "sbx-canonical-gcm"], data={"a": "b"}))
seen["gcm text"] = outcome(lambda: gcm.plaintext_request(registration_id="old-5", data={"a": "b c"}))
seen["gcm text gone"] = outcome(lambda: gcm.plaintext_request(registration_id="sbx-unregistered-gcm", data={"a": "b"}))
seen["gcm topic"] = outcome(lambda: gcm.send_topic_message(topic="news", data={"a": "b"}))
print(json.dumps(seen))
