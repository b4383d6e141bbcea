#ifndef FANFARE_CLINUX_H
#define FANFARE_CLINUX_H

// The Glibc module does not export epoll, eventfd or the GNU-only thread calls.
#include <sys/epoll.h>
#include <sys/eventfd.h>

// struct epoll_event is packed on x86-64; setting its union from Swift goes through a copy of the whole struct.
int clinux_epoll_ctl(int epoll, int operation, int fd, unsigned int events, unsigned long long data);

// EPOLL_CLOEXEC is an enum in C and has no usable type in Swift.
int clinux_epoll_create(void);

// epoll_wait counts in milliseconds; batching windows are shorter than that. A negative timeout waits for ever.
int clinux_epoll_wait(int epoll, struct epoll_event *events, int capacity, long long timeout_ns);

unsigned int clinux_event_mask(const struct epoll_event *event);
unsigned long long clinux_event_data(const struct epoll_event *event);

int clinux_eventfd(void);

// pthread_setname_np is behind _GNU_SOURCE.
int clinux_set_thread_name(const char *name);
// The calling thread gets the niceness of the process, which is that of its first thread.
int clinux_take_process_priority(void);

// prctl is variadic.
int clinux_keep_memory_private(void);

// The Glibc module does not export mallopt. Freed blocks of so many bytes or more go back to the system.
int clinux_return_blocks(int bytes);

#endif
