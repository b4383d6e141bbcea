#!/usr/bin/env python3
"""One send of Google's SDK for Python, unmodified, which repeats what it may by itself.

    patient.py TOKEN

GOOGLE_APPLICATION_CREDENTIALS names a service account file. Prints the name, or the type of the error.
"""
import sys

import firebase_admin
from firebase_admin import messaging

firebase_admin.initialize_app()
try:
    print(messaging.send(messaging.Message(token=sys.argv[1], data={"a": "b"})))
except Exception as error:
    print(type(error).__name__)
