"""How a connection can end under requests that it carries: the kinds of peer.py's action `end`.

play(connection, kind, streams) writes what the peer does to a connection on which `streams` were received in full and
not answered. DISOWNED names the kinds by which the peer says that it processed none of them; of every other kind the
client has to assume that they were processed.
"""
import asyncio
import os
import struct

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 7, 8, 9
END_HEADERS = 4
DISOWNED = ["refused", "goaway_none", "goaway_refused"]
STATUS_200 = b"\x88"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def goaway(last, code=0):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code))


def resets(streams, code):
    return b"".join(frame(RST_STREAM, 0, stream, struct.pack(">I", code)) for stream in streams)


def long_headers(stream, size):
    """A header block of `size` bytes of values, in frames that the client has to accept."""
    values = b"".join(
        b"\x00\x05x-%03d" % number + b"\x7f" + integer(4_000 - 127) + b"v" * 4_000 for number in range(size // 4_000)
    )
    block = STATUS_200 + values
    parts = [block[at:at + 16_000] for at in range(0, len(block), 16_000)]
    data = frame(HEADERS, 0, stream, parts[0])
    for part in parts[1:-1]:
        data += frame(CONTINUATION, 0, stream, part)
    return data + frame(CONTINUATION, END_HEADERS, stream, parts[-1])


def integer(value):
    """What follows an HPACK prefix of all ones."""
    data = b""
    while value >= 128:
        data += bytes([value % 128 + 128])
        value //= 128
    return data + bytes([value])


def half_body(stream, content_type=b"application/json"):
    block = STATUS_200 + b"\x0f\x10" + bytes([len(content_type)]) + content_type
    return frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, 0, stream, b'{"na')


# What is written through TLS; the connection stays open unless CLOSED names the kind.
FRAMES = {
    "goaway_all": lambda streams: goaway(2**31 - 1),
    "goaway_last": lambda streams: goaway(max(streams)),
    "goaway_none": lambda streams: goaway(0),
    "goaway_error": lambda streams: goaway(max(streams), 2),
    "goaway_refused": lambda streams: goaway(max(streams)) + resets(streams, 7),
    "refused": lambda streams: resets(streams, 7),
    "reset_no_error": lambda streams: resets(streams, 0),
    "reset_cancel": lambda streams: resets(streams, 8),
    "reset_calm": lambda streams: resets(streams, 11),
    "reset_http11": lambda streams: resets(streams, 13),
    "data_on_0": lambda streams: frame(DATA, 0, 0, b"x"),
    "bad_hpack": lambda streams: frame(HEADERS, END_HEADERS, streams[0], b"\xff\xff\xff\xff\x7f"),
    "bad_settings": lambda streams: frame(SETTINGS, 0, 0, b"12345"),
    "window_0": lambda streams: frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0)),
    "window_overflow": lambda streams: frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 2**31 - 1)) * 2,
    "push_promise": lambda streams: frame(PUSH_PROMISE, END_HEADERS, streams[0], struct.pack(">I", 2) + STATUS_200),
    "http1_text": lambda streams: b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n",
    "continuation_flood": lambda streams: frame(HEADERS, 0, streams[0], STATUS_200)
    + frame(CONTINUATION, 0, streams[0], b"\x00\x01a\x01b") * 2_000,
    "settings_flood": lambda streams: frame(SETTINGS, 0, 0) * 5_000,
    "long_frame": lambda streams: frame(HEADERS, END_HEADERS, streams[0], STATUS_200 + b"x" * 1_000_000),
    "long_headers": lambda streams: long_headers(streams[0], 200_000),
    "all_long_headers": lambda streams: b"".join(long_headers(stream, 200_000) for stream in streams),
    "half_body_reset": lambda streams: b"".join(half_body(stream) for stream in streams) + resets(streams, 2),
    "half_page_reset": lambda streams: b"".join(half_body(stream, b"text/html") for stream in streams) + resets(streams, 2),
    "half_body_stall": lambda streams: b"".join(half_body(stream) for stream in streams),
}
# libcurl 7.88 answers these by a GOAWAY and waits for the peer to close.
ANSWERED_BY_GOAWAY = ["data_on_0", "bad_hpack", "bad_settings", "window_0", "window_overflow", "push_promise", "http1_text"]
CLOSED = ["goaway_all", "goaway_last", "goaway_none", "goaway_error", "settings_flood"] + ANSWERED_BY_GOAWAY
# What is written past TLS.
RAW = {
    "bad_record": b"\x17\x03\x03\x00\x20" + b"\x5a" * 32,
    "plain_text": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


def play(connection, kind, streams):
    if kind == "close_notify":
        connection.transport.close()
    elif kind in ("fin", "tcp_reset"):
        connection.cut(kind == "tcp_reset")
    elif kind in RAW:
        raw = connection.transport.get_extra_info("socket")
        asyncio.get_running_loop().call_later(0.05, lambda: raw.fileno() < 0 or os.write(raw.fileno(), RAW[kind]))
    else:
        connection.transport.write(FRAMES[kind](streams))
        if kind in CLOSED:
            asyncio.get_running_loop().call_later(0.05, connection.cut, False)
