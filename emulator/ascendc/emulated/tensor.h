// What a block of a kernel has on the chip, and tensors in global and in local memory. Every access is checked.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "launch.h"
#include "types.h"

namespace emulated {

constexpr uint32_t kBlock = 32;    // bytes: the unit of copies and of addresses
constexpr uint32_t kRepeat = 256;  // bytes that one step of a vector instruction handles
constexpr uint32_t kUnifiedBuffer = 192 << 10, kUsable = 184 << 10;
constexpr int kEventIds = 8;

template <class... P>
[[noreturn]] void fault(const P&... parts) {
    std::ostringstream s;
    (s << ... << parts);
    emulatorFault(s.str().c_str());
}

inline const char* position_name(AscendC::TPosition p) {
    switch (p) {
        case AscendC::TPosition::VECIN:
            return "VECIN";
        case AscendC::TPosition::VECOUT:
            return "VECOUT";
        case AscendC::TPosition::VECCALC:
            return "VECCALC";
        default:
            return "a position outside the unified buffer";
    }
}

// A buffer of a queue, or of a TBuf.
struct Piece {
    enum State { kFree, kTaken, kQueued };
    char* data;
    uint32_t size;
    AscendC::TPosition position;
    const void* owner;    // the queue, null for a TBuf
    uint32_t generation;  // how often it was freed: tensors of earlier times are stale
    State state;
};

// One block's chip: the unified buffer, its pieces, flags, the mode of atomic sums.
struct Core {
    char* unified;
    uint32_t used = 0;
    std::deque<Piece> pieces;
    void* pipe = nullptr;
    bool atomic = false;
    int8_t flags[static_cast<int>(AscendC::HardEvent::MAX)][kEventIds] = {};
    uint8_t events[static_cast<int>(AscendC::HardEvent::MAX)] = {};  // a bit for each id that was allocated
    uint64_t mask[2] = {~uint64_t(0), ~uint64_t(0)};                 // of the instructions that take it from a register
    uint8_t compared[kRepeat / 8] = {};                              // what a Compare without destination left

    Core() : unified(static_cast<char*>(std::aligned_alloc(kBlock, kUnifiedBuffer))) {
        std::memset(unified, 0xff, kUnifiedBuffer);
    }
    ~Core() { std::free(unified); }
    Core(const Core&) = delete;

    Piece* cut(uint32_t size, AscendC::TPosition position, const void* owner) {
        uint32_t whole = (size + kBlock - 1) / kBlock * kBlock;
        if (position < AscendC::TPosition::VECIN || position > AscendC::TPosition::VECCALC)
            fault("InitBuffer: ", position_name(position), " is not emulated");
        if (!whole) fault("InitBuffer: a buffer of 0 bytes");
        if (used + whole > kUsable)
            fault("unified buffer overrun: InitBuffer asks for ", whole, " bytes (", position_name(position), "), ",
                  kUsable - used, " of ", kUsable, " are left");
        pieces.push_back({unified + used, whole, position, owner, 0, Piece::kFree});
        used += whole;
        return &pieces.back();
    }
};

inline Core& core() { return *static_cast<Core*>(emulatorCurrentBlock()->core); }

// A number as instructions compute with it.
template <class T>
struct ComputeOf {
    using type = T;
};
template <>
struct ComputeOf<half> {
    using type = float;
};
template <>
struct ComputeOf<bfloat16_t> {
    using type = float;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

}  // namespace emulated

namespace AscendC {

// A tensor in global memory: an address and, if it was said, a number of elements.
template <class T>
class GlobalTensor {
  public:
    using PrimType = T;

    void SetGlobalBuffer(__gm__ T* buffer, uint64_t size) {
        address_ = buffer;
        size_ = size;
        bounded_ = true;
    }
    void SetGlobalBuffer(__gm__ T* buffer) {
        address_ = buffer;
        size_ = 0;
        bounded_ = false;
    }
    GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor r = *this;
        if (bounded_ && offset > size_)
            emulated::fault("out-of-bounds global access: offset ", offset, " in a GlobalTensor of ", size_,
                            " elements");
        r.address_ += offset;
        if (bounded_) r.size_ -= offset;
        return r;
    }
    T GetValue(uint64_t offset) const {
        T value;
        std::memcpy(&value, at(offset * sizeof(T), sizeof(T), 'r', "GetValue"), sizeof(T));
        return value;
    }
    void SetValue(uint64_t offset, T value) {
        std::memcpy(at(offset * sizeof(T), sizeof(T), 'w', "SetValue"), &value, sizeof(T));
    }
    class Element {
      public:
        Element(GlobalTensor* tensor, uint64_t offset) : tensor_(tensor), offset_(offset) {}
        operator T() const { return tensor_->GetValue(offset_); }
        Element& operator=(T value) {
            tensor_->SetValue(offset_, value);
            return *this;
        }

      private:
        GlobalTensor* tensor_;
        uint64_t offset_;
    };
    Element operator()(uint64_t offset) { return {this, offset}; }
    const __gm__ T* GetPhyAddr() const { return address_; }
    const __gm__ T* GetPhyAddr(uint64_t offset) const { return address_ + offset; }
    uint64_t GetSize() const { return size_; }
    template <class... A>
    void SetL2CacheHint(A...) {}

    // Not AscendC's: the bytes at an offset, for an instruction.
    char* at(uint64_t offset, uint64_t bytes, char access, const char* operation) const {
        if (bounded_ && offset + bytes > size_ * sizeof(T))
            emulated::fault("out-of-bounds global ", access == 'r' ? "read" : "write", ": ", operation, " of ", bytes,
                            " bytes at byte ", offset, " of a GlobalTensor of ", size_ * sizeof(T), " bytes");
        return emulatorGlobal(reinterpret_cast<const char*>(address_) + offset, bytes, access, operation);
    }

  private:
    __gm__ T* address_ = nullptr;
    uint64_t size_ = 0;
    bool bounded_ = false;
};

// A tensor in the unified buffer: a part of a piece of it.
template <class T>
class LocalTensor {
  public:
    using PrimType = T;

    LocalTensor() = default;
    LocalTensor operator[](uint32_t offset) const {
        LocalTensor r = *this;
        if (offset > length_)
            emulated::fault("out-of-bounds local access: offset ", offset, " in a LocalTensor of ", length_,
                            " elements");
        r.offset_ += offset * static_cast<uint32_t>(sizeof(T));
        r.length_ -= offset;
        return r;
    }
    T GetValue(uint32_t index) const {
        T value;
        std::memcpy(&value, at(index * sizeof(T), sizeof(T), "GetValue"), sizeof(T));
        return value;
    }
    template <class V>
    void SetValue(uint32_t index, V value) const {
        T stored = static_cast<T>(value);
        std::memcpy(at(index * sizeof(T), sizeof(T), "SetValue"), &stored, sizeof(T));
    }
    T& operator()(uint32_t index) const {
        return *reinterpret_cast<T*>(at(index * sizeof(T), sizeof(T), "operator()"));
    }
    template <class U>
    LocalTensor<U> ReinterpretCast() const {
        return LocalTensor<U>(piece_, generation_, offset_, static_cast<uint32_t>(length_ * sizeof(T) / sizeof(U)));
    }
    uint32_t GetSize() const { return length_; }
    uint32_t GetLength() const { return static_cast<uint32_t>(length_ * sizeof(T)); }
    void SetSize(uint32_t size) {
        if (piece_ && offset_ + size * sizeof(T) > piece_->size)
            emulated::fault("unified buffer overrun: SetSize(", size, ") of a buffer of ", piece_->size, " bytes");
        length_ = size;
    }
    uint64_t GetPhyAddr() const { return GetPhyAddr(0); }
    uint64_t GetPhyAddr(uint32_t offset) const {
        return static_cast<uint64_t>(at(0, 0, "GetPhyAddr") - emulated::core().unified) + offset * sizeof(T);
    }
    int32_t GetPosition() const { return piece_ ? static_cast<int32_t>(piece_->position) : 0; }
    template <class... A>
    void SetUserTag(A...) {}

    // Not AscendC's.
    LocalTensor(emulated::Piece* piece, uint32_t generation, uint32_t offset, uint32_t length)
        : piece_(piece), generation_(generation), offset_(offset), length_(length) {}
    emulated::Piece* piece() const { return piece_; }
    bool stale() const { return piece_ && generation_ != piece_->generation; }
    // The bytes from an offset on, of which an instruction uses so many.
    char* at(uint64_t offset, uint64_t bytes, const char* operation) const {
        if (!piece_)
            emulated::fault(operation, ": a LocalTensor without memory: it is from no AllocTensor, DeQue or Get");
        if (stale()) emulated::fault("use after FreeTensor: ", operation, " of a tensor that was freed");
        if (offset_ + offset + bytes > piece_->size || offset + bytes > length_ * sizeof(T))
            emulated::fault("unified buffer overrun: ", operation, " of ", bytes, " bytes at byte ", offset,
                            " of a LocalTensor of ", length_ * sizeof(T), " bytes (",
                            emulated::position_name(piece_->position), ", buffer of ", piece_->size, ")");
        return piece_->data + offset_ + offset;
    }
    // The same for an instruction that wants the unit of addresses.
    char* aligned(uint64_t offset, uint64_t bytes, const char* operation) const {
        char* p = at(offset, bytes, operation);
        if ((p - piece_->data) % emulated::kBlock)
            emulated::fault("misaligned ", operation, ": a local address is ", (p - piece_->data) % emulated::kBlock,
                            " bytes behind a multiple of ", emulated::kBlock);
        return p;
    }
    T* elements(uint64_t count, const char* operation) const {
        return reinterpret_cast<T*>(aligned(0, count * sizeof(T), operation));
    }

  private:
    emulated::Piece* piece_ = nullptr;
    uint32_t generation_ = 0, offset_ = 0, length_ = 0;
};

}  // namespace AscendC
