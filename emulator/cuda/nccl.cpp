// NCCL: collectives between the ranks of a communicator, by their C names, over ../ranks. As NCCL does it, a call
// enqueues, work that fails keeps its stream waiting until the communicator is aborted, and tells its error to who asks
// for it.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "../ranks/links.h"
#include "services.h"

namespace emu {
namespace {

enum : int {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
};
struct ncclUniqueId {
    char internal[128];
};

struct Type {
    const char* name;
    size_t size;
    Number number;
};
const Type kTypes[] = {  // by ncclDataType_t
    {"int8", 1, Number::i8},     {"uint8", 1, Number::u8},     {"int32", 4, Number::i32},   {"uint32", 4, Number::u32},
    {"int64", 8, Number::i64},   {"uint64", 8, Number::u64},   {"float16", 2, Number::f16}, {"float32", 4, Number::f32},
    {"float64", 8, Number::f64}, {"bfloat16", 2, Number::bf16}};
const char* const kOps[] = {"sum", "prod", "max", "min", "avg"};  // by ncclRedOp_t
const Reduction kReductions[] = {Reduction::sum, Reduction::product, Reduction::most, Reduction::least,
                                 Reduction::mean};

thread_local std::string t_last_error;

int refused(int code, const std::string& why) {
    t_last_error = why;
    return code;
}

struct Comm : Links {
    int device = 0;
    CUcontext context = nullptr;
    std::atomic<int> error{0}, queued{0};
    std::mutex mutex;
    std::condition_variable changed;
    bool aborted = false;
    std::string what;  // went wrong

    Comm() : Links({"an hour", 86400}) {}
    void abort() {
        interrupt();
        std::lock_guard<std::mutex> lock(mutex);
        aborted = true;
        changed.notify_all();
    }
    // The stream's place, from where nothing goes on until the communicator is aborted.
    void fail(const Broken& broken) {
        std::unique_lock<std::mutex> lock(mutex);
        if (!aborted && !error) {
            what = broken.text;
            std::fprintf(stderr, "emulated NCCL: %s\n", what.c_str());
        }
        if (!error) error = broken.why == Trouble::gone ? ncclRemoteError : ncclInvalidUsage;
        changed.wait(lock, [&] { return aborted; });
    }
};

struct Comms {
    std::mutex mutex;
    std::map<void*, std::shared_ptr<Comm>> live;
};
Comms& comms() {
    static auto* c = new Comms;
    return *c;
}
std::shared_ptr<Comm> find(void* handle) {
    std::lock_guard<std::mutex> lock(comms().mutex);
    auto at = comms().live.find(handle);
    return at == comms().live.end() ? nullptr : at->second;
}
std::shared_ptr<Comm> forget(void* handle) {
    std::lock_guard<std::mutex> lock(comms().mutex);
    auto at = comms().live.find(handle);
    if (at == comms().live.end()) return nullptr;
    auto comm = at->second;
    comms().live.erase(at);
    return comm;
}
void* keep(std::shared_ptr<Comm> comm) {
    std::lock_guard<std::mutex> lock(comms().mutex);
    void* handle = comm.get();
    comms().live[handle] = std::move(comm);
    return handle;
}

struct Job {
    std::shared_ptr<Comm> comm;
    std::string call;  // what all ranks have to call; empty for transfers, whose pairs agree
    std::function<void(Links&, Instant)> body;
};

int enqueue(const char* function, const std::shared_ptr<Comm>& comm, CUstream stream, const std::string& call,
            std::function<void(Links&, Instant)> body) {
    auto run = [](void* data) {
        auto& job = *static_cast<Job*>(data);
        Comm& comm = *job.comm;
        std::lock_guard<std::mutex> turn(comm.turn);
        try {
            if (comm.error) throw Broken{Trouble::wrong, comm.what};
            Instant deadline = std::chrono::steady_clock::now() + comm.patience.time;
            if (!job.call.empty()) comm.agree(comm.others(), job.call, deadline);
            job.body(comm, deadline);
        } catch (const Broken& broken) {
            comm.interrupt();  // so that the others find out
            comm.fail(broken);
        }
    };
    comm->queued++;
    auto drop = [](void* data) {
        static_cast<Job*>(data)->comm->queued--;
        delete static_cast<Job*>(data);
    };
    int code = emulated_enqueue(stream, function, run, new Job{comm, call, std::move(body)}, drop);
    return code ? refused(ncclUnhandledCudaError, std::string(function) + ": the stream refused the work")
                : ncclSuccess;
}

// ---- groups: what is called between ncclGroupStart and ncclGroupEnd begins together ----

struct Item {
    std::shared_ptr<Comm> comm;
    CUstream stream;
    Transfer transfer;
};
thread_local int t_depth = 0, t_group_error = 0;
thread_local std::vector<Item> t_items;
thread_local std::vector<std::function<int()>> t_collectives;

int begin_transfers(const std::vector<Item>& items) {
    std::vector<Transfer> away, here, landing;
    const Item& first = items.front();
    for (const Item& item : items) {
        if (item.transfer.rank != first.comm->rank)
            away.push_back(item.transfer);
        else
            (item.transfer.sends ? here : landing).push_back(item.transfer);
    }
    if (here.size() != landing.size())
        return refused(ncclInvalidUsage, "ncclGroupEnd: a rank sends to itself what it does not receive");
    for (size_t i = 0; i < here.size(); i++)
        if (here[i].count * here[i].item != landing[i].count * landing[i].item)
            return refused(ncclInvalidUsage, "ncclGroupEnd: a rank sends itself more or less than it receives");
    auto pass = transfers(*first.comm, away);
    return enqueue("ncclGroupEnd", first.comm, first.stream, "", [=](Links& links, Instant deadline) {
        for (size_t i = 0; i < here.size(); i++) std::memmove(landing[i].at, here[i].at, here[i].count * here[i].item);
        pass(links, deadline);
    });
}

int end_group() {
    auto items = std::move(t_items);
    auto collectives = std::move(t_collectives);
    t_items.clear();
    t_collectives.clear();
    int code = t_group_error;
    t_group_error = 0;
    for (auto& start : collectives)
        if (!code) code = start();
    while (!items.empty() && !code) {  // those of one communicator on one stream together
        std::vector<Item> together, rest;
        for (const Item& item : items)
            (item.comm == items.front().comm && item.stream == items.front().stream ? together : rest).push_back(item);
        code = begin_transfers(together);
        items = std::move(rest);
    }
    return code;
}

int grouped(int code) {
    if (t_depth && code && !t_group_error) t_group_error = code;
    return code;
}

// ---- what is wrong with a call; 0 if nothing is ----

struct Call {
    const char* function;
    std::shared_ptr<Comm> comm;

    Call(const char* function, void* handle) : function(function), comm(find(handle)) {}
    std::string named(const std::string& why) const { return std::string(function) + ": " + why; }
    int check(int type, size_t count, std::initializer_list<const void*> buffers, int op = 0, int root = 0) const {
        if (int code = emulated_injected(function)) return refused(code, named("a fault that was asked for"));
        if (!comm) return refused(ncclInvalidArgument, named("this is no communicator, or it was destroyed"));
        if (comm->error) return refused(ncclRemoteError, named("an earlier operation failed: " + comm->what));
        CUcontext context = nullptr;
        if (cuCtxGetCurrent(&context) || context != comm->context)
            return refused(ncclInvalidUsage, named("this thread is not on the communicator's device"));
        if (type < 0 || type >= static_cast<int>(std::size(kTypes)))
            return refused(ncclInvalidArgument, named("invalid type " + std::to_string(type)));
        if (op < 0 || op >= static_cast<int>(std::size(kOps)))
            return refused(ncclInvalidArgument, named("invalid operation " + std::to_string(op)));
        if (root < 0 || root >= static_cast<int>(comm->size))
            return refused(ncclInvalidArgument,
                           named("rank " + std::to_string(root) + " of " + std::to_string(comm->size) + " ranks"));
        for (const void* buffer : buffers)
            if (count && !buffer) return refused(ncclInvalidArgument, named("a buffer is null"));
        return ncclSuccess;
    }
    std::string text(size_t count, int type, const std::string& more = "") const {
        return std::string(function) + "(" + std::to_string(count) + " " + kTypes[type].name + more + ")";
    }
    // Now, or at the end of the group.
    int start(CUstream stream, const std::string& call, std::function<void(Links&, Instant)> body) const {
        const char* name = function;
        auto begin = [=, comm = comm] { return enqueue(name, comm, stream, call, body); };
        if (!t_depth) return begin();
        t_collectives.push_back(begin);
        return ncclSuccess;
    }
};

char* bytes(const void* p) { return static_cast<char*>(const_cast<void*>(p)); }
Combine combining(int type, int op) { return combine_of(kTypes[type].number, kReductions[op]); }

int pass(const char* function, bool sends, const void* at, size_t count, int type, int peer, void* handle,
         CUstream stream) {
    Call call(function, handle);
    if (int code = call.check(type, count, {at}, 0, peer)) return grouped(code);
    Item item = {call.comm,
                 stream,
                 {sends, static_cast<uint32_t>(peer), bytes(at), count, kTypes[type].size, kTypes[type].name}};
    if (!t_depth) return begin_transfers({item});
    t_items.push_back(item);
    return ncclSuccess;
}

std::shared_ptr<Comm> made_here(uint32_t rank, uint32_t size, const std::string& name) {
    auto comm = std::make_shared<Comm>();
    comm->rank = rank;
    comm->size = size;
    comm->name = name;
    cuCtxGetCurrent(&comm->context);
    cuCtxGetDevice(&comm->device);
    return comm;
}

}  // namespace
}  // namespace emu

using namespace emu;

EMULATED_API int ncclGetVersion(int* version) {
    if (!version) return ncclInvalidArgument;
    *version = 22903;
    return ncclSuccess;
}
EMULATED_API const char* ncclGetErrorString(int code) {
    static const char* const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};
    return code >= 0 && code < static_cast<int>(std::size(texts)) ? texts[code] : "unknown result code";
}
EMULATED_API const char* ncclGetLastError(void*) { return t_last_error.c_str(); }

EMULATED_API int ncclGetUniqueId(ncclUniqueId* id) {
    if (int code = emulated_injected("ncclGetUniqueId")) return code;
    if (!id) return refused(ncclInvalidArgument, "ncclGetUniqueId: nowhere to put the id");
    *id = {};
    std::string name = fresh_name("nccl");
    std::memcpy(id->internal, name.c_str(), name.size() + 1);
    return ncclSuccess;
}
EMULATED_API int ncclCommInitRank(void** handle, int size, ncclUniqueId id, int rank) {
    const char* function = "ncclCommInitRank";
    if (int code = emulated_injected(function)) return code;
    std::string name(id.internal, strnlen(id.internal, sizeof id.internal));
    if (!handle || size < 1 || rank < 0 || rank >= size)
        return refused(ncclInvalidArgument,
                       "ncclCommInitRank: rank " + std::to_string(rank) + " of " + std::to_string(size) + " ranks");
    if (name.rfind("nccl-", 0) != 0)
        return refused(ncclInvalidArgument, "ncclCommInitRank: the id is not of ncclGetUniqueId");
    auto comm = made_here(static_cast<uint32_t>(rank), static_cast<uint32_t>(size), name);
    if (!comm->context) return refused(ncclUnhandledCudaError, "ncclCommInitRank: this thread has no context");
    try {
        comm->connect("id", {"two minutes", 120});
    } catch (const Broken& broken) {
        return refused(broken.why == Trouble::timeout ? ncclSystemError : ncclInvalidUsage, broken.text);
    }
    *handle = keep(comm);
    return ncclSuccess;
}
EMULATED_API int ncclCommDestroy(void* handle) {
    if (int code = emulated_injected("ncclCommDestroy")) return code;
    auto comm = forget(handle);
    if (!comm) return refused(ncclInvalidArgument, "ncclCommDestroy: this is no communicator, or it was destroyed");
    return ncclSuccess;  // it goes with the last of its work
}
EMULATED_API int ncclCommAbort(void* handle) {
    if (int code = emulated_injected("ncclCommAbort")) return code;
    auto comm = forget(handle);
    if (!comm) return refused(ncclInvalidArgument, "ncclCommAbort: this is no communicator, or it was destroyed");
    comm->abort();
    return ncclSuccess;
}
EMULATED_API int ncclCommGetAsyncError(void* handle, int* error) {
    auto comm = find(handle);
    if (!comm || !error) return refused(ncclInvalidArgument, "ncclCommGetAsyncError: this is no communicator");
    *error = comm->error;
    if (*error) refused(*error, comm->what);
    return ncclSuccess;
}
EMULATED_API int ncclCommCount(void* handle, int* count) {
    auto comm = find(handle);
    if (!comm || !count) return ncclInvalidArgument;
    *count = static_cast<int>(comm->size);
    return ncclSuccess;
}
EMULATED_API int ncclCommUserRank(void* handle, int* rank) {
    auto comm = find(handle);
    if (!comm || !rank) return ncclInvalidArgument;
    *rank = static_cast<int>(comm->rank);
    return ncclSuccess;
}
EMULATED_API int ncclCommCuDevice(void* handle, int* device) {
    auto comm = find(handle);
    if (!comm || !device) return ncclInvalidArgument;
    *device = comm->device;
    return ncclSuccess;
}

EMULATED_API int ncclGroupStart() {
    t_depth++;
    return ncclSuccess;
}
EMULATED_API int ncclGroupEnd() {
    if (int code = emulated_injected("ncclGroupEnd")) return code;
    if (!t_depth) return refused(ncclInvalidUsage, "ncclGroupEnd: there is no ncclGroupStart before it");
    return --t_depth ? ncclSuccess : end_group();
}

EMULATED_API int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* handle,
                               CUstream stream) {
    Call call("ncclAllReduce", handle);
    if (int code = call.check(type, count, {from, to}, op)) return grouped(code);
    auto combine = combining(type, op);
    return call.start(stream, call.text(count, type, std::string(", ") + kOps[op]),
                      [=](Links& links, Instant deadline) {
                          all_reduce(links, bytes(from), bytes(to), count, kTypes[type].size, combine, deadline);
                      });
}
EMULATED_API int ncclReduce(const void* from, void* to, size_t count, int type, int op, int root, void* handle,
                            CUstream stream) {
    Call call("ncclReduce", handle);
    if (int code = call.check(type, count, {from}, op, root)) return grouped(code);
    auto combine = combining(type, op);
    std::string said = call.text(count, type, std::string(", ") + kOps[op] + " to " + std::to_string(root));
    return call.start(stream, said, [=](Links& links, Instant deadline) {
        reduce(links, bytes(from), bytes(to), count, kTypes[type].size, static_cast<uint32_t>(root), combine, deadline);
    });
}
EMULATED_API int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* handle,
                               CUstream stream) {
    Call call("ncclBroadcast", handle);
    if (int code = call.check(type, count, {to}, 0, root)) return grouped(code);
    size_t n = count * kTypes[type].size;
    return call.start(stream, call.text(count, type, " from " + std::to_string(root)),
                      [=](Links& links, Instant deadline) {
                          if (static_cast<int>(links.rank) == root && from != to && n) std::memmove(to, from, n);
                          broadcast(links, bytes(to), n, static_cast<uint32_t>(root), deadline);
                      });
}
EMULATED_API int ncclAllGather(const void* from, void* to, size_t count, int type, void* handle, CUstream stream) {
    Call call("ncclAllGather", handle);
    if (int code = call.check(type, count, {from, to})) return grouped(code);
    Layout layout(count, call.comm->size);
    return call.start(stream, call.text(count, type), [=](Links& links, Instant deadline) {
        gather(links, bytes(from), bytes(to), layout, kTypes[type].size, deadline);
    });
}
EMULATED_API int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, void* handle,
                                   CUstream stream) {
    Call call("ncclReduceScatter", handle);
    if (int code = call.check(type, count, {from, to}, op)) return grouped(code);
    Layout layout(count, call.comm->size);
    auto combine = combining(type, op);
    return call.start(stream, call.text(count, type, std::string(", ") + kOps[op]),
                      [=](Links& links, Instant deadline) {
                          reduce_scatter(links, bytes(from), layout, bytes(to), kTypes[type].size, combine, deadline);
                      });
}
EMULATED_API int ncclSend(const void* at, size_t count, int type, int peer, void* handle, CUstream stream) {
    return pass("ncclSend", true, at, count, type, peer, handle, stream);
}
EMULATED_API int ncclRecv(void* at, size_t count, int type, int peer, void* handle, CUstream stream) {
    return pass("ncclRecv", false, at, count, type, peer, handle, stream);
}
