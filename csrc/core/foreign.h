// Storages over bytes that somebody else owns (storage_wrap), and bytes of storages that somebody else uses.
#pragma once

#include "storage.h"

namespace mt {

bool is_foreign(const Storage* s);
// Other bytes for a storage; `release_context` as with storage_wrap. What it had until now is kept as long as it is
// there, but for bytes that came this way.
void storage_replace(Storage* s, void* data, size_t nbytes, void* context, void (*release_context)(void*));
// What `release` will be called with when the storage goes; null if it is not given back by this function.
void* foreign_context(const Storage* s, void (*release)(void*));

// Memory of a storage that others reach by its address: buffers, DLPack capsules, slices. Noting it takes a reference;
// the storage keeps its address until it is forgotten as often.
void note_export(Storage* s);
void forget_export(Storage* s);
bool is_exported(const Storage* s);
// Whether others may write it without a word to its version: it is, or was at some time, exported, foreign or shared.
bool is_lent(const Storage* s);

}  // namespace mt
