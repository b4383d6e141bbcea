"""A session of the XMPP client slixmpp, unmodified, with a sandbox.

Usage: slixmpp_session.py STATE_DIR XMPP_PORT CONTROL_PORT PROJECT

Logs in, sends messages, has a device answer and acknowledges what it says,
and follows a drain to a second connection. Prints one JSON object.
"""

import asyncio
import json
import pathlib
import sys
import urllib.request

import slixmpp
from slixmpp.xmlstream import ET
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatchXPath

state, port, control, project = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
sender = (state / f"sender-id-{project}").read_text().strip()
key = (state / f"server-key-{project}").read_text().strip()


def post(path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{control}{path}", json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request) as reply:
        return json.loads(reply.read())


def stats():
    with urllib.request.urlopen(f"http://127.0.0.1:{control}/stats") as reply:
        return json.loads(reply.read())["xmpp"]


class Client(slixmpp.ClientXMPP):
    def __init__(self, password):
        # The certificate names the host; the domain of the user is FCM's.
        super().__init__(f"{sender}@gcm.googleapis.com", password)
        # FCM wants the whole address as the user name.
        self.credentials["username"] = f"{sender}@gcm.googleapis.com"
        self.ca_certs = state / "ca.pem"
        self.enable_starttls = False
        self.enable_direct_tls = True
        self.heard = asyncio.Queue()
        self.ready = asyncio.get_running_loop().create_future()
        self.gone = asyncio.get_running_loop().create_future()
        self.add_event_handler("session_start", lambda _: self.settle(self.ready, True))
        self.add_event_handler("failed_all_auth", lambda _: self.settle(self.ready, False))
        self.add_event_handler("disconnected", lambda _: self.settle(self.gone, True))
        self.register_handler(
            Callback("gcm", MatchXPath("{jabber:client}message/{google:mobile:data}gcm"), self.take)
        )

    @staticmethod
    def settle(future, value):
        if not future.done():
            future.set_result(value)

    def take(self, stanza):
        self.heard.put_nowait(json.loads(stanza.xml.find("{google:mobile:data}gcm").text))

    def say(self, body):
        message = ET.Element("{jabber:client}message", {"id": ""})
        ET.SubElement(message, "{google:mobile:data}gcm").text = json.dumps(body)
        self.send_raw(slixmpp.xmlstream.tostring(message, xmlns="jabber:client"))

    async def hear(self):
        return await asyncio.wait_for(self.heard.get(), 10)


async def connect(password=key):
    client = Client(password)
    client.connect("127.0.0.1", port)
    return client, await asyncio.wait_for(client.ready, 10)


async def main():
    result = {}
    wrong, result["wrong_key"] = await connect("wrong")
    await wrong.disconnect()
    client, result["login"] = await connect()
    result["jid"] = str(client.boundjid)

    text = "Grüße <&\"'> \u2028 \U0001f600"
    client.say({"to": "plain", "message_id": "m-1", "data": {"text": text}, "delivery_receipt_requested": True})
    result["ack"], result["receipt"] = await client.hear(), await client.hear()
    client.say({"to": result["receipt"]["from"], "message_id": result["receipt"]["message_id"], "message_type": "ack"})
    client.say({"to": "sbx-unregistered-1", "message_id": "m-2"})
    result["nack"] = await client.hear()
    client.say({"to": "sbx-slow-300-a", "message_id": "slow"})
    client.say({"to": "plain", "message_id": "quick"})
    result["order"] = [(await client.hear())["message_id"] for _ in range(2)]

    post("/upstream", {"from": "plain", "category": "com.example.shop", "data": {"text": text}, "message_id": "u-1"})
    result["upstream"] = await client.hear()
    client.say({"to": "plain", "message_id": "u-1"})  # no ack: a downstream message in fact
    await client.hear()
    client.say({"to": "plain", "message_id": "u-1", "message_type": "ack", "more": 1})
    result["bad_ack"] = await client.hear()
    post("/drain", {})
    result["control"] = await client.hear()
    second, _ = await connect()
    second.say({"to": "plain", "message_id": "m-3"})
    result["second"] = await second.hear()
    await client.disconnect()
    # Without an ack it comes again.
    result["again"] = await second.hear()
    second.say({"to": "plain", "message_id": "u-1", "message_type": "ack"})
    for _ in range(100):
        if stats()["upstream_acked"] == 2:
            break
        await asyncio.sleep(0.05)
    result["stats"] = stats()
    await second.disconnect()
    print(json.dumps(result))


asyncio.run(main())
