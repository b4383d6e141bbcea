#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

int clinux_epoll_ctl(int epoll, int operation, int fd, unsigned int events, unsigned long long data) {
    struct epoll_event event = {.events = events, .data = {.u64 = data}};
    return epoll_ctl(epoll, operation, fd, &event);
}

int clinux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int clinux_epoll_wait(int epoll, struct epoll_event *events, int capacity, long long timeout_ns) {
    if (timeout_ns < 0) return epoll_wait(epoll, events, capacity, -1);
    struct timespec timeout = {.tv_sec = timeout_ns / 1000000000LL, .tv_nsec = timeout_ns % 1000000000LL};
    int count = epoll_pwait2(epoll, events, capacity, &timeout, NULL);
    if (count >= 0 || errno != ENOSYS) return count;
    // Kernels before 5.11: rounded up, so that a timer is never polled for before it is due.
    long long ms = (timeout_ns + 999999) / 1000000;
    return epoll_wait(epoll, events, capacity, ms > 60000 ? 60000 : (int)ms);
}

unsigned int clinux_event_mask(const struct epoll_event *event) { return event->events; }
unsigned long long clinux_event_data(const struct epoll_event *event) { return event->data.u64; }

int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int clinux_take_process_priority(void) {
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, getpid());
    // Linux takes 0 for the calling thread, and its number for a thread's, not for the process's.
    return errno == 0 ? setpriority(PRIO_PROCESS, 0, nice) : -1;
}

int clinux_set_thread_name(const char *name) { return pthread_setname_np(pthread_self(), name); }

int clinux_keep_memory_private(void) {
    struct rlimit none = {0, 0};
    int limit = setrlimit(RLIMIT_CORE, &none);
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && limit == 0 ? 0 : -1;
}

int clinux_return_blocks(int bytes) { return mallopt(M_MMAP_THRESHOLD, bytes) == 1 ? 0 : -1; }
