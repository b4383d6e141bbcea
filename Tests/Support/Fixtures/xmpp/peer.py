#!/usr/bin/python3
"""A scripted XMPP peer under TLS that plays FCM and counts what it received. Standard library only.

    peer.py --cert CERT.pem --key KEY.pem [--scripts JSON]

Prints `port N` when it listens on 127.0.0.1, then reads one JSON command a line from standard input and answers each
with one JSON line. It ends with its standard input.

    {"do":"ledger"}                     {"connections","messages":[{"connection","to","id","stanza"}],"acks":[{"connection",
                                        "to","message_id"}],"blanks","users":[],"footers"}
    {"do":"wait","messages":N,"acks":N,"connections":N,"blanks":N}  answers once so many came (or after 10 s)
    {"do":"send","xml":TEXT,"connection":N}   writes TEXT on that connection, or on the newest
    {"do":"close","connection":N,"how":"stream"|"fin"|"reset"}

SCRIPTS is a list of objects, one for each connection in order; the last one goes on for all that follow.

    raw             written at once instead of a header, nothing else is
    mechanisms      ["PLAIN"]           features  text put into the second features (bind and session unless said)
    auth            "ok", a failure's condition, or "hang"
    bytewise        true: every byte is a record of its own
    endless         on the first message: TEXT repeated until the client goes away
    deaf            true: never reads after the negotiation

What becomes of a message is said by its `to`, up to the first dot:

    nack-CODE       a nack            ignore    no answer
    hold            answered in reverse once a message to `release` came
    error, error-id a stanza error that names no message, or has the message's stanza id
    drain           a nack CONNECTION_DRAINING
    unknown         an ack for another id
    reset           a TCP reset       close     `</stream:stream>`, then the end
    xml=...         the hexadecimal text after the sign is written as it is
    anything else   an ack
"""
import argparse
import base64
import json
import socket
import ssl
import struct
import sys
import threading
import time
from xml.etree.ElementTree import XMLPullParser
from xml.sax.saxutils import escape

CLIENT = "{jabber:client}"
SASL = "{urn:ietf:params:xml:ns:xmpp-sasl}"
GCM = "{google:mobile:data}"
HEADER = (
    "<?xml version='1.0'?><stream:stream from='gcm.googleapis.com' id='1' version='1.0' xmlns='jabber:client' "
    "xmlns:stream='http://etherx.jabber.org/streams'>"
)
BIND = (
    "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/><session xmlns='urn:ietf:params:xml:ns:xmpp-session'/>"
)


class Peer:
    def __init__(self, options):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(options.cert, options.key)
        self.scripts = json.loads(options.scripts)
        self.lock = threading.Condition()
        self.ledger = {
            "connections": 0, "messages": [], "acks": [], "blanks": 0, "users": [], "sessions": 0, "footers": 0,
        }
        self.open = {}

    def note(self, key, entry=None):
        with self.lock:
            if entry is None:
                self.ledger[key] += 1
            else:
                self.ledger[key].append(entry)
            self.lock.notify_all()

    def accept(self, listener):
        number = 0
        while True:
            plain, _ = listener.accept()
            script = self.scripts[min(number, len(self.scripts) - 1)]
            number += 1
            threading.Thread(target=self.serve, args=(plain, script, number), daemon=True).start()

    def serve(self, plain, script, number):
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with self.context.wrap_socket(plain, server_side=True) as stream:
                connection = Connection(self, stream, script, number)
                self.open[number] = connection
                self.note("connections")
                connection.run()
        except (OSError, EOFError):
            pass

    def command(self, command):
        kind = command["do"]
        if kind == "wait":
            wanted = {key: count for key, count in command.items() if key != "do"}
            with self.lock:
                ready = self.lock.wait_for(lambda: all(self.count(k) >= n for k, n in wanted.items()), timeout=10)
            return {"ok": ready}
        if kind == "send":
            self.chosen(command).write(command["xml"])
        if kind == "close":
            self.chosen(command).close(command.get("how", "stream"))
        if kind == "ledger":
            with self.lock:
                return self.ledger
        return {"ok": True}

    def chosen(self, command):
        return self.open[command.get("connection", max(self.open))]

    def count(self, key):
        entry = self.ledger[key]
        return entry if isinstance(entry, int) else len(entry)


class Connection:
    def __init__(self, peer, stream, script, number):
        self.peer, self.stream, self.script, self.number = peer, stream, script, number
        self.held = []
        self.writing = threading.Lock()

    def write(self, text):
        data = text.encode("utf-8", "surrogateescape")
        with self.writing:
            if self.script.get("bytewise"):
                for byte in data:
                    self.stream.sendall(bytes([byte]))
            else:
                self.stream.sendall(data)

    def close(self, how):
        if how == "stream":
            self.write("</stream:stream>")
            self.stream.unwrap()
        elif how == "reset":
            self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # The descriptor goes with the socket, without a close_notify.
            socket.socket(fileno=self.stream.detach()).close()
            raise EOFError
        else:
            self.stream.shutdown(socket.SHUT_RDWR)
        raise EOFError if threading.current_thread() is not threading.main_thread() else SystemError

    def elements(self):
        """The children of the root, as they come; a new document after `restart`."""
        while True:
            self.parser = XMLPullParser(["start", "end"])
            self.depth = 0
            self.restarted = False
            while not self.restarted:
                data = self.stream.recv(65536)
                if not data:
                    return
                if not data.strip():
                    self.peer.note("blanks")
                self.parser.feed(data)
                for event, element in self.parser.read_events():
                    if event == "start":
                        self.depth += 1
                        if self.depth == 1:
                            yield "open"
                    else:
                        self.depth -= 1
                        if self.depth == 1:
                            yield element
                        if self.depth == 0:
                            self.peer.note("footers")
                    if self.restarted:
                        break

    def run(self):
        if "raw" in self.script:
            self.write(self.script["raw"])
            while self.stream.recv(65536):
                pass
            return
        authenticated = False
        for element in self.elements():
            if element == "open":
                names = "".join(f"<mechanism>{m}</mechanism>" for m in self.script.get("mechanisms", ["PLAIN"]))
                offered = self.script.get("features", BIND) if authenticated else (
                    f"<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>{names}</mechanisms>")
                self.write(f"{HEADER}<stream:features>{offered}</stream:features>")
            elif element.tag == SASL + "auth":
                self.peer.note("users", base64.b64decode(element.text).split(b"\0")[1].decode())
                verdict = self.script.get("auth", "ok")
                if verdict == "hang":
                    continue
                if verdict != "ok":
                    self.write(f"<failure xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><{verdict}/></failure>")
                    self.close("stream")
                authenticated = True
                self.write("<success xmlns='urn:ietf:params:xml:ns:xmpp-sasl'/>")
                self.restarted = True
            elif element.tag == CLIENT + "iq":
                self.iq(element)
                if self.script.get("deaf"):
                    time.sleep(60)
            elif element.tag == CLIENT + "message":
                self.message(element)

    def iq(self, element):
        answer = ""
        if element.find("{urn:ietf:params:xml:ns:xmpp-bind}bind") is not None:
            answer = (
                "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><jid>1@gcm.googleapis.com/R</jid></bind>")
        else:
            self.peer.note("sessions")
        self.write(f"<iq type='result' id='{element.get('id')}'>{answer}</iq>")

    def message(self, element):
        body = json.loads(element.find(GCM + "gcm").text)
        if body.get("message_type") == "ack":
            self.peer.note("acks", {"connection": self.number, "to": body["to"], "message_id": body["message_id"]})
            return
        to, id = body["to"], body["message_id"]
        self.peer.note("messages", {"connection": self.number, "to": to, "id": id, "stanza": element.get("id")})
        if "endless" in self.script:
            while True:
                self.write(self.script["endless"])
        kind = to.split(".")[0]
        if kind == "hold":
            self.held.append((to, id))
        elif kind == "release":
            for held in reversed(self.held + [(to, id)]):
                self.answer(*held)
        elif kind == "unknown":
            self.answer(to, "nobody's")
        elif kind == "drain":
            self.answer(to, id, "CONNECTION_DRAINING")
        elif kind.startswith("nack-"):
            self.answer(to, id, kind[5:])
        elif kind in ("error", "error-id"):
            stanza = escape(element.get("id")) if kind == "error-id" else ""
            self.write(
                f"<message id='{stanza}' type='error'><gcm xmlns='google:mobile:data'>{{}}</gcm>"
                "<error code='400' type='modify'><bad-request xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>"
                "<text>InvalidJson: JSON_PARSING_ERROR</text></error></message>")
        elif kind in ("reset", "close"):
            self.close("reset" if kind == "reset" else "stream")
        elif kind.startswith("xml="):
            self.write(bytes.fromhex(kind[4:]).decode())
        elif kind != "ignore":
            self.answer(to, id)

    def answer(self, to, id, error=None):
        body = {"from": to, "message_id": id, "message_type": "nack" if error else "ack"}
        if error:
            body.update(error=error, error_description="as scripted")
        text = escape(json.dumps(body))
        self.write(f"<message><d:gcm xmlns:d='google:mobile:data'>{text}</d:gcm></message>")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--scripts", default="[{}]")
    peer = Peer(parser.parse_args())
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=peer.accept, args=(listener,), daemon=True).start()
    print(f"port {listener.getsockname()[1]}", flush=True)
    for line in sys.stdin:
        try:
            answer = peer.command(json.loads(line))
        except (OSError, EOFError, SystemError) as error:
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


main()
