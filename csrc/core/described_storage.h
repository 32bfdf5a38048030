// Objects of libraries in C++ that describe a storage: as long as it is there, each library finds the same one.
#pragma once

#include "storage.h"

namespace mt {

struct Description {
    const char* kind;  // stays; libraries that say the same of it understand each other's objects
    void* object;
    void (*release)(void*);         // called with the object when the storage goes; may be null
    void (*resize)(void*, size_t);  // how the storage is resized instead of by the core; may be null
};

void describe(Storage* s, const Description& d);
void* description_of(const Storage* s, const char* kind);  // null if there is none of that kind
// Whether one of its descriptions resizes it.
bool resize_described(Storage* s, size_t nbytes);

}  // namespace mt
