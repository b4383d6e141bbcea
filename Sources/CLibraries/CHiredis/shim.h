#ifndef FANFARE_CHIREDIS_H
#define FANFARE_CHIREDIS_H

// Only the reply reader and the command formatter are used; sockets, TLS and timeouts are our own, so the same code
// serves hiredis 0.14 and 1.x.
#include <limits.h>
#include <stddef.h>
#include <sys/time.h>

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

// redisReplyObjectFunctions.createArray counts in int before 1.0 and in size_t after; Swift cannot name a type that
// depends on the version of a header.
#if HIREDIS_MAJOR >= 1
typedef size_t chiredis_count;
#else
typedef int chiredis_count;
#endif

// redisReader.maxelements came with 1.0; before, an array had at most INT_MAX elements.
static inline void chiredis_bound_arrays(redisReader *reader) {
#if HIREDIS_MAJOR >= 1
    reader->maxelements = INT_MAX;
#else
    (void)reader;
#endif
}

#endif
