"""Gets access tokens by Google's own google-auth library, unmodified, from a sandbox.

Usage: google_auth_identities.py STATE_DIR TLS_PORT CONTROL_PORT PROJECT

Each credential file that the sandbox wrote is loaded, and so is the metadata
server. google-auth uses Google's own hosts for refresh tokens and for
impersonation whatever the file says, so requests to *.googleapis.com are sent
to the sandbox instead. Prints one JSON object: the status of a send with each
token.
"""

import json
import os
import sys
from urllib.parse import urlsplit

state, port, control, project = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
metadata = "127.0.0.1:" + control
os.environ["GCE_METADATA_HOST"] = metadata
os.environ["GCE_METADATA_IP"] = metadata

import google.auth  # noqa: E402
import google.auth.compute_engine  # noqa: E402
import google.auth.compute_engine._metadata  # noqa: E402
import google.auth.identity_pool  # noqa: E402
import google.auth.transport.requests  # noqa: E402
import requests  # noqa: E402

session = requests.Session()
session.verify = os.path.join(state, "ca.pem")
session.trust_env = False
real_request = session.request


def request(method, url, *rest, **named):
    parts = urlsplit(url)
    if parts.hostname.endswith(".googleapis.com"):
        url = parts._replace(netloc="localhost:" + port).geturl()
    return real_request(method, url, *rest, **named)


session.request = request
transport = google.auth.transport.requests.Request(session=session)
scopes = ["https://www.googleapis.com/auth/firebase.messaging"]


def send(credentials):
    credentials.refresh(transport)
    answer = session.request(
        "POST",
        "https://fcm.googleapis.com/v1/projects/%s/messages:send" % project,
        headers={"Authorization": "Bearer " + credentials.token},
        json={"message": {"token": "device", "data": {"k": "v"}}},
    )
    return answer.status_code


def attempt(call):
    try:
        return call()
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)


def from_file(name, **changes):
    with open(os.path.join(state, "%s-%s.json" % (name, project))) as file:
        info = json.load(file)
    info.update(changes)
    if info["type"] == "external_account":
        # load_credentials_from_dict would ask another API for the name of the project.
        return send(google.auth.identity_pool.Credentials.from_info(info).with_scopes(scopes))
    credentials, _ = google.auth.load_credentials_from_dict(info, scopes=scopes)
    return send(credentials)


print(
    json.dumps(
        {
            "service-account": attempt(lambda: from_file("service-account")),
            "external-account": attempt(lambda: from_file("external-account")),
            "federated": attempt(lambda: from_file("external-account", service_account_impersonation_url=None)),
            "impersonated": attempt(lambda: from_file("impersonated")),
            "authorized-user": attempt(lambda: from_file("authorized-user")),
            "ping": attempt(lambda: google.auth.compute_engine._metadata.ping(transport)),
            "metadata": attempt(lambda: send(google.auth.compute_engine.Credentials(scopes=scopes))),
        }
    )
)
