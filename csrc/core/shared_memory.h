// Storages whose bytes other processes map too.
#pragma once

#include "storage.h"

namespace mt {

// Moves a CPU storage's bytes into shared memory, in place: all tensors over it see the new memory. Nothing if they are
// there already. With `keep_old` the memory they came from lives as long as the storage (something else points to it).
void share_storage(Storage* s, bool keep_old);
// A storage over the shared memory that the descriptor `fd` names, which it keeps and closes.
Storage* shared_storage(int fd, size_t nbytes);
// The descriptor of a shared storage's memory, its own; -1 if it is not shared.
int shared_descriptor(const Storage* s);

}  // namespace mt
