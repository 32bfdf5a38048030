// The types of collectives, and which can be combined.
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

Number number_of(HcclDataType type) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8:
            return Number::i8;
        case HCCL_DATA_TYPE_INT16:
            return Number::i16;
        case HCCL_DATA_TYPE_INT32:
            return Number::i32;
        case HCCL_DATA_TYPE_INT64:
            return Number::i64;
        case HCCL_DATA_TYPE_FP16:
            return Number::f16;
        case HCCL_DATA_TYPE_BFP16:
            return Number::bf16;
        default:
            return Number::f32;
    }
}

}  // namespace

Combine combine(HcclDataType type, HcclReduceOp op) {
    static const Reduction reductions[] = {Reduction::sum, Reduction::product, Reduction::most, Reduction::least};
    return combine_of(number_of(type), reductions[op]);
}

}  // namespace emu
