// Communicators: kept, found, and connected over ../ranks.
#include <set>

#include "hccl.h"

namespace emu {
namespace {

struct Comms {
    std::mutex mutex;
    std::set<Comm*> live;
};
Comms& comms() {
    static Comms* c = new Comms;
    return *c;
}

}  // namespace

HcclResult code_of(Trouble why) {
    switch (why) {
        case Trouble::timeout:
            return HCCL_E_TIMEOUT;
        case Trouble::gone:
            return HCCL_E_REMOTE;
        case Trouble::garbled:
            return HCCL_E_INTERNAL;
        default:
            return HCCL_E_PARA;
    }
}

Comm* comm_of(HcclComm handle, const char* function) {
    Comms& c = comms();
    std::lock_guard<std::mutex> lock(c.mutex);
    auto found = c.live.find(static_cast<Comm*>(handle));
    if (found != c.live.end()) return *found;
    misused(HCCL_E_PTR, text(function, ": ", handle, " is no communicator, or was destroyed"));
    return nullptr;
}

HcclResult keep(Comm* comm, HcclComm* handle) {
    Comms& c = comms();
    std::lock_guard<std::mutex> lock(c.mutex);
    c.live.insert(comm);
    *handle = comm;
    return HCCL_SUCCESS;
}

HcclResult forget(Comm* comm) {
    {
        Comms& c = comms();
        std::lock_guard<std::mutex> lock(c.mutex);
        c.live.erase(comm);
    }
    if (comm->queued) {
        misused(0, text("HcclCommDestroy: ", comm->queued.load(), " operations of the communicator are not done"));
        return HCCL_SUCCESS;  // they still use it: the few bytes stay
    }
    delete comm;
    return HCCL_SUCCESS;
}

HcclResult connect_ranks(const char* function, const std::string& name, uint32_t size, uint32_t rank, Comm** made) {
    auto comm = std::make_unique<Comm>();
    comm->rank = rank;
    comm->size = size;
    comm->device = current_device();
    comm->name = name;
    try {
        comm->connect("root info", {"HCCL_CONNECT_TIMEOUT", 120});
    } catch (const Broken& b) {
        return static_cast<HcclResult>(failed(code_of(b.why), text(function, ": ", b.text)));
    }
    *made = comm.release();
    return HCCL_SUCCESS;
}

HcclResult connect_within_process(uint32_t size, const int32_t* devices, HcclComm* made) {
    std::string name = fresh_name("hccl");
    std::vector<Links*> all;
    for (uint32_t rank = 0; rank < size; rank++) {
        Comm* comm = new Comm;
        comm->rank = rank;
        comm->size = size;
        comm->device = devices[rank];
        comm->name = name;
        all.push_back(comm);
    }
    if (!connect_within_process(all)) {
        for (Links* each : all) delete static_cast<Comm*>(each);
        return static_cast<HcclResult>(failed(HCCL_E_SYSCALL, "HcclCommInitAll: no more sockets"));
    }
    for (uint32_t rank = 0; rank < size; rank++) keep(static_cast<Comm*>(all[rank]), &made[rank]);
    return HCCL_SUCCESS;
}

}  // namespace emu
