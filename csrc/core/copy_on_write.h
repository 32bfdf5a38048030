// Storages that share their bytes until one of them is written (Tensor._lazy_clone). Who writes a storage, or hands out
// an address that others may write to, says so before.
#pragma once

#include <atomic>

#include "storage.h"

namespace mt {

struct Call;

// How many storages share their bytes now: with none, nothing of this costs anything.
extern std::atomic<int64_t> g_lazy_copies;
inline bool has_lazy_copies() { return __builtin_expect(g_lazy_copies.load(std::memory_order_relaxed) != 0, 0); }

bool is_lazy_copy(const Storage* s);
// A storage with the same bytes, which are copied when one of the two is written; null where that cannot be told: the
// bytes are not ours, not on the CPU, or others may have their address.
Storage* lazy_clone(Storage* s);
// Gives the storage bytes of its own: a copy, or what it shared if nobody else does any more. RuntimeError in the body
// of a parallel loop, where other threads read them.
void own_bytes(Storage* s);

inline void before_write(Storage* s) {
    if (has_lazy_copies()) own_bytes(s);
}
// before_write for all tensors that a call may write.
void before_write(const Call& c);

// Set while the body of a parallel loop runs on this thread, and there are lazy copies.
extern thread_local bool g_in_parallel_loop;

}  // namespace mt
