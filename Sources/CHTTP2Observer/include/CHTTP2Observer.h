#ifndef FANFARE_CHTTP2OBSERVER_H
#define FANFARE_CHTTP2OBSERVER_H

#include <stdbool.h>

// What the server said of one request's HTTP/2 stream, as nghttp2 told libcurl. libcurl does not pass all of it on: it
// repeats a request alike when the server refused the stream and when libcurl gave the connection up itself, and it drops
// an answer's headers when a reset arrives with them.
struct chttp2_stream {
    // The request's easy handle, compared and never followed. Set by chttp2_observe.
    const void *handle;
    struct chttp2_stream *next;
    // The server sent REFUSED_STREAM, or a GOAWAY whose last stream is a lower one.
    bool is_refused;
    // Of complete headers; 0 before them. Never informational.
    int status;
    // Of the same headers; empty without one, or with one that is too long.
    char content_type[64];
};

// Fills in *stream whenever nghttp2 tells libcurl something of that handle's streams. *stream stays where it is until
// chttp2_forget. Any thread may call both; what is filled in is read on the handle's thread.
void chttp2_observe(struct chttp2_stream *stream, const void *handle);
void chttp2_forget(struct chttp2_stream *stream);

// Whether libcurl has opened a session that is observed. False after an HTTP/2 answer: this libcurl carries its own
// nghttp2, and no stream is ever seen refused.
bool chttp2_is_attached(void);

#endif
