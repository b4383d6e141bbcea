#define _GNU_SOURCE
#include "curl_floor.h"
#include "lane.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

struct floor_run {
    const struct curl_floor_options *options;
    struct curl_floor_result *result;
    struct lane *lanes;
    int epoll;
    int64_t give_up_at;
    long to_start;
    long to_finish;
};

static long timeval_ns(struct timeval value) { return value.tv_sec * 1000000000L + value.tv_usec * 1000L; }

static void note(struct floor_run *run, const char *text) {
    if (run->result->first_error[0] != 0) return;
    snprintf(run->result->first_error, sizeof(run->result->first_error), "%s", text);
}

// Takes every finished transfer of a lane and starts the next on the same handle.
static void collect(struct floor_run *run, struct lane *lane) {
    bool succeeded = false;
    struct slot *slot;
    while ((slot = lane_next_finished(lane, &succeeded))) {
        run->to_finish--;
        run->result->bytes_received += slot->received;
        if (succeeded) {
            run->result->sent++;
        } else {
            run->result->failed++;
            note(run, slot->error);
        }
        if (run->to_start > 0 && lane_send(lane, slot)) run->to_start--;
    }
    lane->touched = false;
}

// What libcurl wants at once; a send takes a few steps to its body. Bounded, so that no lane holds the loop.
static void pump(struct floor_run *run, struct lane *lane) {
    int64_t now = floor_now();
    for (int round = 0; round < 8; round++) {
        if (lane->touched) collect(run, lane);
        if (lane->deadline < 0 || lane->deadline > now) return;
        lane_act(lane, CURL_SOCKET_TIMEOUT, 0);
    }
    if (lane->touched) collect(run, lane);
}

static int64_t next_deadline(const struct floor_run *run) {
    int64_t next = run->give_up_at;
    for (int i = 0; i < run->options->lanes; i++) {
        int64_t deadline = run->lanes[i].deadline;
        if (deadline >= 0 && deadline < next) next = deadline;
    }
    return next;
}

static void turn(struct floor_run *run) {
    struct epoll_event events[64];
    int64_t wait_ns = next_deadline(run) - floor_now();
    int wait_ms = wait_ns <= 0 ? 0 : (int)((wait_ns + 999999) / 1000000);
    int count = epoll_wait(run->epoll, events, 64, wait_ms);
    run->result->turns++;
    for (int i = 0; i < count; i++) {
        int mask = 0;
        if (events[i].events & EPOLLIN) mask |= CURL_CSELECT_IN;
        if (events[i].events & EPOLLOUT) mask |= CURL_CSELECT_OUT;
        if (events[i].events & (EPOLLERR | EPOLLHUP)) mask |= CURL_CSELECT_ERR;
        lane_act(&run->lanes[events[i].data.u64 >> 32], (curl_socket_t)(uint32_t)events[i].data.u64, mask);
    }
    for (int i = 0; i < run->options->lanes; i++) {
        pump(run, &run->lanes[i]);
        lane_settle(&run->lanes[i]);
    }
}

// Sends `count` requests over all lanes and waits for the last answer.
static bool phase(struct floor_run *run, long count) {
    run->to_start = count;
    run->to_finish = count;
    for (int s = 0; s < run->options->streams; s++) {
        for (int i = 0; i < run->options->lanes && run->to_start > 0; i++) {
            if (!lane_send(&run->lanes[i], &run->lanes[i].slots[s])) return note(run, "libcurl took no request"), false;
            run->to_start--;
        }
    }
    while (run->to_finish > 0) {
        if (floor_now() >= run->give_up_at) return note(run, "out of time"), false;
        turn(run);
    }
    return true;
}

static bool measure(struct floor_run *run) {
    if (run->options->warm_up > 0 && !phase(run, run->options->warm_up)) return false;
    run->result->sent = run->result->failed = run->result->bytes_received = run->result->turns = 0;

    struct rusage before, after;
    int64_t started = floor_now();
    getrusage(RUSAGE_SELF, &before);
    bool finished = phase(run, run->options->sends);
    getrusage(RUSAGE_SELF, &after);
    run->result->wall_ns = (long)(floor_now() - started);
    run->result->user_ns = timeval_ns(after.ru_utime) - timeval_ns(before.ru_utime);
    run->result->system_ns = timeval_ns(after.ru_stime) - timeval_ns(before.ru_stime);
    run->result->warm_up_cpu_ns = timeval_ns(before.ru_utime) + timeval_ns(before.ru_stime);
    return finished;
}

int curl_floor_run(const struct curl_floor_options *options, struct curl_floor_result *result) {
    memset(result, 0, sizeof(*result));
    struct floor_run run = {.options = options, .result = result, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    run.give_up_at = floor_now() + (int64_t)options->limit_ms * 1000000;
    run.lanes = calloc((size_t)options->lanes, sizeof(struct lane));
    signal(SIGPIPE, SIG_IGN);
    bool ready = run.epoll >= 0 && run.lanes && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    int opened = 0;
    while (ready && opened < options->lanes) {
        ready = lane_open(&run.lanes[opened], options, run.epoll, opened);
        opened++;
    }
    if (!ready) note(&run, "cannot set up the lanes");
    bool finished = ready && measure(&run);
    for (int i = 0; i < opened; i++) lane_close(&run.lanes[i]);
    free(run.lanes);
    if (run.epoll >= 0) close(run.epoll);
    return finished ? 0 : -1;
}

const char *curl_floor_version(void) { return curl_version(); }
