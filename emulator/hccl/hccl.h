// The part of Ascend's collective communication interface that the emulator implements, declared here from its names,
// types and numbers; and how it is done.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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

using Instant = std::chrono::steady_clock::time_point;

// ---- types.cpp ----

size_t size_of(HcclDataType type);  // 0 for none
const char* name_of(HcclDataType type);
const char* name_of(HcclReduceOp op);
bool can_reduce(HcclDataType type, HcclReduceOp op);
// Combines n numbers of each part, in their order, into `to`, which may be one of them.
void reduce(HcclDataType type, HcclReduceOp op, const std::vector<const char*>& parts, char* to, size_t n);

// ---- comm.cpp ----

// What ends a collective: a code for HcclGetCommAsyncError and a text for the stream.
struct Broken {
    HcclResult code;
    std::string text;
};

struct Piece {  // some bytes that go to a rank, or come from it
    uint32_t rank;
    char* at;
    size_t size;
};

struct Comm {
    uint32_t rank = 0, size = 0;
    int device = 0;
    std::string name;
    std::vector<int> sockets;  // by rank; -1 for this one
    std::chrono::seconds exec_timeout{1836};
    std::mutex turn;  // one collective after the other
    std::atomic<int> error{0}, queued{0};

    ~Comm();
    // Tells the ranks what this one does (as text), and waits until they say the same. Throws Broken if one does not.
    void agree(const std::vector<uint32_t>& ranks, const std::string& call, Instant deadline);
    // Moves bytes in both directions at once, whatever the order in which the others do.
    void move(const std::vector<Piece>& sends, const std::vector<Piece>& receives, Instant deadline);
    std::vector<uint32_t> others() const;
    void hang_up();
};

Comm* comm_of(HcclComm handle, const char* function);  // null, and a message, if it is none
// Makes the connections of one rank: all ranks of the name come together.
HcclResult connect_ranks(const char* function, const std::string& name, uint32_t size, uint32_t rank, Comm** made);
HcclResult connect_within_process(uint32_t size, const int32_t* devices, HcclComm* made);
std::string fresh_name();
HcclResult forget(Comm* comm);  // closes and deletes it
HcclResult keep(Comm* comm, HcclComm* handle);

}  // namespace emu
