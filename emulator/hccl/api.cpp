// Communicators: made, asked, destroyed.
#include <cstring>

#include "hccl.h"

using namespace emu;

namespace {

HcclResult refused(HcclResult code, const std::string& why) { return static_cast<HcclResult>(failed(code, why)); }

HcclResult join(const char* function, const std::string& name, uint32_t nRanks, uint32_t rank, HcclComm* comm) {
    if (int code = injected(function)) return static_cast<HcclResult>(code);
    if (!comm) return refused(HCCL_E_PTR, text(function, ": nowhere to put the communicator"));
    if (!nRanks || rank >= nRanks)
        return refused(HCCL_E_PARA, text(function, ": rank ", rank, " of ", nRanks, " ranks"));
    if (current_device() < 0)
        return refused(HCCL_E_RUNTIME, text(function, ": this thread has no device (aclrtSetDevice)"));
    Comm* made = nullptr;
    if (HcclResult e = connect_ranks(function, name, nRanks, rank, &made)) return e;
    return keep(made, comm);
}

HcclResult check_config(const char* function, const HcclCommConfig* config) {
    if (!config) return refused(HCCL_E_PTR, text(function, ": the configuration is null"));
    if (config->magic != 0xf0f0f0f0 || config->size < sizeof(size_t) + 16)
        return refused(HCCL_E_PARA, text(function, ": the configuration was not initialised"));
    return HCCL_SUCCESS;
}

}  // namespace

EMU_API HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
    if (int code = injected("HcclGetRootInfo")) return static_cast<HcclResult>(code);
    if (!rootInfo) return refused(HCCL_E_PTR, "HcclGetRootInfo: nowhere to put the root info");
    *rootInfo = {};
    std::string name = fresh_name("hccl");
    std::memcpy(rootInfo->internal, name.c_str(), name.size() + 1);
    return HCCL_SUCCESS;
}

EMU_API HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank, HcclComm* comm) {
    if (!rootInfo) return refused(HCCL_E_PTR, "HcclCommInitRootInfo: the root info is null");
    std::string name(rootInfo->internal, strnlen(rootInfo->internal, 64));
    if (name.rfind("hccl-", 0) != 0)
        return refused(HCCL_E_PARA, "HcclCommInitRootInfo: the root info is not from HcclGetRootInfo");
    return join("HcclCommInitRootInfo", name, nRanks, rank, comm);
}

EMU_API HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                              const HcclCommConfig* config, HcclComm* comm) {
    if (HcclResult e = check_config("HcclCommInitRootInfoConfig", config)) return e;
    return HcclCommInitRootInfo(nRanks, rootInfo, rank, comm);
}

EMU_API HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds, uint64_t subCommId,
                                           uint32_t subCommRankId, HcclCommConfig* config, HcclComm* subComm) {
    const char* function = "HcclCreateSubCommConfig";
    Comm* whole = comm ? comm_of(*comm, function) : nullptr;
    if (!whole) return HCCL_E_PTR;
    if (!rankIds) return HCCL_SUCCESS;  // a rank that does not take part
    if (HcclResult e = check_config(function, config)) return e;
    if (subCommRankId >= rankNum || rankIds[subCommRankId] != whole->rank)
        return refused(HCCL_E_PARA, text(function, ": rankIds[", subCommRankId, "] is not this rank, ", whole->rank));
    return join(function, text(whole->name, "-", subCommId), rankNum, subCommRankId, subComm);
}

EMU_API HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
    if (int code = injected("HcclCommInitAll")) return static_cast<HcclResult>(code);
    if (!ndev || !devices || !comms) return refused(HCCL_E_PTR, "HcclCommInitAll: no devices, or no room");
    for (uint32_t i = 0; i < ndev; i++) {
        if (devices[i] < 0 || devices[i] >= settings().devices)
            return refused(HCCL_E_PARA,
                           text("HcclCommInitAll: device ", devices[i], " of ", settings().devices, " devices"));
        for (uint32_t j = 0; j < i; j++)
            if (devices[i] == devices[j])
                return refused(HCCL_E_PARA, text("HcclCommInitAll: device ", devices[i], " is named twice"));
    }
    return connect_within_process(ndev, devices, comms);
}

EMU_API HcclResult HcclCommDestroy(HcclComm comm) {
    if (int code = injected("HcclCommDestroy")) return static_cast<HcclResult>(code);
    Comm* c = comm_of(comm, "HcclCommDestroy");
    return c ? forget(c) : HCCL_E_PTR;
}

EMU_API HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
    Comm* c = comm_of(comm, "HcclGetRankSize");
    if (!c || !rankSize) return HCCL_E_PTR;
    *rankSize = c->size;
    return HCCL_SUCCESS;
}
EMU_API HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
    Comm* c = comm_of(comm, "HcclGetRankId");
    if (!c || !rank) return HCCL_E_PTR;
    *rank = c->rank;
    return HCCL_SUCCESS;
}
EMU_API HcclResult HcclGetCommName(HcclComm comm, char* commName) {
    Comm* c = comm_of(comm, "HcclGetCommName");
    if (!c || !commName) return HCCL_E_PTR;
    std::memcpy(commName, c->name.c_str(), std::min<size_t>(c->name.size(), 127) + 1);
    return HCCL_SUCCESS;
}
EMU_API HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
    Comm* c = comm_of(comm, "HcclGetCommAsyncError");
    if (!c || !asyncError) return HCCL_E_PTR;
    *asyncError = static_cast<HcclResult>(c->error.load());
    return HCCL_SUCCESS;
}
EMU_API const char* HcclGetErrorString(HcclResult code) {
    static const char* const texts[] = {"no error",
                                        "wrong parameter",
                                        "null pointer",
                                        "memory",
                                        "internal error",
                                        "not supported",
                                        "not found",
                                        "not available",
                                        "system call",
                                        "timeout",
                                        "file could not be opened",
                                        "TCP connection",
                                        "RoCE connection",
                                        "TCP transfer",
                                        "RoCE transfer",
                                        "runtime",
                                        "driver",
                                        "profiling",
                                        "CCE",
                                        "network",
                                        "try again",
                                        "error of another rank",
                                        "suspending"};
    return code >= 0 && static_cast<size_t>(code) < sizeof texts / sizeof *texts ? texts[code] : "unknown error";
}
