#ifndef FANFARE_CALL_COUNTS_H
#define FANFARE_CALL_COUNTS_H

#include <stdint.h>

/// What a process asks of the system and of the allocator, counted from inside it: a library to preload. A count says
/// the same on a slow machine and on a fast one, which a time does not.
///
/// With FANFARE_COUNTS_FILE in the environment the counts are kept in that file, which is made again: records as below,
/// one after the other, in this machine's byte order, moving while the process runs. Whoever reads the file before and
/// after something knows what that cost. Calls inside the C library are not seen, nor calls that a compiler replaced.
struct call_count {
    /// Ends with a zero byte.
    char name[24];
    uint64_t value;
};

#endif
