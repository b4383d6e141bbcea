#!/usr/bin/env python3
"""One send through a gateway that listens on this machine without TLS.

    call.py PORT PROJECT KEY TOKEN [--id ID] [--leave-after SECONDS]

Prints status, headers and body of the answer as JSON, or closes the connection after some seconds instead. Exits with 1
if the connection ends without an answer.
"""
import argparse
import json
import socket
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
for name in ("project", "key", "token"):
    parser.add_argument(name)
parser.add_argument("--id")
parser.add_argument("--leave-after", type=float)
given = parser.parse_args()
body = json.dumps({"message": {"token": given.token, "data": {"a": "b"}}})
own_id = f"Idempotency-Key: {given.id}\r\n" if given.id else ""
request = (f"POST /v1/projects/{given.project}/messages:send HTTP/1.1\r\nHost: localhost\r\n{own_id}"
           f"Authorization: Bearer {given.key}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}")
connection = socket.create_connection(("127.0.0.1", given.port), 60)
connection.sendall(request.encode())
if given.leave_after:
    time.sleep(given.leave_after)
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
