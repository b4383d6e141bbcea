#!/usr/bin/env python3
"""One send through a gateway that listens on this machine without TLS.

    call.py PORT PROJECT KEY TOKEN [--header "NAME: VALUE"]… [--leave-after SECONDS] [--reset] [--legacy]

Prints status, headers and body of the answer as JSON, or closes the connection after some seconds instead, or resets it
with the answer unread. Over the legacy protocol, commas part several tokens. Exits with 1 if the connection ends without
an answer.
"""
import argparse
import json
import socket
import struct
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
for name in ("project", "key", "token"):
    parser.add_argument(name)
parser.add_argument("--header", action="append", default=[])
parser.add_argument("--leave-after", type=float)
parser.add_argument("--reset", action="store_true")
parser.add_argument("--legacy", action="store_true")
given = parser.parse_args()
path, scheme = f"/v1/projects/{given.project}/messages:send", "Bearer "
body = json.dumps({"message": {"token": given.token, "data": {"a": "b"}}})
if given.legacy:
    path, scheme = "/fcm/send", "key="
    body = json.dumps({"registration_ids": given.token.split(","), "data": {"a": "b"}})
# The gateway ends a connection that is to be closed: it could not be reset any more.
end = "keep-alive" if given.reset else "close"
headers = "".join(f"{header}\r\n" for header in given.header)
request = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}"
           f"Authorization: {scheme}{given.key}\r\nContent-Length: {len(body)}\r\nConnection: {end}\r\n\r\n{body}")
connection = socket.create_connection(("127.0.0.1", given.port), 60)
connection.sendall(request.encode())
if given.leave_after:
    time.sleep(given.leave_after)
    connection.close()
    sys.exit()
if given.reset:
    connection.recv(1, socket.MSG_PEEK)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    sys.exit()
answer = b""
while part := connection.recv(65536):
    answer += part
if not answer:
    sys.exit(1)
head, _, content = answer.partition(b"\r\n\r\n")
lines = head.decode().split("\r\n")
headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
print(json.dumps({"status": int(lines[0].split()[1]), "job": headers.get("x-fanfare-job"),
                  "retry_after": headers.get("retry-after"), "body": content.decode()}))
