#!/usr/bin/env python3
"""One send through a gateway that listens on this machine without TLS.

    call.py PORT PROJECT KEY TOKEN [SECONDS]

Prints status, headers and body of the answer as JSON. With SECONDS, closes the connection after them instead.
"""
import json
import socket
import sys
import time

port, project, key, token = sys.argv[1:5]
body = json.dumps({"message": {"token": token, "data": {"a": "b"}}})
request = (f"POST /v1/projects/{project}/messages:send HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
           f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}")
connection = socket.create_connection(("127.0.0.1", int(port)), 60)
connection.sendall(request.encode())
if len(sys.argv) > 5:
    time.sleep(float(sys.argv[5]))
    connection.close()
    sys.exit()
answer = b""
while part := connection.recv(65536):
    answer += part
head, _, content = answer.partition(b"\r\n\r\n")
lines = head.decode().split("\r\n")
headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
print(json.dumps({"status": int(lines[0].split()[1]), "job": headers.get("x-fanfare-job"),
                  "retry_after": headers.get("retry-after"), "body": content.decode()}))
