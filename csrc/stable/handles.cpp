// Handles: places in a table, with a count of how often each was used.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "stable/abi.h"

namespace mt::stable {
namespace {

// In the handle: the kind in the highest byte, then the use (24 bits), then the place (32 bits). Never 0.
struct Slot {
    std::atomic<uint64_t> handle{0};  // the one that counts; 0 while the place is free
    void* held = nullptr;
    uint32_t uses = 0;
};
constexpr uint32_t kBlock = 4096, kBlocks = 1 << 16;

struct Table {
    std::array<std::atomic<Slot*>, kBlocks> blocks{};
    std::vector<uint32_t> free;
    uint32_t used = 0;
    std::mutex mutex;
};
Table& table() {
    static Table* const t = new Table;  // static objects of libraries delete handles at the very end
    return *t;
}

Slot* slot_of(uint64_t handle) {
    const uint32_t place = static_cast<uint32_t>(handle);
    if (place / kBlock >= kBlocks) return nullptr;
    Slot* block = table().blocks[place / kBlock].load(std::memory_order_acquire);
    return block ? &block[place % kBlock] : nullptr;
}

const char* name_of(Kind kind) {
    switch (kind) {
        case Kind::Tensor:
            return "a tensor";
        case Kind::Generator:
            return "a generator";
        case Kind::Stream:
            return "a stream";
        case Kind::List:
            return "a list";
        case Kind::String:
            return "a string";
        case Kind::Guard:
            return "a device guard";
        case Kind::Library:
            return "a library";
    }
    return "anything";
}

Slot& checked(uint64_t handle, Kind kind) {
    Slot* slot = slot_of(handle);
    if (__builtin_expect(!handle || handle >> 56 != static_cast<uint64_t>(kind) || !slot ||
                             slot->handle.load(std::memory_order_acquire) != handle,
                         0)) {
        const uint64_t given = handle >> 56;
        if (!handle) fail("a handle of ", name_of(kind), " was expected, got a null pointer");
        if (slot && slot->handle.load() == handle)
            fail("a handle of ", name_of(kind), " was expected, got one of ", name_of(static_cast<Kind>(given)));
        if (slot && given == static_cast<uint64_t>(kind) && static_cast<uint32_t>(handle) < table().used)
            fail("a handle of ", name_of(kind), " is used after it was deleted");
        fail("a handle of ", name_of(kind), " was expected, got ", reinterpret_cast<void*>(handle),
             ", which is no handle");
    }
    return *slot;
}

}  // namespace

uint64_t new_handle(Kind kind, void* held) {
    Table& t = table();
    std::lock_guard<std::mutex> lock(t.mutex);
    uint32_t place;
    if (t.free.empty()) {
        place = t.used;
        if (place / kBlock >= kBlocks) fail("too many handles at a time");
        if (place % kBlock == 0) t.blocks[place / kBlock].store(new Slot[kBlock], std::memory_order_release);
        t.used++;
    } else {
        place = t.free.back();
        t.free.pop_back();
    }
    Slot& slot = *slot_of(place);
    slot.held = held;
    slot.uses = (slot.uses + 1) & 0xffffff;
    const uint64_t handle = static_cast<uint64_t>(kind) << 56 | static_cast<uint64_t>(slot.uses) << 32 | place;
    slot.handle.store(handle, std::memory_order_release);
    return handle;
}

void* held_by(uint64_t handle, Kind kind) { return checked(handle, kind).held; }

void* take_handle(uint64_t handle, Kind kind) {
    Slot& slot = checked(handle, kind);
    uint64_t expected = handle;
    void* held = slot.held;
    // Of two that delete it at the same time one is late.
    if (!slot.handle.compare_exchange_strong(expected, 0))
        fail("a handle of ", name_of(kind), " is used after it was deleted");
    Table& t = table();
    std::lock_guard<std::mutex> lock(t.mutex);
    t.free.push_back(static_cast<uint32_t>(handle));
    return held;
}

}  // namespace mt::stable
