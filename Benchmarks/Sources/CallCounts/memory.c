#define _GNU_SOURCE
#include "counters.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The allocator under its own names: dlsym allocates, so it cannot be asked for these.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    add(count_malloc, 1);
    add(count_allocated_bytes, size);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    add(count_calloc, 1);
    add(count_allocated_bytes, count * size);
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    add(count_realloc, 1);
    add(count_allocated_bytes, size);
    return __libc_realloc(block, size);
}

static void *aligned(size_t alignment, size_t size) {
    add(count_aligned_alloc, 1);
    add(count_allocated_bytes, size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return aligned(alignment, size); }
void *memalign(size_t alignment, size_t size) { return aligned(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *memory = aligned(alignment, size);
    if (!memory) return ENOMEM;
    *block = memory;
    return 0;
}

typedef void *(*copy_call)(void *, const void *, size_t);

static void *copy(copy_call *real, const char *name, void *to, const void *from, size_t length) {
    if (!*real) *real = (copy_call)dlsym(RTLD_NEXT, name);
    add(count_copies, 1);
    add(count_copied_bytes, length);
    return (*real)(to, from, length);
}

void *memcpy(void *to, const void *from, size_t length) {
    static copy_call real;
    return copy(&real, "memcpy", to, from, length);
}

void *memmove(void *to, const void *from, size_t length) {
    static copy_call real;
    return copy(&real, "memmove", to, from, length);
}

// What glibc's headers make of a copy whose target has a known size.
void *__memcpy_chk(void *to, const void *from, size_t length, size_t room) {
    if (length > room) abort();
    return memcpy(to, from, length);
}

void *__memmove_chk(void *to, const void *from, size_t length, size_t room) {
    if (length > room) abort();
    return memmove(to, from, length);
}
