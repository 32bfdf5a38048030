// DataCopy and its relatives: between global and local memory.
#pragma once

#include "pipe.h"

namespace emulated {

// One stretch of a copy to global memory: stored, or added under SetAtomicAdd.
template <class T>
void store(const AscendC::GlobalTensor<T>& to, uint64_t offset, const char* from, uint64_t bytes, const char* name) {
    bool atomic = core().atomic;
    char* place = to.at(offset, bytes, atomic ? 'a' : 'w', name);
    if (!atomic) {
        std::memcpy(place, from, bytes);
        return;
    }
    for (uint64_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
        T sum, term;
        std::memcpy(&sum, place + i, sizeof(T));
        std::memcpy(&term, from + i, sizeof(T));
        sum = static_cast<T>(static_cast<Compute<T>>(sum) + static_cast<Compute<T>>(term));
        std::memcpy(place + i, &sum, sizeof(T));
    }
}

inline void whole_blocks(uint64_t bytes, const char* name) {
    if (bytes % kBlock) fault("misaligned ", name, ": ", bytes, " bytes are not a multiple of ", kBlock);
    if (!bytes) fault(name, ": nothing to copy");
}
template <class T>
void global_alignment(const AscendC::GlobalTensor<T>& tensor, const char* name) {
    auto address = reinterpret_cast<uintptr_t>(tensor.GetPhyAddr());
    if (address % kBlock)
        fault("misaligned ", name, ": the global address is ", address % kBlock, " bytes behind a multiple of ",
              kBlock);
}
inline uint64_t blocks_up(uint64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

}  // namespace emulated

namespace AscendC {

template <class T>
void DataCopy(const LocalTensor<T>& to, const GlobalTensor<T>& from, const DataCopyParams& p) {
    uint64_t length = uint64_t(p.blockLen) * emulated::kBlock;
    emulated::whole_blocks(length * p.blockCount, "DataCopy");
    emulated::global_alignment(from, "DataCopy");
    for (uint64_t i = 0; i < p.blockCount; i++) {
        char* place = to.aligned(i * (length + p.dstStride * emulated::kBlock), length, "DataCopy");
        std::memcpy(place, from.at(i * (length + p.srcStride * emulated::kBlock), length, 'r', "DataCopy"), length);
    }
}
template <class T>
void DataCopy(const GlobalTensor<T>& to, const LocalTensor<T>& from, const DataCopyParams& p) {
    uint64_t length = uint64_t(p.blockLen) * emulated::kBlock;
    emulated::whole_blocks(length * p.blockCount, "DataCopy");
    emulated::global_alignment(to, "DataCopy");
    for (uint64_t i = 0; i < p.blockCount; i++) {
        const char* place = from.aligned(i * (length + p.srcStride * emulated::kBlock), length, "DataCopy");
        emulated::store(to, i * (length + p.dstStride * emulated::kBlock), place, length, "DataCopy");
    }
}
template <class T>
void DataCopy(const LocalTensor<T>& to, const LocalTensor<T>& from, const DataCopyParams& p) {
    uint64_t length = uint64_t(p.blockLen) * emulated::kBlock;
    emulated::whole_blocks(length * p.blockCount, "DataCopy");
    for (uint64_t i = 0; i < p.blockCount; i++)
        std::memmove(to.aligned(i * (length + p.dstStride * emulated::kBlock), length, "DataCopy"),
                     from.aligned(i * (length + p.srcStride * emulated::kBlock), length, "DataCopy"), length);
}
template <class T>
void DataCopy(const LocalTensor<T>& to, const GlobalTensor<T>& from, uint32_t count) {
    uint64_t bytes = uint64_t(count) * sizeof(T);
    emulated::whole_blocks(bytes, "DataCopy");
    emulated::global_alignment(from, "DataCopy");
    char* place = to.aligned(0, bytes, "DataCopy");
    std::memcpy(place, from.at(0, bytes, 'r', "DataCopy"), bytes);
}
template <class T>
void DataCopy(const GlobalTensor<T>& to, const LocalTensor<T>& from, uint32_t count) {
    uint64_t bytes = uint64_t(count) * sizeof(T);
    emulated::whole_blocks(bytes, "DataCopy");
    emulated::global_alignment(to, "DataCopy");
    emulated::store(to, 0, from.aligned(0, bytes, "DataCopy"), bytes, "DataCopy");
}
template <class T>
void DataCopy(const LocalTensor<T>& to, const LocalTensor<T>& from, uint32_t count) {
    uint64_t bytes = uint64_t(count) * sizeof(T);
    emulated::whole_blocks(bytes, "DataCopy");
    char* place = to.aligned(0, bytes, "DataCopy");
    std::memmove(place, from.aligned(0, bytes, "DataCopy"), bytes);
}

template <class T, class U>
void DataCopyPad(const LocalTensor<T>& to, const GlobalTensor<T>& from, const DataCopyExtParams& p,
                 const DataCopyPadExtParams<U>& pad) {
    uint64_t left = pad.isPad ? pad.leftPadding * sizeof(T) : 0, right = pad.isPad ? pad.rightPadding * sizeof(T) : 0;
    if (left > emulated::kBlock || right > emulated::kBlock)
        emulated::fault("DataCopyPad: ", left > right ? left : right, " bytes of padding, at most ", emulated::kBlock);
    uint64_t row = emulated::blocks_up(left + p.blockLen + right);
    T value = static_cast<T>(pad.paddingValue);
    for (uint64_t i = 0; i < p.blockCount; i++) {
        char* place = to.aligned(i * (row + uint64_t(p.dstStride) * emulated::kBlock), row, "DataCopyPad");
        const char* source = from.at(i * (uint64_t(p.blockLen) + p.srcStride), p.blockLen, 'r', "DataCopyPad");
        std::memcpy(place + left, source, p.blockLen);
        for (uint64_t at = 0; at < left; at += sizeof(T)) std::memcpy(place + at, &value, sizeof(T));
        for (uint64_t at = 0; at < right; at += sizeof(T))
            std::memcpy(place + left + p.blockLen + at, &value, sizeof(T));
    }
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& to, const LocalTensor<T>& from, const DataCopyExtParams& p) {
    uint64_t row = emulated::blocks_up(p.blockLen) + uint64_t(p.srcStride) * emulated::kBlock;
    for (uint64_t i = 0; i < p.blockCount; i++)
        emulated::store(to, i * (uint64_t(p.blockLen) + p.dstStride), from.aligned(i * row, p.blockLen, "DataCopyPad"),
                        p.blockLen, "DataCopyPad");
}
template <class T>
void DataCopyPad(const LocalTensor<T>& to, const GlobalTensor<T>& from, const DataCopyParams& p,
                 const DataCopyPadParams& pad) {
    DataCopyPadExtParams<T> wide{pad.isPad, pad.leftPadding, pad.rightPadding, T(0)};
    std::memcpy(&wide.paddingValue, &pad.paddingValue, sizeof(T) < 8 ? sizeof(T) : 8);
    DataCopyPad(to, from, DataCopyExtParams{p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0}, wide);
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& to, const LocalTensor<T>& from, const DataCopyParams& p) {
    DataCopyPad(to, from, DataCopyExtParams{p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0});
}

}  // namespace AscendC
