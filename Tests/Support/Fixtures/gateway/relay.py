#!/usr/bin/env python3
"""Two tenants of one relay try what each may do, and what it may not.

    relay.py ORIGIN FIRST SECOND READER SERVICE-ACCOUNT KEYS

FIRST is a key of the project demo with a rate of 60 a minute, SECOND one of eu, READER one of eu without the right to
push; SERVICE-ACCOUNT is a file for demo, and KEYS the folder of keys. Prints the status and the code of each answer.
"""
import base64
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import crypt, jwt

origin, first, second, reader, account_file, keys = sys.argv[1:]
with open(account_file) as file:
    account = json.load(file)
seen = {}


def ask(path, key, body, form=False):
    data = urllib.parse.urlencode(body) if form else json.dumps(body)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(origin + path, data.encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), error.headers


def code(answer):
    status, body, _ = answer
    error = body.get("error", "OK")
    return [status, error["status"] if isinstance(error, dict) else error]


def send(key, project, token="relay-1"):
    return ask(f"/v1/projects/{project}/messages:send", key, {"message": {"token": token, "data": {"a": "b"}}})


def grant(assertion):
    kind = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    return ask("/token", None, {"assertion": assertion, "grant_type": kind}, form=True)


def assertion(signer, **more):
    now = int(time.time())
    claims = {"iss": account["client_email"], "iat": now, "exp": now + 3600, "aud": account["token_uri"], **more}
    return jwt.encode(signer, claims).decode()


def coded(text):
    return base64.urlsafe_b64encode(json.dumps(text).encode()).rstrip(b"=").decode()


def paced(key, project):
    """A send of a key with a rate: waits as long as the gateway says."""
    while True:
        answer = send(key, project)
        if answer[0] != 429:
            return answer
        time.sleep(int(answer[2]["Retry-After"]))


seen["own project"] = code(paced(first, "demo"))
# The key may use the rate of a minute at once.
many = []
while len(many) < 400 and (not many or many[-1][0] != 429):
    many.append(send(first, "demo"))
refused = [answer for answer in many if answer[0] == 429]
seen["above the rate"] = code(refused[-1] if refused else many[-1])
seen["wait"] = int(refused[-1][2]["Retry-After"]) if refused else 0
seen["second is not slowed"] = code([send(second, "eu") for _ in range(20)][-1])
time.sleep(seen["wait"])
seen["other project"] = code(send(first, "eu", "stolen"))
time.sleep(seen["wait"])
seen["unknown project"] = code(send(first, "unserved", "stolen"))
seen["second's own"] = code(send(second, "eu"))
seen["second's other"] = code(send(second, "demo", "stolen"))
path = "/v1/projects/demo/registrations/stolen/topicSubscriptions?topic_name=news"
seen["topic of the other"] = code(ask(path, second, {}))
seen["without the right"] = code(send(reader, "eu", "stolen"))
seen["no key"] = code(send(None, "eu", "stolen"))

own = crypt.RSASigner.from_service_account_info(account)
status, body, _ = grant(assertion(own))
token = body["access_token"]
seen["token"] = code(send(token, "demo"))
seen["token of the other"] = code(send(token, "eu", "stolen"))
fcm = "https://fcm.googleapis.com/"
seen["signed for the API"] = code(send(assertion(own, aud=fcm), "demo"))
seen["grant for the API"] = code(grant(assertion(own, aud=fcm)))
hour = int(time.time()) - 4000
expired = send(assertion(own, iat=hour, exp=hour + 3600), "demo", "stolen")
seen["expired"] = code(expired)
seen["renewal"] = [expired[1]["error"]["details"][0]["reason"], expired[2]["WWW-Authenticate"]]
seen["old grant"] = code(grant(assertion(own, iat=hour, exp=hour + 7300)))
seen["huge"] = code(grant(assertion(own, x="x" * 9000)))
other = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
forged = assertion(crypt.RSASigner.from_string(other))
seen["forged"] = code(grant(forged))
seen["forged as bearer"] = code(send(forged, "demo", "stolen"))
unsigned = coded({"alg": "none"}) + "." + forged.split(".")[1] + ".AA"
seen["no algorithm"] = code(grant(unsigned))

os.unlink(os.path.join(keys, account["client_email"].split("@")[0] + ".yaml"))
end = time.time() + 30
while True:
    seen["after its key was removed"] = code(send(token, "demo", "relay-2"))
    if seen["after its key was removed"][0] == 401 or time.time() > end:
        break
    time.sleep(0.5)
seen["the others are served"] = code(send(second, "eu"))
for number in range(10):
    grant(assertion(own, iss=f"{number}@fanfare-gateway.internal"))
seen["ten wrong keys"] = code(grant(token))
seen["from that address"] = code(send(second, "eu"))
print(json.dumps(seen))
