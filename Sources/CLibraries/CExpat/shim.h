// Expat's interface can be called from Swift as it is, but for what newer releases add.
#ifndef FANFARE_CEXPAT_SHIM_H
#define FANFARE_CEXPAT_SHIM_H

#include <expat.h>

// From 2.6 on expat may put off reading what it has until more arrives, and on a stream nothing more need come: an
// acknowledgement would lie unread. What that guards against, the limits on tags bound already.
static inline void cexpat_read_at_once(XML_Parser parser) {
#if XML_MAJOR_VERSION > 2 || (XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION >= 6)
    XML_SetReparseDeferralEnabled(parser, XML_FALSE);
#else
    (void)parser;
#endif
}

// Position in the document of the current event, in bytes; -1 is an error. From 2.9 on the older function is deprecated.
static inline long cexpat_byte_index(XML_Parser parser) {
#if XML_MAJOR_VERSION > 2 || (XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION >= 9)
    return (long)XML_GetCurrentByteIndex64(parser);
#else
    return (long)XML_GetCurrentByteIndex(parser);
#endif
}

// Number of bytes of the current event; 0 within an internal entity.
static inline long cexpat_byte_count(XML_Parser parser) {
#if XML_MAJOR_VERSION > 2 || (XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION >= 9)
    return (long)XML_GetCurrentByteCount64(parser);
#else
    return XML_GetCurrentByteCount(parser);
#endif
}

#endif
