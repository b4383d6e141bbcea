#ifndef FANFARE_CURL_FLOOR_H
#define FANFARE_CURL_FLOOR_H

#include <stddef.h>

/// What a run of the floor is made of. Strings and bytes are borrowed until `curl_floor_run` returns.
struct curl_floor_options {
    const char *url;
    const char *ca_file;
    /// Header lines; the last element is NULL.
    const char *const *headers;
    const char *body;
    size_t body_length;
    /// Connections, and streams on each.
    int lanes;
    int streams;
    /// Sends before the clock starts: they open the connections and warm the handles.
    long warm_up;
    long sends;
    /// Gather a turn's writes of a lane into full segments (TCP_CORK).
    int cork;
    /// Milliseconds for everything; when they are over the run ends with what it has.
    long limit_ms;
};

/// Counted from the end of the warm-up to the last answer, except where it says otherwise.
struct curl_floor_result {
    long sent;
    /// Transfers with an error of libcurl, and answers other than a 200 with a body.
    long failed;
    long bytes_received;
    long user_ns;
    long system_ns;
    long wall_ns;
    /// Everything before: set-up, connections, warm-up.
    long warm_up_cpu_ns;
    long turns;
    /// The first failure's text, empty without one.
    char first_error[256];
};

/// Runs the loop in the calling thread, which must be the process's only busy one: CPU time is the process's.
/// Returns 0, or -1 when it could not start or ran out of time (the reason is in `first_error`).
int curl_floor_run(const struct curl_floor_options *options, struct curl_floor_result *result);

/// The versions of libcurl and of the libraries under it.
const char *curl_floor_version(void);

#endif
