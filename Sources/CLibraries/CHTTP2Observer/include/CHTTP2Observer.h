#ifndef FANFARE_CHTTP2OBSERVER_H
#define FANFARE_CHTTP2OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The state of one request's HTTP/2 stream, as nghttp2 reports it to libcurl. libcurl hides a part of it: it repeats a
// request in the same way when the server refused the stream and when libcurl gave up the connection, and it drops an
// answer's headers, and the front of its body, when a reset arrives with them.
struct chttp2_stream {
    // The request's easy handle, compared and never followed. Set by chttp2_observe.
    const void *handle;
    struct chttp2_stream *next;
    // HTTP/2's error code with which a stream of the request was closed; 0 for none. REFUSED_STREAM stays: the server sent
    // it, or a GOAWAY whose last stream is a lower one.
    uint32_t error;
    // Status of the final answer's complete headers; 0 before they have arrived.
    int status;
    // Content type of the same headers; empty if there is none, "unreadable" if it is too long, or repeated.
    char content_type[64];
    // Bytes of the answer's body that libcurl has received and not delivered; only after chttp2_keep.
    unsigned char *pending;
    size_t pending_length;
    // Private.
    size_t pending_capacity;
    size_t pending_maximum;
    size_t received;
};

// Registers *stream: it is updated whenever nghttp2 reports on a stream of that handle. *stream must not move before
// chttp2_forget. Any thread may call both functions; read *stream on the handle's thread.
void chttp2_observe(struct chttp2_stream *stream, const void *handle);
void chttp2_forget(struct chttp2_stream *stream);

// Keeps the answer's body in *stream, its first `maximum` bytes, until libcurl delivers them; 0 ends that and frees them.
// Call both functions on the handle's thread: keep before a request, delivered with each count that libcurl delivers.
void chttp2_keep(struct chttp2_stream *stream, size_t maximum);
void chttp2_delivered(struct chttp2_stream *stream, size_t count);

// Whether libcurl has opened an observed session. If it is false after an HTTP/2 answer, libcurl carries its own
// nghttp2, and no refused stream is ever seen.
bool chttp2_is_attached(void);

#endif
