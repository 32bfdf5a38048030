// The types of collectives, and how numbers are combined.
#include <algorithm>

#include "../ascendc/emulated/float16.h"
#include "hccl.h"

namespace emu {

size_t size_of(HcclDataType type) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8:
        case HCCL_DATA_TYPE_UINT8:
            return 1;
        case HCCL_DATA_TYPE_INT16:
        case HCCL_DATA_TYPE_UINT16:
        case HCCL_DATA_TYPE_FP16:
        case HCCL_DATA_TYPE_BFP16:
            return 2;
        case HCCL_DATA_TYPE_INT32:
        case HCCL_DATA_TYPE_UINT32:
        case HCCL_DATA_TYPE_FP32:
            return 4;
        case HCCL_DATA_TYPE_INT64:
        case HCCL_DATA_TYPE_UINT64:
        case HCCL_DATA_TYPE_FP64:
            return 8;
        case HCCL_DATA_TYPE_INT128:
            return 16;
    }
    return 0;
}

const char* name_of(HcclDataType type) {
    static const char* const names[] = {"int8",  "int16",  "int32",  "fp16", "fp32",  "int64", "uint64",
                                        "uint8", "uint16", "uint32", "fp64", "bfp16", "int128"};
    return type >= 0 && type <= HCCL_DATA_TYPE_INT128 ? names[type] : "no type";
}

const char* name_of(HcclReduceOp op) {
    static const char* const names[] = {"sum", "prod", "max", "min"};
    return op >= 0 && op <= HCCL_REDUCE_MIN ? names[op] : "no operation";
}

bool can_reduce(HcclDataType type, HcclReduceOp op) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8:
        case HCCL_DATA_TYPE_INT16:
        case HCCL_DATA_TYPE_INT32:
        case HCCL_DATA_TYPE_INT64:
        case HCCL_DATA_TYPE_FP16:
        case HCCL_DATA_TYPE_FP32:
            return true;
        case HCCL_DATA_TYPE_BFP16:
            return op != HCCL_REDUCE_PROD;
        default:
            return false;
    }
}

namespace {

template <class T>
T combined(HcclReduceOp op, T a, T b) {
    switch (op) {
        case HCCL_REDUCE_PROD:
            return a * b;
        case HCCL_REDUCE_MAX:
            return a > b || a != a ? a : b;
        case HCCL_REDUCE_MIN:
            return a < b || a != a ? a : b;
        default:
            return a + b;
    }
}

// Stored numbers are read as T, and integers combined without sign, so that they wrap.
template <class T, class Stored, class Read, class Write>
void reduce_as(HcclReduceOp op, const std::vector<const char*>& parts, char* to, size_t n, Read read, Write write) {
    for (size_t i = 0; i < n; i++) {
        Stored stored;
        auto at = [&](size_t part) {
            std::memcpy(&stored, parts[part] + i * sizeof(Stored), sizeof(Stored));
            return read(stored);
        };
        T total = at(0);
        for (size_t part = 1; part < parts.size(); part++) total = combined(op, total, at(part));
        stored = write(total);
        std::memcpy(to + i * sizeof(Stored), &stored, sizeof(Stored));
    }
}

template <class Stored>
void reduce_integers(HcclReduceOp op, const std::vector<const char*>& parts, char* to, size_t n) {
    auto write = [](auto total) { return static_cast<Stored>(total); };
    if (op == HCCL_REDUCE_MAX || op == HCCL_REDUCE_MIN)
        reduce_as<int64_t, Stored>(op, parts, to, n, [](Stored s) { return static_cast<int64_t>(s); }, write);
    else
        reduce_as<uint64_t, Stored>(op, parts, to, n, [](Stored s) { return static_cast<uint64_t>(s); }, write);
}

}  // namespace

void reduce(HcclDataType type, HcclReduceOp op, const std::vector<const char*>& parts, char* to, size_t n) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8:
            return reduce_integers<int8_t>(op, parts, to, n);
        case HCCL_DATA_TYPE_INT16:
            return reduce_integers<int16_t>(op, parts, to, n);
        case HCCL_DATA_TYPE_INT32:
            return reduce_integers<int32_t>(op, parts, to, n);
        case HCCL_DATA_TYPE_INT64:
            return reduce_integers<int64_t>(op, parts, to, n);
        case HCCL_DATA_TYPE_FP16:  // sums of sixteen-bit floats are rounded once
            return reduce_as<float, uint16_t>(op, parts, to, n, emulated::half_to_float, emulated::float_to_half);
        case HCCL_DATA_TYPE_BFP16:
            return reduce_as<float, uint16_t>(op, parts, to, n, emulated::bf16_to_float, emulated::float_to_bf16);
        default:
            return reduce_as<float, float>(op, parts, to, n, [](float f) { return f; }, [](float f) { return f; });
    }
}

}  // namespace emu
