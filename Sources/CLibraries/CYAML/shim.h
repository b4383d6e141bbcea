#ifndef FANFARE_CYAML_SHIM_H
#define FANFARE_CYAML_SHIM_H

#include <yaml.h>

#endif
