"""Unusual and invalid frames around an answer: the kinds of peer.py's action `raw`, and its rules for headers.

play(connection, kind, streams) writes what the peer sends for `streams`, which were received in full and not answered.
early(connection, stream, rule) reacts to the headers of a request whose body has not been read.
"""
import asyncio
import struct

from endings import (
    CONTINUATION, DATA, END_HEADERS, HEADERS, STATUS_200, WINDOW_UPDATE,
    frame, goaway, half_body, integer, resets,
)

END_STREAM = 1
PING = 6
BODY = b'{"name":"n"}'
NO_ERROR, CANCEL, ENHANCE_YOUR_CALM = 0, 8, 11


def field(name, value):
    """A header field that enters no table."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def status(code):
    return STATUS_200 if code == 200 else b"\x08\x03%d" % code


TYPE = field(b"content-type", b"application/json")


def head(stream, flags=0, extra=b"", code=200):
    return frame(HEADERS, END_HEADERS | flags, stream, status(code) + TYPE + extra)


def whole(stream, extra=b""):
    return head(stream, extra=extra) + frame(DATA, END_STREAM, stream, BODY)


def with_length(stream, length):
    return whole(stream, field(b"content-length", b"%d" % length))


def early_hints(stream):
    return frame(HEADERS, END_HEADERS, stream, status(103) + field(b"link", b"</a>")) + whole(stream)


def trailers(stream):
    last = frame(HEADERS, END_HEADERS | END_STREAM, stream, field(b"x-checksum", b"1"))
    return head(stream) + frame(DATA, 0, stream, BODY) + last


def empty_data(stream, count):
    return head(stream) + frame(DATA, 0, stream) * count + frame(DATA, END_STREAM, stream, BODY)


def endless_headers(stream, size):
    """A header block of so many bytes that ends at no frame."""
    value = field_of(4_000)
    return frame(HEADERS, 0, stream, STATUS_200 + value) + frame(CONTINUATION, 0, stream, value * 4) * (size // 16_000)


def half_of(stream, types):
    """Half an answer with these content types, then a reset."""
    head = frame(HEADERS, END_HEADERS, stream, status(200) + types)
    return head + frame(DATA, 0, stream, b'{"na') + resets([stream], CANCEL)


def field_of(size):
    return b"\x00\x05x-pad\x7f" + integer(size - 127) + b"v" * size


# Each for one stream.
ANSWERS = {
    "early_hints": early_hints,
    "trailers": trailers,
    "reset_no_error_after": lambda stream: whole(stream) + resets([stream], NO_ERROR),
    "reset_cancel_after": lambda stream: whole(stream) + resets([stream], CANCEL),
    "data_after_end": lambda stream: whole(stream) + frame(DATA, 0, stream, b"x"),
    "empty_data": lambda stream: empty_data(stream, 1_000),
    "content_length_above": lambda stream: with_length(stream, len(BODY) + 1),
    "content_length_below": lambda stream: with_length(stream, len(BODY) - 1),
    "half_body_reset": lambda stream: half_body(stream) + resets([stream], CANCEL),
    "half_body_types": lambda stream: half_of(stream, field(b"content-type", b"text/html") + TYPE),
    "half_body_long_type": lambda stream: half_of(stream, field(b"content-type", b"application/json;x=" + b"v" * 80)),
    "window_0_on_stream": lambda stream: frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 0)) + whole(stream),
}
# Each for all streams.
CONNECTIONS = {
    "empty_data_flood": lambda streams: empty_data(streams[0], 200_000) + b"".join(map(whole, streams[1:])),
    "header_flood": lambda streams: endless_headers(streams[0], 20_000_000),
    "ping_flood": lambda streams: frame(PING, 0, 0, b"fanfare!") * 5_000 + b"".join(map(whole, streams)),
    "half_body_goaway": lambda streams: b"".join(map(half_body, streams)) + goaway(max(streams)),
    "half_body_fin": lambda streams: b"".join(map(half_body, streams)),
}
CLOSED = ["header_flood", "half_body_goaway", "half_body_fin"]


def play(connection, kind, streams):
    if kind == "goaway_calm":
        return overloaded(connection, streams)
    if kind == "goaway_twice":
        return drained(connection, streams)
    if kind in ANSWERS:
        data = b"".join(map(ANSWERS[kind], streams))
    else:
        data = CONNECTIONS[kind](streams)
    connection.write_past_h2(streams, data)
    if kind in CLOSED:
        asyncio.get_running_loop().call_later(0.05, connection.cut, False)


def overloaded(connection, streams):
    """A GOAWAY that asks for less, and the answers of the first half; the peer disowns the others."""
    served = streams[:len(streams) // 2]
    connection.ignored_above = max(served)
    connection.disown(streams[len(served):])
    connection.write_past_h2(streams, goaway(max(served), ENHANCE_YOUR_CALM) + b"".join(map(whole, served)))


def drained(connection, streams):
    """The two GOAWAYs of a graceful shutdown, 50 ms apart, then the answers and the end."""
    connection.flush()
    connection.transport.write(goaway(2**31 - 1))

    def finish():
        # What arrived in between belongs to the connection too.
        last = max(entry["stream"] for entry in connection.peer.ledger if entry["connection"] == connection.number)
        last = max([last] + list(connection.requests))
        connection.ignored_above = last
        connection.write_past_h2(streams, goaway(last) + b"".join(map(whole, streams)))
        asyncio.get_running_loop().call_later(0.05, connection.cut, False)

    asyncio.get_running_loop().call_later(0.05, finish)


def early(connection, stream, rule):
    if rule["action"] == "rst":
        data = resets([stream], rule["code"])
    else:
        data = head(stream, END_STREAM, code=rule["status"])
        data += resets([stream], NO_ERROR) if rule.get("reset") else b""
    connection.write_past_h2([stream], data)
