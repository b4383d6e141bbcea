#!/usr/bin/python3
"""A scripted HTTP/2 peer that counts what it received.

Needs python3-h2 (Debian). Speaks TLS with ALPN h2 and http/1.1 on 127.0.0.1.

    peer.py --cert CERT.pem --key KEY.pem [--port 0] [--alpn h2,http/1.1] [--streams 100]
            [--window BYTES] [--mute tcp|tls] [--rules JSON]

Prints `port N` when it listens, then reads one JSON command a line from standard input and answers each
with one JSON line. It ends with its standard input.

    {"do":"rules","rules":[RULE,...]}   replace the script
    {"do":"ledger"}                     {"requests":[{"connection","stream","path","body","headers",
                                        "complete","action","protocol"},...],"connections":N}
    {"do":"forget"}                     empty the ledger; connections stay
    {"do":"restart","streams":N,"window":BYTES}
                                        as if started again with these options: no rules, no connections
    {"do":"streams","count":N}          SETTINGS_MAX_CONCURRENT_STREAMS to all, and to new connections
    {"do":"settings","values":{"4":N}}  SETTINGS, by the number of each, to all connections
    {"do":"goaway","code":0}            a graceful GOAWAY on every connection; its streams are finished
    {"do":"release"}                    answer every request that `hang` holds
    {"do":"wait","requests":N}          answers once so many requests were received in full (or after 10 s)

A RULE is {"action":NAME, ...}, with `times` (unlimited unless said), and `path` (prefix) or `match` (part of the
request's body) to choose by. The first rule that matches a complete request plays; without one the answer is a 200 with
`{"name":"n"}`. A rule with `"at":"headers"` plays before the body is read: `rst` with its code, or
`answer` with a status, then RST_STREAM NO_ERROR if `reset` is true.

    answer     status, headers {}, body, delay_ms, content_length (what the header claims)
    refuse     RST_STREAM REFUSED_STREAM
    rst        RST_STREAM code
    goaway     GOAWAY code; last "this", "below" (this stream is above the last id) or "all";
               then "close", "answer" or "ignore"
    reset      TCP reset; after_answer true answers first
    fin        TCP FIN without close_notify
    truncate   status, body: part of an answer, then FIN
    burst      gather N requests, then on all: 200, `body`, RST_STREAM; GOAWAY; close, in one write
    hang       never answer (until `release`)
    deaf       never answer, and read nothing more from the connection
    huge       a 200 with `bytes` of body; with `stall` true the answer does not end then
    end        gather N requests, then end their connection as `kind` says (endings.py)
    raw        gather N requests, then answer them as `kind` says (answers.py)
A peer of --window BYTES lets a client send so much of a body and never more. A mute peer accepts connections and never
speaks: with `tcp` no TLS, with `tls` no HTTP/2.
"""
import argparse
import asyncio
import json
import socket
import ssl
import struct
import sys

import answers
import endings
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import GoAwayFrame, RstStreamFrame

DEFAULT = {"action": "answer", "status": 200, "body": '{"name":"n"}', "headers": {"content-type": "application/json"}}


class Peer:
    def __init__(self, rules=(), streams=100, window=None, mute=None):
        self.rules = rules
        self.streams = streams
        self.window = window
        self.mute = mute
        self.ledger = []
        self.count = 0
        self.connections = set()
        self.changed = asyncio.Event()

    def pick(self, path, body, at="end"):
        for rule in self.rules:
            chosen = path.startswith(rule.get("path", "")) and rule.get("match", "") in body
            if not chosen or rule.get("at", "end") != at or rule.get("times", 1) <= 0:
                continue
            if "times" in rule:
                rule["times"] -= 1
            return rule
        return DEFAULT if at == "end" else None

    def record(self, entry, complete):
        entry["complete"] = complete
        self.ledger.append(entry)
        self.changed.set()


class Connection(asyncio.Protocol):
    def __init__(self, peer):
        self.peer = peer
        self.requests = {}
        self.held = []
        self.gathered = []
        self.ignored_above = None
        self.sending = {}
        self.stalling = set()

    def connection_made(self, transport):
        self.transport = transport
        self.peer.count += 1
        self.number = self.peer.count
        self.peer.connections.add(self)
        if self.peer.mute:
            return
        self.plain = transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2"
        self.buffer = b""
        if self.plain:
            return
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        settings = {SettingCodes.MAX_CONCURRENT_STREAMS: self.peer.streams}
        if self.peer.window is not None:
            settings[SettingCodes.INITIAL_WINDOW_SIZE] = self.peer.window
        # Changed after the preamble, they would count only once the client has confirmed them.
        self.h2.local_settings = Settings(client=False, initial_values=settings)
        self.h2.initiate_connection()
        self.flush()

    def connection_lost(self, error):
        self.peer.connections.discard(self)
        for entry in self.requests.values():
            self.peer.record(entry, False)
        self.requests = {}

    def flush(self):
        if not self.transport.is_closing():
            self.transport.write(self.h2.data_to_send())

    def data_received(self, data):
        if self.peer.mute:
            return
        if self.plain:
            return self.plain_received(data)
        try:
            events = self.h2.receive_data(data)
        except ProtocolError as error:
            print("protocol error: %r" % error, file=sys.stderr)
            self.flush()
            return self.transport.close()
        for event in events:
            self.handle(event)
        if not self.transport.is_closing():
            self.flush()

    def handle(self, event):
        if isinstance(event, RequestReceived):
            headers = [[name, value] for name, value in event.headers]
            path = next(value for name, value in headers if name == ":path")
            self.requests[event.stream_id] = {
                "connection": self.number, "stream": event.stream_id, "path": path, "headers": headers,
                "body": "", "protocol": "h2", "action": "",
            }
            rule = self.peer.pick(path, "", at="headers")
            if rule is not None:
                entry = self.requests.pop(event.stream_id)
                entry["action"] = rule["action"]
                self.peer.record(entry, False)
                answers.early(self, event.stream_id, rule)
        elif isinstance(event, DataReceived):
            entry = self.requests.get(event.stream_id)
            if entry is not None:
                entry["body"] += event.data.decode("latin-1")
            if self.peer.window is None and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamReset):
            self.sending.pop(event.stream_id, None)
            entry = self.requests.pop(event.stream_id, None)
            if entry is not None:
                self.peer.record(entry, False)
        elif isinstance(event, WindowUpdated):
            self.pour()
        elif isinstance(event, StreamEnded):
            entry = self.requests.pop(event.stream_id, None)
            if entry is None:
                return
            if self.ignored_above is not None and event.stream_id > self.ignored_above:
                entry["action"] = "ignored"
                return self.peer.record(entry, True)
            rule = self.peer.pick(entry["path"], entry["body"])
            entry["action"] = "refuse" if rule.get("kind") in endings.DISOWNED else rule["action"]
            self.peer.record(entry, True)
            self.play(event.stream_id, rule)

    def play(self, stream, rule):
        action = rule["action"]
        if action == "answer":
            delay = rule.get("delay_ms", 0)
            if delay:
                asyncio.get_running_loop().call_later(delay / 1000, self.answer, stream, rule)
            else:
                self.answer(stream, rule)
        elif action == "refuse":
            self.h2.reset_stream(stream, 7)
        elif action == "rst":
            self.h2.reset_stream(stream, rule["code"])
        elif action == "goaway":
            self.goaway(stream, rule)
        elif action == "reset":
            if rule.get("after_answer"):
                self.answer(stream, rule)
            self.cut(True)
        elif action == "fin":
            self.cut(False)
        elif action == "truncate":
            self.h2.send_headers(stream, [(":status", str(rule.get("status", 200))), ("content-type", "application/json")])
            self.h2.send_data(stream, rule.get("body", '{"na').encode())
            self.flush()
            self.cut(False)
        elif action == "burst":
            self.gathered.append(stream)
            if len(self.gathered) >= rule.get("gather", 1):
                self.burst(rule)
        elif action == "end":
            self.gathered.append(stream)
            if len(self.gathered) >= rule.get("gather", 1):
                streams, self.gathered = self.gathered, []
                self.flush()
                endings.play(self, rule["kind"], streams)
        elif action == "raw":
            self.gathered.append(stream)
            if len(self.gathered) >= rule.get("gather", 1):
                streams, self.gathered = self.gathered, []
                answers.play(self, rule["kind"], streams)
        elif action == "hang":
            self.held.append(stream)
        elif action == "deaf":
            self.transport.pause_reading()
        elif action == "huge":
            self.h2.send_headers(stream, [(":status", "200"), ("content-type", "application/json")])
            self.sending[stream] = rule["bytes"]
            if rule.get("stall"):
                self.stalling.add(stream)
            self.pour()

    def answer(self, stream, rule):
        if self.transport.is_closing():
            return
        self.submit(stream, rule)
        self.flush()

    def submit(self, stream, rule):
        body = rule.get("body", "").encode()
        headers = [(":status", str(rule.get("status", 200)))]
        for name, value in rule.get("headers", {}).items():
            headers += [(name.lower(), one) for one in (value if isinstance(value, list) else [value])]
        if "content_length" in rule:
            headers.append(("content-length", str(rule["content_length"])))
        try:
            self.h2.send_headers(stream, headers, end_stream=not body)
            if body:
                self.h2.send_data(stream, body, end_stream=True)
        except ProtocolError:
            # The client has reset the stream.
            pass

    def write_past_h2(self, streams, data):
        """Writes frames that h2 would refuse to write, and has h2 count the streams as closed."""
        self.flush()
        for stream in streams:
            try:
                self.h2.reset_stream(stream)
            except ProtocolError:
                pass
        self.h2.data_to_send()
        self.transport.write(data)

    def disown(self, streams):
        """Has the ledger say that these requests were not processed."""
        for entry in self.peer.ledger:
            if entry["connection"] == self.number and entry["stream"] in streams:
                entry["action"] = "ignored"

    def pour(self):
        for stream in list(self.sending):
            try:
                while self.sending.get(stream, 0) > 0:
                    room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
                    size = min(room, self.sending[stream])
                    if size <= 0:
                        break
                    self.sending[stream] -= size
                    self.h2.send_data(stream, b"x" * size, end_stream=self.sending[stream] == 0 and stream not in self.stalling)
            except ProtocolError:
                self.sending.pop(stream, None)
        self.flush()

    def goaway(self, stream, rule):
        last = {"this": stream, "below": max(0, stream - 2), "all": 2**31 - 1}[rule.get("last", "this")]
        self.flush()
        # h2 itself would end the connection with its GOAWAY and answer no more streams.
        self.transport.write(GoAwayFrame(0, last_stream_id=last, error_code=rule.get("code", 0)).serialize())
        self.ignored_above = last if self.ignored_above is None else min(last, self.ignored_above)
        then = rule.get("then", "answer")
        if then == "close":
            self.cut(False)
        elif then == "answer" and stream <= last:
            self.answer(stream, DEFAULT)

    def burst(self, rule):
        data = b""
        streams, self.gathered = self.gathered, []
        for stream in streams:
            self.h2.send_headers(stream, [(":status", "200"), ("content-type", "application/json")])
            self.h2.send_data(stream, rule.get("body", '{"na').encode())
        data += self.h2.data_to_send()
        for stream in streams:
            data += RstStreamFrame(stream, error_code=rule.get("code", 2)).serialize()
        data += GoAwayFrame(0, last_stream_id=max(streams), error_code=0).serialize()
        self.transport.write(data)
        self.cut(False)

    def cut(self, reset):
        if not self.plain:
            self.flush()
        if reset:
            raw = self.transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    # HTTP/1.1, one request at a time.

    def plain_received(self, data):
        self.buffer += data
        head, gap, rest = self.buffer.partition(b"\r\n\r\n")
        if not gap:
            return
        lines = head.decode("latin-1").split("\r\n")
        headers = [line.split(": ", 1) for line in lines[1:]]
        length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        entry = {"connection": self.number, "stream": 0, "path": lines[0].split(" ")[1], "headers": headers,
                 "body": rest[:length].decode("latin-1"), "protocol": "http/1.1"}
        rule = self.peer.pick(entry["path"], entry["body"])
        entry["action"] = rule["action"]
        self.peer.record(entry, True)
        if rule["action"] in ("reset", "fin"):
            return self.cut(rule["action"] == "reset")
        if rule["action"] == "hang":
            return
        delay = rule.get("delay_ms", 0) / 1000
        asyncio.get_running_loop().call_later(delay, self.plain_answer, rule)

    def plain_answer(self, rule):
        body = rule.get("body", "").encode()
        head = "HTTP/1.1 %d X\r\ncontent-length: %d\r\n" % (rule.get("status", 200), len(body))
        head += "".join("%s: %s\r\n" % pair for pair in rule.get("headers", {}).items())
        self.transport.write(head.encode() + b"\r\n" + body)


class Server:
    """Hands new connections to the present peer."""

    def __init__(self, peer):
        self.peer = peer

    def restart(self, command):
        for connection in list(self.peer.connections):
            connection.transport.abort()
        self.peer = Peer(streams=command.get("streams", 100), window=command.get("window"))


async def obey(server, command):
    do, peer = command["do"], server.peer
    if do == "restart":
        server.restart(command)
    elif do == "rules":
        peer.rules = command["rules"]
    elif do == "ledger":
        return {"requests": peer.ledger, "connections": peer.count}
    elif do == "forget":
        peer.ledger = []
    elif do == "streams":
        peer.streams = command["count"]
        for connection in peer.connections:
            connection.h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: peer.streams})
            connection.flush()
    elif do == "settings":
        for connection in peer.connections:
            connection.h2.update_settings({int(code): value for code, value in command["values"].items()})
            connection.flush()
    elif do == "goaway":
        for connection in list(peer.connections):
            last = max([0] + [entry["stream"] for entry in peer.ledger if entry["connection"] == connection.number])
            connection.ignored_above = last
            connection.flush()
            connection.transport.write(GoAwayFrame(0, last_stream_id=last, error_code=command.get("code", 0)).serialize())
    elif do == "release":
        for connection in list(peer.connections):
            held, connection.held = connection.held, []
            for stream in held:
                connection.submit(stream, DEFAULT)
            # In one segment: TCP would hold back the last of many.
            connection.flush()
    elif do == "wait":
        deadline = asyncio.get_running_loop().time() + 10
        while sum(entry["complete"] for entry in peer.ledger) < command["requests"]:
            peer.changed.clear()
            left = deadline - asyncio.get_running_loop().time()
            try:
                await asyncio.wait_for(peer.changed.wait(), max(0, left))
            except asyncio.TimeoutError:
                return {"ok": False}
    return {"ok": True}


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--alpn", default="h2,http/1.1")
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--window", type=int)
    parser.add_argument("--mute", choices=["tcp", "tls"])
    parser.add_argument("--rules", default="[]")
    options = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.cert, options.key)
    context.set_alpn_protocols(options.alpn.split(","))
    loop = asyncio.get_running_loop()
    server = Server(Peer(json.loads(options.rules), options.streams, options.window, options.mute))
    ssl_context = None if options.mute == "tcp" else context
    listener = await loop.create_server(lambda: Connection(server.peer), "127.0.0.1", options.port, ssl=ssl_context)
    print("port %d" % listener.sockets[0].getsockname()[1], flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        print(json.dumps(await obey(server, json.loads(line))), flush=True)


asyncio.run(main())
