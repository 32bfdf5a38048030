// The part of Ascend's collective communication interface that the emulator implements, declared here from its names,
// types and numbers; and how it is done.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "../ranks/links.h"
#include "../runtime/emulator.h"

using HcclComm = void*;
enum HcclResult : int {
    HCCL_SUCCESS = 0,
    HCCL_E_PARA = 1,
    HCCL_E_PTR = 2,
    HCCL_E_MEMORY = 3,
    HCCL_E_INTERNAL = 4,
    HCCL_E_NOT_SUPPORT = 5,
    HCCL_E_SYSCALL = 8,
    HCCL_E_TIMEOUT = 9,
    HCCL_E_TCP_CONNECT = 11,
    HCCL_E_RUNTIME = 15,
    HCCL_E_REMOTE = 21,
};
enum HcclReduceOp : int { HCCL_REDUCE_SUM = 0, HCCL_REDUCE_PROD = 1, HCCL_REDUCE_MAX = 2, HCCL_REDUCE_MIN = 3 };
enum HcclDataType : int {
    HCCL_DATA_TYPE_INT8 = 0,
    HCCL_DATA_TYPE_INT16 = 1,
    HCCL_DATA_TYPE_INT32 = 2,
    HCCL_DATA_TYPE_FP16 = 3,
    HCCL_DATA_TYPE_FP32 = 4,
    HCCL_DATA_TYPE_INT64 = 5,
    HCCL_DATA_TYPE_UINT64 = 6,
    HCCL_DATA_TYPE_UINT8 = 7,
    HCCL_DATA_TYPE_UINT16 = 8,
    HCCL_DATA_TYPE_UINT32 = 9,
    HCCL_DATA_TYPE_FP64 = 10,
    HCCL_DATA_TYPE_BFP16 = 11,
    HCCL_DATA_TYPE_INT128 = 12,
};
enum HcclSendRecvType : int { HCCL_SEND = 0, HCCL_RECV = 1 };
struct HcclRootInfo {
    char internal[4108];
};
struct HcclSendRecvItem {
    HcclSendRecvType sendRecvType;
    void* buf;
    uint64_t count;
    HcclDataType dataType;
    uint32_t remoteRank;
};
struct HcclCommConfig {
    size_t size;
    uint32_t magic, version;
    uint64_t reserved;
    uint32_t hcclBufferSize, hcclDeterministic;
    char hcclCommName[128];
};

namespace emu {

// ---- types.cpp ----

size_t size_of(HcclDataType type);  // 0 for none
const char* name_of(HcclDataType type);
const char* name_of(HcclReduceOp op);
bool can_reduce(HcclDataType type, HcclReduceOp op);
Combine combine(HcclDataType type, HcclReduceOp op);

// ---- comm.cpp ----

struct Comm : Links {
    int device = 0;
    std::atomic<int> error{0}, queued{0};

    Comm() : Links({"HCCL_EXEC_TIMEOUT", 1836}) {}
};
HcclResult code_of(Trouble why);

Comm* comm_of(HcclComm handle, const char* function);  // null, and a message, if it is none
// Makes the connections of one rank: all ranks of the name come together.
HcclResult connect_ranks(const char* function, const std::string& name, uint32_t size, uint32_t rank, Comm** made);
HcclResult connect_within_process(uint32_t size, const int32_t* devices, HcclComm* made);
HcclResult forget(Comm* comm);  // closes and deletes it
HcclResult keep(Comm* comm, HcclComm* handle);

}  // namespace emu
