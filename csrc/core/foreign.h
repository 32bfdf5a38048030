// Storages over bytes that somebody else owns (storage_wrap).
#pragma once

#include "storage.h"

namespace mt {

bool is_foreign(const Storage* s);
// What `release` will be called with when the storage goes; null if it is not given back by this function.
void* foreign_context(const Storage* s, void (*release)(void*));

}  // namespace mt
