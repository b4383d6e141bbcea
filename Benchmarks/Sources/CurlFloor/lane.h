#ifndef FANFARE_CURL_FLOOR_LANE_H
#define FANFARE_CURL_FLOOR_LANE_H

#include "curl_floor.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

/// One stream's worth of a lane: a handle that is set up once and used for many sends.
struct slot {
    struct lane *lane;
    CURL *easy;
    size_t handed_out;
    long received;
    char error[CURL_ERROR_SIZE];
};

/// What libcurl wants to hear of a socket, and what epoll was last told.
struct watch {
    curl_socket_t fd;
    uint32_t wanted;
    uint32_t told;
};

/// One multi handle, for one connection.
struct lane {
    const struct curl_floor_options *options;
    CURLM *multi;
    struct slot *slots;
    struct curl_slist *headers;
    int epoll;
    int index;
    /// Open sockets; one, but for a moment of reconnecting.
    struct watch sockets[4];
    int socket_count;
    /// When libcurl wants to be called, in monotonic ns; -1 when not.
    int64_t deadline;
    bool corked;
    /// Set when libcurl ran since finished transfers were last collected.
    bool touched;
    int running;
};

int64_t floor_now(void);

bool lane_open(struct lane *lane, const struct curl_floor_options *options, int epoll, int index);
void lane_close(struct lane *lane);

/// Sends once more on a slot that is not in use.
bool lane_send(struct lane *lane, struct slot *slot);

/// Tells libcurl about a socket, or with CURL_SOCKET_TIMEOUT that its time has come.
void lane_act(struct lane *lane, curl_socket_t fd, int mask);

/// The next finished transfer, taken out of the multi; NULL when there is none.
struct slot *lane_next_finished(struct lane *lane, bool *succeeded);

/// Ends the turn: lets the kernel send what was written, and tells epoll what libcurl wants now. libcurl changes its
/// mind with every send, so epoll hears only the last word.
void lane_settle(struct lane *lane);

#endif
