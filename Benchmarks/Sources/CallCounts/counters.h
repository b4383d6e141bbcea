#ifndef FANFARE_COUNTERS_H
#define FANFARE_COUNTERS_H

#include "call_counts.h"

#include <stddef.h>

#define EACH_COUNTER(X) \
    X(malloc) X(calloc) X(realloc) X(aligned_alloc) X(allocated_bytes) X(copies) X(copied_bytes) \
    X(read) X(write) X(readv) X(writev) X(send) X(sendto) X(sendmsg) X(recv) X(recvfrom) X(recvmsg) \
    X(poll) X(select) X(epoll_wait) X(epoll_ctl) X(setsockopt) X(getsockopt) X(ioctl) X(getrandom) \
    X(unix_out) X(unix_in) X(unix_out_bytes) X(unix_in_bytes) X(inet_out_bytes) X(inet_in_bytes)

enum counter {
#define NAME(name) count_##name,
    EACH_COUNTER(NAME)
#undef NAME
    counter_count
};

/// Static until the file is there: the loader and other libraries allocate before anything of this one has run.
extern struct call_count *call_counts;

static inline void add(enum counter counter, size_t value) {
    __atomic_fetch_add(&call_counts[counter].value, (uint64_t)value, __ATOMIC_RELAXED);
}

#endif
