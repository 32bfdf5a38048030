// Storage: raw bytes with a device, an owner and a version counter. Reference counted, free of Python.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device.h"

namespace mt {

struct Storage {
    std::atomic<int64_t> refs{1};
    void* data = nullptr;
    size_t nbytes = 0;
    Device device;
    bool resizable = true;
    bool described = false;               // objects of libraries in C++ describe it: described_storage.h
    uint32_t version = 0;                 // bumped by each in-place write through any view
    void (*release)(Storage*) = nullptr;  // gives `data` (and the struct) back
    void* context = nullptr;              // what `release` needs (a Python object, a mapping, ...)
    size_t block = 0;                     // bytes of the allocator's block

    void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
    inline void drop();
};

void forget_descriptions(Storage* s);  // described_storage.cpp

inline void Storage::drop() {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (__builtin_expect(described, 0)) forget_descriptions(this);
    release(this);
}

Storage* storage_alloc(size_t nbytes, Device device);  // uninitialised; data == nullptr on meta
// Bytes that somebody else owns; `release_context` is called with `context` when the last reference goes.
Storage* storage_wrap(void* data, size_t nbytes, Device device, void* context, void (*release_context)(void*));
void storage_resize(Storage* s, size_t nbytes);

struct MemoryStats {
    int64_t allocated, allocated_peak, reserved, reserved_peak, cached, allocations, cache_hits, releases;
};
MemoryStats memory_stats();
void reset_peak_memory_stats();
void empty_cache();

}  // namespace mt
