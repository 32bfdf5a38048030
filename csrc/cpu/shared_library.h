// Libraries that are loaded when they are first needed: oneDNN and OpenBLAS come from PyPI packages and cost import
// time.
#pragma once

#include <initializer_list>

namespace mt {

// dlopen of the first of `candidates` that exists. A candidate that starts with '*' is tried below each entry of
// sys.path and below sys.prefix; others as they are. Raises ImportError's text naming `package`, and another remedy if
// there is one, where none is found. Needs the GIL.
void* open_shared_library(std::initializer_list<const char*> candidates, const char* package, const char* remedy = "");

// The address of a symbol that must be there.
void* symbol_of(void* library, const char* name);

}  // namespace mt
