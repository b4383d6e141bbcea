"""What scripts that drive Google's SDK for Python have in common."""
from firebase_admin import messaging


def message(token, **more):
    return messaging.Message(token=token, notification=messaging.Notification(title="Hello"), **more)


def outcome(send):
    try:
        return send()
    except Exception as error:
        return type(error).__name__


def results(batch):
    return [one.message_id or type(one.exception).__name__ for one in batch.responses]


def topic(answer):
    return [answer.success_count, answer.failure_count, [f"{one.index} {one.reason}" for one in answer.errors]]
