// The collectives: arguments are checked when they are called; the ranks meet when the stream comes to them.
#include <cstring>

#include "hccl.h"

namespace emu {
namespace {

struct Buffer {  // device memory of a collective
    const char* what;
    const void* at;
    size_t size;
};

// What is wrong with the arguments of a call; 0 if nothing is.
HcclResult check(const char* function, const Comm& comm, const std::vector<Buffer>& buffers) {
    if (comm.error)
        return static_cast<HcclResult>(
            failed(HCCL_E_REMOTE, text(function, ": an earlier operation of the communicator failed")));
    if (current_device() != comm.device)
        return static_cast<HcclResult>(
            misused(HCCL_E_PARA, text(function, ": the communicator was made for device ", comm.device,
                                      ", this thread is on device ", current_device())));
    for (const Buffer& b : buffers) {
        if (!b.size) continue;
        if (!b.at) return static_cast<HcclResult>(failed(HCCL_E_PTR, text(function, ": ", b.what, " is null")));
        std::string problem = range_problem(b.at, b.size);
        if (!problem.empty())
            return static_cast<HcclResult>(misused(HCCL_E_PARA, text(function, ": ", b.what, ": ", problem)));
    }
    return HCCL_SUCCESS;
}

HcclResult refused(HcclResult code, const char* function, const std::string& why) {
    return static_cast<HcclResult>(failed(code, text(function, ": ", why)));
}

HcclResult check_type(const char* function, HcclDataType type) {
    return size_of(type) ? HCCL_SUCCESS
                         : refused(HCCL_E_PARA, function, text("data type ", static_cast<int>(type), " is not known"));
}

HcclResult check_reduce(const char* function, HcclDataType type, HcclReduceOp op) {
    if (HcclResult e = check_type(function, type)) return e;
    if (op < HCCL_REDUCE_SUM || op > HCCL_REDUCE_MIN)
        return refused(HCCL_E_PARA, function, text("reduce operation ", static_cast<int>(op), " is not known"));
    if (!can_reduce(type, op))
        return refused(HCCL_E_NOT_SUPPORT, function, text(name_of(op), " of ", name_of(type), " is not supported"));
    return HCCL_SUCCESS;
}

HcclResult check_rank(const char* function, const Comm& comm, const char* which, uint32_t rank) {
    return rank < comm.size ? HCCL_SUCCESS
                            : refused(HCCL_E_PARA, function, text(which, " ", rank, " of ", comm.size, " ranks"));
}

// Enqueues what the ranks do together. `call` is what each of `ranks` has to call; `body` moves the bytes.
HcclResult start(const char* function, Comm* comm, aclrtStream stream, const std::vector<Buffer>& buffers,
                 const std::vector<uint32_t>& ranks, const std::string& call,
                 std::function<void(Comm&, Instant)> body) {
    if (HcclResult e = check(function, *comm, buffers)) return e;
    Work w;
    w.name = function;
    for (const Buffer& b : buffers)
        if (b.size) w.memory.push_back({b.at, b.size});
    struct Queued {  // counts the work for as long as it exists
        Comm* comm;
        explicit Queued(Comm* c) : comm(c) { comm->queued++; }
        ~Queued() { comm->queued--; }
        Queued(const Queued&) = delete;
    };
    auto queued = std::make_shared<Queued>(comm);
    w.run = [queued, ranks, call, body]() -> std::string {
        Comm& comm = *queued->comm;
        std::lock_guard<std::mutex> turn(comm.turn);
        if (comm.error) return "an earlier operation of the communicator failed";
        try {
            Instant deadline = std::chrono::steady_clock::now() + comm.patience.time;
            comm.agree(ranks, call, deadline);
            body(comm, deadline);
            return "";
        } catch (const Broken& b) {
            comm.error = code_of(b.why);
            comm.hang_up();  // so that the others find out
            return b.text;
        }
    };
    int code = enqueue(stream, std::move(w));
    return code ? static_cast<HcclResult>(failed(HCCL_E_RUNTIME, recent_message() ?: "the stream refused the work"))
                : HCCL_SUCCESS;
}

char* bytes(const void* p) { return p ? backing(p) : nullptr; }

template <class... A>
std::string called(const char* function, uint64_t count, HcclDataType type, const A&... more) {
    return text(function, "(", count, " ", name_of(type), more..., ")");
}

void copy(char* to, const char* from, size_t n) {
    if (n && to != from) std::memmove(to, from, n);
}

}  // namespace
}  // namespace emu

using namespace emu;

#define HCCL_ENTER(function)                                                   \
    if (int code_ = injected(function)) return static_cast<HcclResult>(code_); \
    Comm* c = comm_of(comm, function);                                         \
    if (!c) return HCCL_E_PTR

EMU_API HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                                 HcclComm comm, aclrtStream stream) {
    HCCL_ENTER("HcclAllReduce");
    if (HcclResult e = check_reduce("HcclAllReduce", dataType, op)) return e;
    size_t item = size_of(dataType), n = count * item;
    char *from = bytes(sendBuf), *to = bytes(recvBuf);
    return start("HcclAllReduce", c, stream, {{"sendBuf", sendBuf, n}, {"recvBuf", recvBuf, n}}, c->others(),
                 called("HcclAllReduce", count, dataType, ", ", name_of(op)), [=](Comm& comm, Instant deadline) {
                     all_reduce(comm, from, to, count, item, combine(dataType, op), deadline);
                 });
}

EMU_API HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                                 aclrtStream stream) {
    HCCL_ENTER("HcclBroadcast");
    if (HcclResult e = check_type("HcclBroadcast", dataType)) return e;
    if (HcclResult e = check_rank("HcclBroadcast", *c, "root", root)) return e;
    size_t n = count * size_of(dataType);
    char* at = bytes(buf);
    return start("HcclBroadcast", c, stream, {{"buf", buf, n}}, c->others(),
                 called("HcclBroadcast", count, dataType, " from ", root),
                 [=](Comm& comm, Instant deadline) { broadcast(comm, at, n, root, deadline); });
}

EMU_API HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                              uint32_t root, HcclComm comm, aclrtStream stream) {
    HCCL_ENTER("HcclReduce");
    if (HcclResult e = check_reduce("HcclReduce", dataType, op)) return e;
    if (HcclResult e = check_rank("HcclReduce", *c, "root", root)) return e;
    size_t n = count * size_of(dataType);
    char *from = bytes(sendBuf), *to = bytes(recvBuf);
    return start("HcclReduce", c, stream, {{"sendBuf", sendBuf, n}, {"recvBuf", recvBuf, c->rank == root ? n : 0}},
                 c->others(), called("HcclReduce", count, dataType, ", ", name_of(op), " to ", root),
                 [=](Comm& comm, Instant deadline) {
                     reduce(comm, from, to, count, size_of(dataType), root, combine(dataType, op), deadline);
                 });
}

EMU_API HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root,
                               HcclComm comm, aclrtStream stream) {
    HCCL_ENTER("HcclScatter");
    if (HcclResult e = check_type("HcclScatter", dataType)) return e;
    if (HcclResult e = check_rank("HcclScatter", *c, "root", root)) return e;
    size_t n = recvCount * size_of(dataType);
    char *from = bytes(sendBuf), *to = bytes(recvBuf);
    return start("HcclScatter", c, stream,
                 {{"sendBuf", sendBuf, c->rank == root ? n * c->size : 0}, {"recvBuf", recvBuf, n}}, c->others(),
                 called("HcclScatter", recvCount, dataType, " from ", root),
                 [=](Comm& comm, Instant deadline) { scatter(comm, from, to, n, root, deadline); });
}

namespace {

HcclResult gather(const char* function, Comm* c, void* sendBuf, uint64_t count, void* recvBuf, Layout to,
                  HcclDataType type, aclrtStream stream) {
    if (to.counts[c->rank] != count)
        return refused(HCCL_E_PARA, function,
                       text("sendCount is ", count, ", but recvCounts[", c->rank, "] is ", to.counts[c->rank]));
    size_t item = size_of(type);
    char *from = bytes(sendBuf), *at = bytes(recvBuf);
    std::string counts;
    for (size_t n : to.counts) counts += text(counts.empty() ? "" : "+", n);
    return start(function, c, stream, {{"sendBuf", sendBuf, count * item}, {"recvBuf", recvBuf, to.reach * item}},
                 c->others(), text(function, "(", counts, " ", name_of(type), ")"),
                 [=](Comm& comm, Instant deadline) { gather(comm, from, at, to, item, deadline); });
}

HcclResult reduce_scatter(const char* function, Comm* c, void* sendBuf, Layout from, void* recvBuf, uint64_t count,
                          HcclDataType type, HcclReduceOp op, aclrtStream stream) {
    if (from.counts[c->rank] != count)
        return refused(HCCL_E_PARA, function,
                       text("recvCount is ", count, ", but sendCounts[", c->rank, "] is ", from.counts[c->rank]));
    size_t item = size_of(type), n = count * item;
    char *at = bytes(sendBuf), *to = bytes(recvBuf);
    std::string counts;
    for (size_t each : from.counts) counts += text(counts.empty() ? "" : "+", each);
    return start(
        function, c, stream, {{"sendBuf", sendBuf, from.reach * item}, {"recvBuf", recvBuf, n}}, c->others(),
        text(function, "(", counts, " ", name_of(type), ", ", name_of(op), ")"),
        [=](Comm& comm, Instant deadline) { reduce_scatter(comm, at, from, to, item, combine(type, op), deadline); });
}

HcclResult all_to_all(const char* function, Comm* c, const void* sendBuf, Layout from, HcclDataType send_type,
                      const void* recvBuf, Layout to, HcclDataType recv_type, aclrtStream stream) {
    if (HcclResult e = check_type(function, send_type)) return e;
    if (HcclResult e = check_type(function, recv_type)) return e;
    size_t item = size_of(send_type), landing = size_of(recv_type);
    if (from.counts[c->rank] * item != to.counts[c->rank] * landing)
        return refused(HCCL_E_PARA, function,
                       text("rank ", c->rank, " sends itself ", from.counts[c->rank], " ", name_of(send_type),
                            ", but takes ", to.counts[c->rank], " ", name_of(recv_type)));
    char *out = bytes(sendBuf), *in = bytes(recvBuf);
    return start(function, c, stream,
                 {{"sendBuf", sendBuf, from.reach * item}, {"recvBuf", recvBuf, to.reach * landing}}, c->others(),
                 text(function, "(", name_of(send_type), ")"), [=](Comm& comm, Instant deadline) {
                     // Each tells each how much comes, as the counts of two ranks have to match.
                     std::vector<uint64_t> expect(comm.size), coming(comm.size);
                     std::vector<uint64_t> going(comm.size);
                     std::vector<Piece> sends, receives;
                     for (uint32_t r : comm.others()) {
                         going[r] = from.counts[r] * item;
                         expect[r] = to.counts[r] * landing;
                         sends.push_back({r, reinterpret_cast<char*>(&going[r]), 8});
                         receives.push_back({r, reinterpret_cast<char*>(&coming[r]), 8});
                     }
                     comm.move(sends, receives, deadline);
                     for (uint32_t r : comm.others())
                         if (coming[r] != expect[r])
                             throw Broken{Trouble::disagreement, text("rank ", r, " sends ", coming[r], " bytes, rank ",
                                                                      comm.rank, " takes ", expect[r])};
                     sends.clear();
                     receives.clear();
                     for (uint32_t r : comm.others()) {
                         sends.push_back({r, out + from.offsets[r] * item, from.counts[r] * item});
                         receives.push_back({r, in + to.offsets[r] * landing, to.counts[r] * landing});
                     }
                     comm.move(sends, receives, deadline);
                     copy(in + to.offsets[comm.rank] * landing, out + from.offsets[comm.rank] * item,
                          from.counts[comm.rank] * item);
                 });
}

}  // namespace

EMU_API HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                                 aclrtStream stream) {
    HCCL_ENTER("HcclAllGather");
    if (HcclResult e = check_type("HcclAllGather", dataType)) return e;
    return gather("HcclAllGather", c, sendBuf, sendCount, recvBuf, Layout(sendCount, c->size), dataType, stream);
}
EMU_API HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf, const void* recvCounts,
                                  const void* recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream) {
    HCCL_ENTER("HcclAllGatherV");
    if (HcclResult e = check_type("HcclAllGatherV", dataType)) return e;
    if (!recvCounts || !recvDispls) return refused(HCCL_E_PTR, "HcclAllGatherV", "counts or displacements are null");
    return gather("HcclAllGatherV", c, sendBuf, sendCount, recvBuf, Layout(recvCounts, recvDispls, c->size), dataType,
                  stream);
}

EMU_API HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                     HcclReduceOp op, HcclComm comm, aclrtStream stream) {
    HCCL_ENTER("HcclReduceScatter");
    if (HcclResult e = check_reduce("HcclReduceScatter", dataType, op)) return e;
    return reduce_scatter("HcclReduceScatter", c, sendBuf, Layout(recvCount, c->size), recvBuf, recvCount, dataType, op,
                          stream);
}
EMU_API HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls, void* recvBuf,
                                      uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                      aclrtStream stream) {
    HCCL_ENTER("HcclReduceScatterV");
    if (HcclResult e = check_reduce("HcclReduceScatterV", dataType, op)) return e;
    if (!sendCounts || !sendDispls)
        return refused(HCCL_E_PTR, "HcclReduceScatterV", "counts or displacements are null");
    return reduce_scatter("HcclReduceScatterV", c, sendBuf, Layout(sendCounts, sendDispls, c->size), recvBuf, recvCount,
                          dataType, op, stream);
}

EMU_API HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType, const void* recvBuf,
                                uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
    HCCL_ENTER("HcclAlltoAll");
    return all_to_all("HcclAlltoAll", c, sendBuf, Layout(sendCount, c->size), sendType, recvBuf,
                      Layout(recvCount, c->size), recvType, stream);
}
EMU_API HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls,
                                 HcclDataType sendType, const void* recvBuf, const void* recvCounts,
                                 const void* rdispls, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
    HCCL_ENTER("HcclAlltoAllV");
    if (!sendCounts || !sdispls || !recvCounts || !rdispls)
        return refused(HCCL_E_PTR, "HcclAlltoAllV", "counts or displacements are null");
    return all_to_all("HcclAlltoAllV", c, sendBuf, Layout(sendCounts, sdispls, c->size), sendType, recvBuf,
                      Layout(recvCounts, rdispls, c->size), recvType, stream);
}

EMU_API HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
    HCCL_ENTER("HcclBarrier");
    return start("HcclBarrier", c, stream, {}, c->others(), "HcclBarrier()", [](Comm&, Instant) {});
}

// ---- point to point ----

namespace {

HcclResult pass(const char* function, Comm* c, const HcclSendRecvItem* items, uint32_t count, aclrtStream stream) {
    std::vector<Buffer> buffers;
    std::vector<Transfer> all;
    for (uint32_t i = 0; i < count; i++) {
        const HcclSendRecvItem& item = items[i];
        if (HcclResult e = check_type(function, item.dataType)) return e;
        if (HcclResult e = check_rank(function, *c, "remote rank", item.remoteRank)) return e;
        if (item.remoteRank == c->rank) return refused(HCCL_E_PARA, function, text("rank ", c->rank, " to itself"));
        size_t bytes_of_one = size_of(item.dataType);
        buffers.push_back({"buf", item.buf, item.count * bytes_of_one});
        all.push_back({item.sendRecvType == HCCL_SEND, item.remoteRank, bytes(item.buf), item.count, bytes_of_one,
                       name_of(item.dataType)});
    }
    return start(function, c, stream, buffers, {}, "", transfers(*c, all));
}

}  // namespace

EMU_API HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                            aclrtStream stream) {
    HCCL_ENTER("HcclSend");
    HcclSendRecvItem item = {HCCL_SEND, sendBuf, count, dataType, destRank};
    return pass("HcclSend", c, &item, 1, stream);
}
EMU_API HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                            aclrtStream stream) {
    HCCL_ENTER("HcclRecv");
    HcclSendRecvItem item = {HCCL_RECV, recvBuf, count, dataType, srcRank};
    return pass("HcclRecv", c, &item, 1, stream);
}
EMU_API HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm,
                                     aclrtStream stream) {
    HCCL_ENTER("HcclBatchSendRecv");
    if (!sendRecvInfo || !itemNum) return refused(HCCL_E_PTR, "HcclBatchSendRecv", "no items");
    return pass("HcclBatchSendRecv", c, sendRecvInfo, itemNum, stream);
}
