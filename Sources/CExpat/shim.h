// Expat's whole interface can be called from Swift as it is; nothing needs a wrapper.
#ifndef FANFARE_CEXPAT_SHIM_H
#define FANFARE_CEXPAT_SHIM_H

#include <expat.h>

#endif
