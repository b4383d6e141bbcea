#define _GNU_SOURCE
#include "lane.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int64_t floor_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// MARK: Callbacks of a transfer

static size_t read_body(char *buffer, size_t size, size_t count, void *context) {
    struct slot *slot = context;
    size_t left = slot->lane->options->body_length - slot->handed_out;
    size_t length = size * count < left ? size * count : left;
    memcpy(buffer, slot->lane->options->body + slot->handed_out, length);
    slot->handed_out += length;
    return length;
}

// A body that went out is not sent again behind the caller's back.
static int seek_body(void *context, curl_off_t offset, int origin) {
    struct slot *slot = context;
    if (slot->handed_out > 0 || offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_FAIL;
    return CURL_SEEKFUNC_OK;
}

static size_t write_answer(char *buffer, size_t size, size_t count, void *context) {
    (void)buffer;
    ((struct slot *)context)->received += (long)(size * count);
    return size * count;
}

// MARK: Callbacks of a connection

static struct watch *find(struct lane *lane, curl_socket_t fd) {
    for (int i = 0; i < lane->socket_count; i++) {
        if (lane->sockets[i].fd == fd) return &lane->sockets[i];
    }
    return NULL;
}

static void set_cork(struct lane *lane, int on) {
    for (int i = 0; i < lane->socket_count; i++) {
        setsockopt(lane->sockets[i].fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
    }
}

static int socket_opened(void *context, curl_socket_t fd, curlsocktype purpose) {
    struct lane *lane = context;
    (void)purpose;
    if (lane->socket_count == (int)(sizeof(lane->sockets) / sizeof(lane->sockets[0]))) return CURL_SOCKOPT_ERROR;
    lane->sockets[lane->socket_count++] = (struct watch){.fd = fd};
    return CURL_SOCKOPT_OK;
}

// Closing takes it out of epoll too.
static int socket_closed(void *context, curl_socket_t fd) {
    struct lane *lane = context;
    struct watch *watch = find(lane, fd);
    if (watch) *watch = lane->sockets[--lane->socket_count];
    return close(fd);
}

static int socket_wanted(CURL *easy, curl_socket_t fd, int what, void *context, void *known) {
    struct lane *lane = context;
    (void)easy;
    (void)known;
    struct watch *watch = find(lane, fd);
    // A name look-up's own pipe is not one of ours: its answer is fetched when libcurl's timer says so.
    if (!watch) return 0;
    watch->wanted = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) watch->wanted |= EPOLLIN;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) watch->wanted |= EPOLLOUT;
    return 0;
}

static int timer_wanted(CURLM *multi, long timeout_ms, void *context) {
    (void)multi;
    struct lane *lane = context;
    lane->deadline = timeout_ms < 0 ? -1 : floor_now() + (int64_t)timeout_ms * 1000000;
    return 0;
}

// MARK: The lane

static bool slot_open(struct lane *lane, struct slot *slot) {
    const struct curl_floor_options *options = lane->options;
    CURL *easy = curl_easy_init();
    slot->lane = lane;
    slot->easy = easy;
    if (!easy) return false;
    CURLcode bad = CURLE_OK;
#define SET(option, value) if (!bad) bad = curl_easy_setopt(easy, option, value)
    SET(CURLOPT_PRIVATE, slot);
    SET(CURLOPT_ERRORBUFFER, slot->error);
    SET(CURLOPT_URL, options->url);
    SET(CURLOPT_HTTPHEADER, lane->headers);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)options->body_length);
    SET(CURLOPT_READFUNCTION, read_body);
    SET(CURLOPT_READDATA, slot);
    SET(CURLOPT_SEEKFUNCTION, seek_body);
    SET(CURLOPT_SEEKDATA, slot);
    SET(CURLOPT_WRITEFUNCTION, write_answer);
    SET(CURLOPT_WRITEDATA, slot);
    SET(CURLOPT_SOCKOPTFUNCTION, socket_opened);
    SET(CURLOPT_SOCKOPTDATA, lane);
    SET(CURLOPT_CLOSESOCKETFUNCTION, socket_closed);
    SET(CURLOPT_CLOSESOCKETDATA, lane);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOPROXY, "");
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_CAPATH, NULL);
    SET(CURLOPT_CAINFO, options->ca_file);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(CURLOPT_PIPEWAIT, 1L);
#undef SET
    return bad == CURLE_OK;
}

bool lane_open(struct lane *lane, const struct curl_floor_options *options, int epoll, int index) {
    *lane = (struct lane){.options = options, .epoll = epoll, .index = index, .deadline = -1};
    lane->multi = curl_multi_init();
    lane->slots = calloc((size_t)options->streams, sizeof(struct slot));
    if (!lane->multi || !lane->slots) return false;
    for (const char *const *line = options->headers; *line; line++) {
        lane->headers = curl_slist_append(lane->headers, *line);
    }
    lane->headers = curl_slist_append(lane->headers, "Expect:");
    curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, socket_wanted);
    curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
    curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, timer_wanted);
    curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
    curl_multi_setopt(lane->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(lane->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    curl_multi_setopt(lane->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)options->streams);
    for (int i = 0; i < options->streams; i++) {
        if (!slot_open(lane, &lane->slots[i])) return false;
    }
    return true;
}

void lane_close(struct lane *lane) {
    for (int i = 0; lane->slots && i < lane->options->streams; i++) {
        if (!lane->slots[i].easy) continue;
        curl_multi_remove_handle(lane->multi, lane->slots[i].easy);
        curl_easy_cleanup(lane->slots[i].easy);
    }
    if (lane->multi) curl_multi_cleanup(lane->multi);
    curl_slist_free_all(lane->headers);
    free(lane->slots);
}

bool lane_send(struct lane *lane, struct slot *slot) {
    slot->handed_out = 0;
    slot->received = 0;
    slot->error[0] = 0;
    if (curl_multi_add_handle(lane->multi, slot->easy) != CURLM_OK) return false;
    lane->running++;
    return true;
}

void lane_act(struct lane *lane, curl_socket_t fd, int mask) {
    // Not while connecting: a handshake gains nothing from being held back.
    if (lane->options->cork && !lane->corked && lane->running > 1) {
        lane->corked = true;
        set_cork(lane, 1);
    }
    int still_running = 0;
    if (fd == CURL_SOCKET_TIMEOUT) lane->deadline = -1;
    curl_multi_socket_action(lane->multi, fd, mask, &still_running);
    lane->touched = true;
}

struct slot *lane_next_finished(struct lane *lane, bool *succeeded) {
    int left = 0;
    CURLMsg *message = curl_multi_info_read(lane->multi, &left);
    if (!message || message->msg != CURLMSG_DONE) return NULL;
    CURLcode code = message->data.result;
    struct slot *slot = NULL;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&slot);
    long status = 0;
    curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
    *succeeded = code == CURLE_OK && status == 200 && slot->received > 0;
    if (!*succeeded && slot->error[0] == 0) {
        snprintf(slot->error, sizeof(slot->error), "libcurl code %d, HTTP status %ld, %ld bytes", (int)code, status,
                 slot->received);
    }
    curl_multi_remove_handle(lane->multi, slot->easy);
    lane->running--;
    return slot;
}

void lane_settle(struct lane *lane) {
    if (lane->corked) {
        lane->corked = false;
        set_cork(lane, 0);
    }
    for (int i = 0; i < lane->socket_count; i++) {
        struct watch *watch = &lane->sockets[i];
        if (watch->wanted == watch->told) continue;
        struct epoll_event event = {.events = watch->wanted};
        event.data.u64 = (uint64_t)lane->index << 32 | (uint32_t)watch->fd;
        int operation = watch->told == 0 ? EPOLL_CTL_ADD : watch->wanted == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
        epoll_ctl(lane->epoll, operation, watch->fd, &event);
        watch->told = watch->wanted;
    }
}
