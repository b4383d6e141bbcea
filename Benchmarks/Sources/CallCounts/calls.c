#define _GNU_SOURCE
#include "counters.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// Which descriptors lead to a local socket and which to the network: the worker's are Redis and FCM. Written by
// connect() only, before the first byte; a descriptor used again for a file keeps its mark until the next connect().
enum { most_descriptors = 65536 };
static unsigned char family[most_descriptors];

static int family_of(int fd) { return fd >= 0 && fd < most_descriptors ? family[fd] : 0; }

static void sent(int fd, ssize_t length) {
    if (family_of(fd) == AF_UNIX) add(count_unix_out, 1);
    if (length <= 0) return;
    if (family_of(fd) == AF_UNIX) add(count_unix_out_bytes, (size_t)length);
    if (family_of(fd) == AF_INET || family_of(fd) == AF_INET6) add(count_inet_out_bytes, (size_t)length);
}

static void received(int fd, ssize_t length) {
    if (family_of(fd) == AF_UNIX) add(count_unix_in, 1);
    if (length <= 0) return;
    if (family_of(fd) == AF_UNIX) add(count_unix_in_bytes, (size_t)length);
    if (family_of(fd) == AF_INET || family_of(fd) == AF_INET6) add(count_inet_in_bytes, (size_t)length);
}

// The next library's function of the same name, looked up at the first call: others may call before this library has
// been set up.
#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

int connect(int fd, const struct sockaddr *address, socklen_t length) {
    REAL(int, connect, int, const struct sockaddr *, socklen_t);
    if (fd >= 0 && fd < most_descriptors && length >= sizeof(sa_family_t)) family[fd] = (unsigned char)address->sa_family;
    return real(fd, address, length);
}

// MARK: Bytes out

ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(ssize_t, write, int, const void *, size_t);
    add(count_write, 1);
    ssize_t done = real(fd, bytes, length);
    sent(fd, done);
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, writev, int, const struct iovec *, int);
    add(count_writev, 1);
    ssize_t done = real(fd, parts, count);
    sent(fd, done);
    return done;
}

ssize_t send(int fd, const void *bytes, size_t length, int flags) {
    REAL(ssize_t, send, int, const void *, size_t, int);
    add(count_send, 1);
    ssize_t done = real(fd, bytes, length, flags);
    sent(fd, done);
    return done;
}

ssize_t sendto(int fd, const void *bytes, size_t length, int flags, const struct sockaddr *to, socklen_t to_length) {
    REAL(ssize_t, sendto, int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    add(count_sendto, 1);
    ssize_t done = real(fd, bytes, length, flags, to, to_length);
    sent(fd, done);
    return done;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    REAL(ssize_t, sendmsg, int, const struct msghdr *, int);
    add(count_sendmsg, 1);
    ssize_t done = real(fd, message, flags);
    sent(fd, done);
    return done;
}

// MARK: Bytes in

ssize_t read(int fd, void *bytes, size_t length) {
    REAL(ssize_t, read, int, void *, size_t);
    add(count_read, 1);
    ssize_t done = real(fd, bytes, length);
    received(fd, done);
    return done;
}

ssize_t readv(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, readv, int, const struct iovec *, int);
    add(count_readv, 1);
    ssize_t done = real(fd, parts, count);
    received(fd, done);
    return done;
}

ssize_t recv(int fd, void *bytes, size_t length, int flags) {
    REAL(ssize_t, recv, int, void *, size_t, int);
    add(count_recv, 1);
    ssize_t done = real(fd, bytes, length, flags);
    received(fd, done);
    return done;
}

ssize_t recvfrom(int fd, void *bytes, size_t length, int flags, struct sockaddr *from, socklen_t *from_length) {
    REAL(ssize_t, recvfrom, int, void *, size_t, int, struct sockaddr *, socklen_t *);
    add(count_recvfrom, 1);
    ssize_t done = real(fd, bytes, length, flags, from, from_length);
    received(fd, done);
    return done;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    REAL(ssize_t, recvmsg, int, struct msghdr *, int);
    add(count_recvmsg, 1);
    ssize_t done = real(fd, message, flags);
    received(fd, done);
    return done;
}

// MARK: Waiting

int poll(struct pollfd *descriptors, nfds_t count, int timeout) {
    REAL(int, poll, struct pollfd *, nfds_t, int);
    add(count_poll, 1);
    return real(descriptors, count, timeout);
}

int select(int count, fd_set *in, fd_set *out, fd_set *bad, struct timeval *timeout) {
    REAL(int, select, int, fd_set *, fd_set *, fd_set *, struct timeval *);
    add(count_select, 1);
    return real(count, in, out, bad, timeout);
}

int epoll_wait(int epoll, struct epoll_event *events, int capacity, int timeout) {
    REAL(int, epoll_wait, int, struct epoll_event *, int, int);
    add(count_epoll_wait, 1);
    return real(epoll, events, capacity, timeout);
}

int epoll_pwait(int epoll, struct epoll_event *events, int capacity, int timeout, const sigset_t *mask) {
    REAL(int, epoll_pwait, int, struct epoll_event *, int, int, const sigset_t *);
    add(count_epoll_wait, 1);
    return real(epoll, events, capacity, timeout, mask);
}

int epoll_pwait2(int epoll, struct epoll_event *events, int capacity, const struct timespec *timeout,
                 const sigset_t *mask) {
    REAL(int, epoll_pwait2, int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
    add(count_epoll_wait, 1);
    return real(epoll, events, capacity, timeout, mask);
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    REAL(int, epoll_ctl, int, int, int, struct epoll_event *);
    add(count_epoll_ctl, 1);
    return real(epoll, operation, fd, event);
}

// MARK: The rest of a socket

int setsockopt(int fd, int level, int option, const void *value, socklen_t length) {
    REAL(int, setsockopt, int, int, int, const void *, socklen_t);
    add(count_setsockopt, 1);
    return real(fd, level, option, value, length);
}

int getsockopt(int fd, int level, int option, void *value, socklen_t *length) {
    REAL(int, getsockopt, int, int, int, void *, socklen_t *);
    add(count_getsockopt, 1);
    return real(fd, level, option, value, length);
}

int ioctl(int fd, unsigned long request, ...) {
    REAL(int, ioctl, int, unsigned long, void *);
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    add(count_ioctl, 1);
    return real(fd, request, argument);
}

// Not of a socket, but a system call that a send can cost. Swift's generator makes it by number.
long syscall(long number, ...) {
    REAL(long, syscall, long, ...);
    long arguments[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++) arguments[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_getrandom) add(count_getrandom, 1);
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
