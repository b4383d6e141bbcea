#ifndef FANFARE_CNGHTTP2_H
#define FANFARE_CNGHTTP2_H

// Every function that Fanfare calls can be called from Swift; this header only names the library's.
#include <nghttp2/nghttp2.h>

// nghttp2_session_get_stream_remote_window_size and NGHTTP2_DATA_FLAG_NO_COPY are older; the flood limits that Fanfare
// relies on (outgoing confirmations, CONTINUATION frames) are in every version that Debian 12 ships.
#if NGHTTP2_VERSION_NUM < 0x013400
#error "Fanfare needs nghttp2 1.52 or later"
#endif

#endif
