#!/usr/bin/env python3
"""Clients of FCM's HTTP v1 API that others wrote, unmodified: PyFCM 2, async-firebase, google-api-python-client.

    clients.py SERVICE-ACCOUNT PROJECT

The names that they send to lead to the gateway. Prints a JSON object of what the application sees.
"""
import asyncio
import json
import sys

import google.auth.transport.requests
from async_firebase import AsyncFirebaseClient
from async_firebase.messages import Message, MulticastMessage, Notification
from google.oauth2 import service_account
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from pyfcm import FCMNotification

account, project = sys.argv[1:]
seen = {}


def outcome(send):
    try:
        return send()
    except HttpError as error:
        return [error.status_code, error.error_details]
    except Exception as error:
        return type(error).__name__


pyfcm = FCMNotification(service_account_file=account, project_id=project)


def notify(token, **more):
    return outcome(lambda: pyfcm.notify(fcm_token=token, notification_title="Hello", notification_body="x", **more))


seen["pyfcm"] = notify("pyfcm-1")
seen["pyfcm dry run"] = notify("pyfcm-dry", dry_run=True)
seen["pyfcm topic"] = outcome(lambda: pyfcm.notify(topic_name="news", notification_title="Hello"))
seen["pyfcm unregistered"] = notify("sbx-unregistered-pyfcm")
seen["pyfcm mismatch"] = notify("sbx-mismatch-pyfcm")
several = [{"fcm_token": token, "notification_title": "All"} for token in ["pyfcm-a", "sbx-unregistered-b"]]
seen["pyfcm async"] = outcome(lambda: pyfcm.async_notify_multiple_devices(several))

scopes = ["https://www.googleapis.com/auth/firebase.messaging"]
credentials = service_account.Credentials.from_service_account_file(account, scopes=scopes)
api = build("fcm", "v1", credentials=credentials).projects().messages()


def post(token):
    body = {"message": {"token": token, "notification": {"title": "Hello"}}}
    return outcome(lambda: api.send(parent=f"projects/{project}", body=body).execute())


seen["generated"] = post("generated-1")
seen["generated unregistered"] = post("sbx-unregistered-generated")


async def firebase():
    client = AsyncFirebaseClient()
    client.creds_from_service_account_file(account)

    def message(token):
        return Message(token=token, notification=Notification(title="Hello"))

    def result(answer):
        return answer.message_id or type(answer.exception).__name__

    seen["async-firebase"] = result(await client.send(message("async-1")))
    seen["async-firebase unregistered"] = result(await client.send(message("sbx-unregistered-async")))
    several = MulticastMessage(tokens=["async-2", "sbx-mismatch-async"], notification=Notification(title="All"))
    batch = await client.send_each_for_multicast(several)
    seen["async-firebase several"] = [result(answer) for answer in batch.responses]
    topic = await client.subscribe_devices_to_topic(["async-1", "sbx-unregistered-async"], "news")
    seen["async-firebase topic"] = [topic.success_count, topic.failure_count]
    await client.close()


asyncio.run(firebase())
print(json.dumps(seen))
