#!/usr/bin/env python3
"""Google's SDK for Python, unmodified, with nothing but a service account file and names that lead to the gateway.

    names.py

GOOGLE_APPLICATION_CREDENTIALS names the file. Prints a JSON object of what the application sees.
"""
import asyncio
import json
import warnings

import firebase_admin
from firebase_admin import messaging
from sdk import message, outcome, results, topic

warnings.simplefilter("ignore")
firebase_admin.initialize_app()
seen = {}
errors = ["unregistered", "invalid", "mismatch", "auth"]
seen["send"] = outcome(lambda: messaging.send(message("names-1")))
seen["dry run"] = outcome(lambda: messaging.send(message("names-dry"), dry_run=True))
seen["topic"] = outcome(lambda: messaging.send(messaging.Message(topic="news", data={"a": "b"})))
seen["condition"] = outcome(lambda: messaging.send(messaging.Message(condition="'a' in topics", data={"a": "b"})))
for name in errors:
    seen[name] = outcome(lambda: messaging.send(message(f"sbx-{name}-sync")))
seen["wrong message"] = outcome(lambda: messaging.send(message("names-2", data={"from": "x"})))
seen["other project"] = outcome(
    lambda: messaging.send(message("names-3"), app=firebase_admin.initialize_app(None, {"projectId": "other"}, "other")))
seen["each"] = results(messaging.send_each([message("names-each")] + [message(f"sbx-{name}-each") for name in errors]))
tokens = ["names-1", "sbx-unregistered-topic"]
seen["subscribe"] = topic(messaging.subscribe_to_topic(tokens, "news"))
seen["unsubscribe"] = topic(messaging.unsubscribe_from_topic(tokens[:1], "news"))
seen["subscribe by iid"] = topic(messaging.subscribe_to_topic_legacy(tokens, "/topics/news"))
seen["unsubscribe by iid"] = topic(messaging.unsubscribe_from_topic_legacy(tokens[:1], "news"))


async def together():
    many = [message(f"names-async-{number}") for number in range(200)]
    many[7] = message("sbx-unregistered-async")
    batch = await messaging.send_each_async(many)
    seen["async each"] = [batch.success_count, batch.failure_count, results(batch)[7]]
    multicast = messaging.MulticastMessage(tokens=["names-multi", "sbx-mismatch-multi"], data={"a": "b"})
    seen["async multicast"] = results(await messaging.send_each_for_multicast_async(multicast))
    seen["async dry run"] = results(await messaging.send_each_async([message("names-dry")], dry_run=True))
    seen["async subscribe"] = topic(await messaging.subscribe_to_topic_async(tokens, "news"))


asyncio.run(together())
print(json.dumps(seen))
