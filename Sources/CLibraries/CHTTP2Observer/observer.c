#define _GNU_SOURCE
#include "CHTTP2Observer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// libcurl registers its callbacks with four functions of nghttp2. This file defines functions of the same names, and
// the dynamic linker prefers an executable's to a library's. So libcurl calls these. They register a callback that
// records what it sees and then calls libcurl's. Their types are nghttp2's public interface, which does not change.

typedef int (*close_callback)(void *session, int32_t stream, uint32_t error, void *context);
typedef int (*frame_callback)(void *session, const void *frame, void *context);
typedef int (*header_callback)(
    void *session, const void *frame, const uint8_t *name, size_t name_length, const uint8_t *value,
    size_t value_length, uint8_t flags, void *context
);
typedef int (*data_callback)(
    void *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t length, void *context
);

// The head of every nghttp2_frame.
struct frame_head {
    size_t length;
    int32_t stream;
    uint8_t type;
    uint8_t flags;
    uint8_t reserved;
};

enum { TYPE_HEADERS = 1, REFUSED_STREAM = 7, BUCKETS = 1024 };
// Bytes of one answer's header block, each field with 32 bytes more, as HTTP/2 counts them; and nghttp2's
// NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.
enum { HEADER_BYTES = 16384, FIELD_BYTES = 32, STREAM_FAILED = -521 };
// Stands for a content type that is too long, and for several: no reader takes it for JSON.
static const char unreadable[] = "unreadable";

static _Atomic(close_callback) libcurl_closed;
static _Atomic(frame_callback) libcurl_received_frame;
static _Atomic(header_callback) libcurl_received_header;
static _Atomic(data_callback) libcurl_received_data;
// Streams whose body is kept.
static atomic_size_t kept;
static void *_Atomic handle_of;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct chttp2_stream *buckets[BUCKETS];

// The header block that is being received. No other frame comes between its fields.
static _Thread_local struct {
    void *session;
    int32_t stream;
    int status;
    size_t bytes;
    size_t type_length;
    char content_type[sizeof ((struct chttp2_stream *)NULL)->content_type];
} incoming;

// The bucket of a handle. Handles are hundreds of bytes long and allocated one by one, so their low bits differ little.
static struct chttp2_stream **bucket(const void *handle) {
    uintptr_t number = (uintptr_t)handle >> 4;
    return &buckets[(number ^ (number >> 10)) % BUCKETS];
}

void chttp2_observe(struct chttp2_stream *stream, const void *handle) {
    pthread_mutex_lock(&lock);
    struct chttp2_stream **first = bucket(handle);
    stream->handle = handle;
    stream->next = *first;
    *first = stream;
    pthread_mutex_unlock(&lock);
}

void chttp2_forget(struct chttp2_stream *stream) {
    chttp2_keep(stream, 0);
    pthread_mutex_lock(&lock);
    struct chttp2_stream **link = bucket(stream->handle);
    while (*link && *link != stream) link = &(*link)->next;
    if (*link) *link = stream->next;
    pthread_mutex_unlock(&lock);
}

bool chttp2_is_attached(void) { return atomic_load(&libcurl_closed) != NULL; }

void chttp2_keep(struct chttp2_stream *stream, size_t maximum) {
    if ((stream->pending_maximum > 0) != (maximum > 0)) {
        if (maximum > 0) atomic_fetch_add(&kept, 1); else atomic_fetch_sub(&kept, 1);
    }
    free(stream->pending);
    stream->pending = NULL;
    stream->pending_length = stream->pending_capacity = stream->received = 0;
    stream->pending_maximum = maximum;
}

void chttp2_delivered(struct chttp2_stream *stream, size_t count) {
    if (count > stream->pending_length) count = stream->pending_length;
    if (count == 0) return;
    stream->pending_length -= count;
    if (stream->pending_length == 0) {
        free(stream->pending);
        stream->pending = NULL;
        stream->pending_capacity = 0;
        return;
    }
    memmove(stream->pending, stream->pending + count, stream->pending_length);
}

// Appends to a kept body. What does not fit is dropped, and all that follows it.
static void append(struct chttp2_stream *stream, const uint8_t *data, size_t length) {
    size_t rest = stream->pending_maximum - stream->received;
    if (length > rest) length = rest;
    size_t needed = stream->pending_length + length;
    if (needed > stream->pending_capacity) {
        unsigned char *larger = realloc(stream->pending, needed);
        if (!larger) {
            stream->received = stream->pending_maximum;
            return;
        }
        stream->pending = larger;
        stream->pending_capacity = needed;
    }
    if (length > 0) memcpy(stream->pending + stream->pending_length, data, length);
    stream->pending_length = needed;
    stream->received += length;
}

// Returns the easy handle of a session's stream; NULL if it has none.
static const void *handle(void *session, int32_t number) {
    const void *(*find)(void *, int32_t) = (const void *(*)(void *, int32_t))atomic_load(&handle_of);
    return find ? find(session, number) : NULL;
}

// Returns the record of a handle; NULL if it has none. The caller holds the lock.
static struct chttp2_stream *stream_of(const void *handle) {
    struct chttp2_stream *stream = *bucket(handle);
    while (stream && stream->handle != handle) stream = stream->next;
    return stream;
}

// Records the error that closed a stream; without one, the headers that have arrived. libcurl stores its easy handle as
// the stream's user data in nghttp2; a pointer that no request has registered is ignored.
static void record(void *session, int32_t number, uint32_t error) {
    const void *easy = handle(session, number);
    if (!easy) return;
    pthread_mutex_lock(&lock);
    struct chttp2_stream *stream = stream_of(easy);
    if (stream && error != 0) {
        if (stream->error != REFUSED_STREAM) stream->error = error;
    } else if (stream) {
        stream->status = incoming.status;
        memcpy(stream->content_type, incoming.content_type, incoming.type_length);
        stream->content_type[incoming.type_length] = 0;
    }
    pthread_mutex_unlock(&lock);
}

// Called when a stream closes. nghttp2 uses the code REFUSED_STREAM for a reset by the server and for a stream above
// the last one of a GOAWAY, and for no reason of its own.
static int closed(void *session, int32_t stream, uint32_t error, void *context) {
    if (error != 0) record(session, stream, error);
    return atomic_load_explicit(&libcurl_closed, memory_order_relaxed)(session, stream, error, context);
}

static int received_header(
    void *session, const void *frame, const uint8_t *name, size_t name_length, const uint8_t *value,
    size_t value_length, uint8_t flags, void *context
) {
    if (name_length == 7 && value_length == 3 && memcmp(name, ":status", 7) == 0) {
        incoming.session = session;
        incoming.stream = ((const struct frame_head *)frame)->stream;
        incoming.type_length = 0;
        incoming.bytes = 0;
        // nghttp2 has checked that the status has three digits.
        incoming.status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0');
    } else if (name_length == 12 && memcmp(name, "content-type", 12) == 0) {
        bool is_kept = incoming.type_length == 0 && value_length < sizeof incoming.content_type;
        incoming.type_length = is_kept ? value_length : sizeof unreadable - 1;
        memcpy(incoming.content_type, is_kept ? value : (const uint8_t *)unreadable, incoming.type_length);
    }
    // libcurl stores every header of every answer. nghttp2 resets the stream of an answer that has too many.
    incoming.bytes += name_length + value_length + FIELD_BYTES;
    if (incoming.bytes > HEADER_BYTES) return STREAM_FAILED;
    return atomic_load_explicit(&libcurl_received_header, memory_order_relaxed)(
        session, frame, name, name_length, value, value_length, flags, context
    );
}

static int received_frame(void *session, const void *frame, void *context) {
    const struct frame_head *head = frame;
    if (head->type == TYPE_HEADERS) incoming.bytes = 0;
    if (head->type == TYPE_HEADERS && incoming.session == session && incoming.stream == head->stream) {
        if (incoming.status >= 200) record(session, head->stream, 0);
        incoming.session = NULL;
    }
    return atomic_load_explicit(&libcurl_received_frame, memory_order_relaxed)(session, frame, context);
}

static int received_data(
    void *session, uint8_t flags, int32_t number, const uint8_t *data, size_t length, void *context
) {
    const void *easy = atomic_load_explicit(&kept, memory_order_relaxed) > 0 ? handle(session, number) : NULL;
    if (easy) {
        pthread_mutex_lock(&lock);
        struct chttp2_stream *stream = stream_of(easy);
        if (stream && stream->pending_maximum > 0) append(stream, data, length);
        pthread_mutex_unlock(&lock);
    }
    return atomic_load_explicit(&libcurl_received_data, memory_order_relaxed)(
        session, flags, number, data, length, context
    );
}

// Returns nghttp2's function of that name.
static void *real(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    // The caller has linked nghttp2, so the function exists.
    if (!function) abort();
    return function;
}

// Whether a callback belongs to this executable or library: Fanfare has sessions of its own.
static bool is_own(const void *callback) {
    Dl_info theirs, ours;
    return dladdr(callback, &theirs) != 0 && dladdr((void *)is_own, &ours) != 0 && theirs.dli_fbase == ours.dli_fbase;
}

// Whether to observe a callback: the first one that is not Fanfare's. Any other belongs to another kind of session.
#define IS_OBSERVED(first, theirs) \
    (!is_own((const void *)(theirs)) && (atomic_compare_exchange_strong(first, &none, theirs) || none == (theirs)))

void nghttp2_session_callbacks_set_on_stream_close_callback(void *callbacks, close_callback theirs) {
    atomic_store(&handle_of, dlsym(RTLD_DEFAULT, "nghttp2_session_get_stream_user_data"));
    close_callback none = NULL;
    void (*set)(void *, close_callback) =
        (void (*)(void *, close_callback))real("nghttp2_session_callbacks_set_on_stream_close_callback");
    set(callbacks, IS_OBSERVED(&libcurl_closed, theirs) ? closed : theirs);
}

void nghttp2_session_callbacks_set_on_frame_recv_callback(void *callbacks, frame_callback theirs) {
    frame_callback none = NULL;
    void (*set)(void *, frame_callback) =
        (void (*)(void *, frame_callback))real("nghttp2_session_callbacks_set_on_frame_recv_callback");
    set(callbacks, IS_OBSERVED(&libcurl_received_frame, theirs) ? received_frame : theirs);
}

void nghttp2_session_callbacks_set_on_header_callback(void *callbacks, header_callback theirs) {
    header_callback none = NULL;
    void (*set)(void *, header_callback) =
        (void (*)(void *, header_callback))real("nghttp2_session_callbacks_set_on_header_callback");
    set(callbacks, IS_OBSERVED(&libcurl_received_header, theirs) ? received_header : theirs);
}

void nghttp2_session_callbacks_set_on_data_chunk_recv_callback(void *callbacks, data_callback theirs) {
    data_callback none = NULL;
    void (*set)(void *, data_callback) =
        (void (*)(void *, data_callback))real("nghttp2_session_callbacks_set_on_data_chunk_recv_callback");
    set(callbacks, IS_OBSERVED(&libcurl_received_data, theirs) ? received_data : theirs);
}
