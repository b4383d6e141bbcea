// zlib's functions that begin a stream are macros, which Swift does not see.
#ifndef FANFARE_CZLIB_SHIM_H
#define FANFARE_CZLIB_SHIM_H

#include <zlib.h>

// Begins to read gzip, and no other format.
static inline int czlib_begin_gzip(z_stream *stream) {
    return inflateInit2(stream, 16 + MAX_WBITS);
}

#endif
