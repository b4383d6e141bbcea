#ifndef FANFARE_CNGHTTP2_H
#define FANFARE_CNGHTTP2_H

// Every function that Fanfare calls can be called from Swift; this header only names the library's.
#include <nghttp2/nghttp2.h>

// The oldest version that is tested: Debian 12's. Its limit of CONTINUATION frames came with the revision deb12u2.
#if NGHTTP2_VERSION_NUM < 0x013400
#error "Fanfare needs nghttp2 1.52 or later"
#endif

#endif
