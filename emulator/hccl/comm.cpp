// Connections between the ranks of a communicator: Unix sockets without a place in the file system, which end with the
// processes that hold them.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

#include "hccl.h"

namespace emu {
namespace {

using std::chrono::steady_clock;
constexpr uint32_t kMagic = 0x6c636368;
constexpr size_t kLongestCall = 1 << 20;

std::chrono::seconds seconds_of(const char* variable, long otherwise) {
    const char* value = std::getenv(variable);
    long seconds = value && *value ? std::strtol(value, nullptr, 10) : otherwise;
    return std::chrono::seconds(seconds > 0 ? seconds : otherwise);
}

struct Comms {
    std::mutex mutex;
    std::set<Comm*> live;
};
Comms& comms() {
    static Comms* c = new Comms;
    return *c;
}

int left_ms(Instant deadline) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    return left <= 0 ? 0 : static_cast<int>(std::min<long long>(left, 1 << 30));
}

// The address of a rank of a name.
socklen_t address_of(const std::string& name, uint32_t rank, sockaddr_un* address) {
    std::string path = text("ascend-emulator/", name, "/", rank);
    *address = {};
    address->sun_family = AF_UNIX;
    std::memcpy(address->sun_path + 1, path.data(), std::min(path.size(), sizeof address->sun_path - 1));
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
}

void prepare(int socket) { fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK); }

[[noreturn]] void lost(const Comm& comm, uint32_t peer) {
    throw Broken{HCCL_E_REMOTE,
                 text("rank ", peer, " of ", comm.size,
                      " has gone (its process ended, its work failed, or it destroyed the communicator)")};
}

}  // namespace

Comm::~Comm() { hang_up(); }

void Comm::hang_up() {
    for (int& socket : sockets) {
        if (socket >= 0) close(socket);
        socket = -1;
    }
}

std::vector<uint32_t> Comm::others() const {
    std::vector<uint32_t> r;
    for (uint32_t i = 0; i < size; i++)
        if (i != rank) r.push_back(i);
    return r;
}

void Comm::move(const std::vector<Piece>& sends, const std::vector<Piece>& receives, Instant deadline) {
    // What goes to one rank, or comes from it, does so in the order of the list.
    struct Way {
        std::vector<Piece> pieces;
        size_t next = 0;
    };
    std::vector<Way> out(size), in(size);
    for (const Piece& p : sends)
        if (p.size) out[p.rank].pieces.push_back(p);
    for (const Piece& p : receives)
        if (p.size) in[p.rank].pieces.push_back(p);
    auto busy = [](const Way& w) { return w.next < w.pieces.size(); };
    for (;;) {
        std::vector<pollfd> waits;
        std::vector<uint32_t> whose;
        for (uint32_t r : others()) {
            short events = static_cast<short>((busy(out[r]) ? POLLOUT : 0) | (busy(in[r]) ? POLLIN : 0));
            if (!events) continue;
            if (sockets[r] < 0) lost(*this, r);
            waits.push_back({sockets[r], events, 0});
            whose.push_back(r);
        }
        if (waits.empty()) return;
        int ready = poll(waits.data(), waits.size(), left_ms(deadline));
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) {
            std::string missing;
            for (uint32_t r : whose) missing += text(missing.empty() ? "" : ", ", r);
            throw Broken{HCCL_E_TIMEOUT, text("rank ", rank, " of ", size, " waited ", exec_timeout.count(),
                                              " s (HCCL_EXEC_TIMEOUT) in vain for rank ", missing)};
        }
        for (size_t i = 0; i < waits.size(); i++) {
            uint32_t r = whose[i];
            auto advance = [&](Way& w, auto transfer) {
                Piece& p = w.pieces[w.next];
                ssize_t n = transfer(p);
                if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
                if (n <= 0) lost(*this, r);
                p.at += n;
                p.size -= static_cast<size_t>(n);
                if (!p.size) w.next++;
            };
            if (waits[i].revents & (POLLIN | POLLHUP | POLLERR) && busy(in[r]))
                advance(in[r], [&](Piece& p) { return recv(waits[i].fd, p.at, p.size, 0); });
            else if (waits[i].revents & (POLLHUP | POLLERR))
                lost(*this, r);
            if (waits[i].revents & POLLOUT && busy(out[r]))
                advance(out[r], [&](Piece& p) { return send(waits[i].fd, p.at, p.size, MSG_NOSIGNAL); });
        }
    }
}

void Comm::agree(const std::vector<uint32_t>& ranks, const std::string& call, Instant deadline) {
    struct Head {
        uint32_t magic;
        uint32_t length;
    };
    Head own = {kMagic, static_cast<uint32_t>(call.size())};
    std::vector<Head> heads(size);
    std::vector<std::string> calls(size);
    std::vector<Piece> sends, receives;
    std::string said(reinterpret_cast<char*>(&own), sizeof own);
    said += call;
    for (uint32_t r : ranks) {
        sends.push_back({r, said.data(), said.size()});
        receives.push_back({r, reinterpret_cast<char*>(&heads[r]), sizeof(Head)});
    }
    move(sends, receives, deadline);
    receives.clear();
    for (uint32_t r : ranks) {
        if (heads[r].magic != kMagic || heads[r].length > kLongestCall)
            throw Broken{HCCL_E_INTERNAL, text("what came from rank ", r, " is no call")};
        calls[r].resize(heads[r].length);
        receives.push_back({r, calls[r].data(), calls[r].size()});
    }
    move({}, receives, deadline);
    for (uint32_t r : ranks)
        if (calls[r] != call)
            throw Broken{HCCL_E_PARA, text("rank ", rank, " calls ", call, ", but rank ", r, " calls ", calls[r])};
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

std::string fresh_name() {
    std::random_device random;
    return text("hccl-", getpid(), "-", random(), "-", random());
}

HcclResult connect_ranks(const char* function, const std::string& name, uint32_t size, uint32_t rank, Comm** made) {
    struct Hello {
        uint32_t magic, size, rank;
    };
    auto wrong = [&](HcclResult code, const auto&... parts) {
        return static_cast<HcclResult>(failed(code, text(function, ": ", parts...)));
    };
    auto comm = std::make_unique<Comm>();
    comm->rank = rank;
    comm->size = size;
    comm->device = current_device();
    comm->name = name;
    comm->sockets.assign(size, -1);
    comm->exec_timeout = seconds_of("HCCL_EXEC_TIMEOUT", 1836);
    auto patience = seconds_of("HCCL_CONNECT_TIMEOUT", 120);
    Instant deadline = steady_clock::now() + patience;
    auto late = [&](uint32_t peer) {
        return wrong(HCCL_E_TIMEOUT, "rank ", rank, " of ", size, " waited ", patience.count(),
                     " s (HCCL_CONNECT_TIMEOUT) in vain for rank ", peer);
    };
    sockaddr_un address;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct Closing {
        int fd;
        ~Closing() { close(fd); }
    } closing{listener};
    socklen_t length = address_of(name, rank, &address);
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener, 128) != 0)
        return wrong(HCCL_E_PARA, "rank ", rank, " of this root info is there already");
    Hello own = {kMagic, size, rank};
    auto check = [&](const Hello& other, uint32_t expected) {
        return other.magic == kMagic && other.size == size && other.rank < size &&
               (expected == size || other.rank == expected);
    };
    auto exchange = [&](int fd, Hello* other) {
        if (send(fd, &own, sizeof own, MSG_NOSIGNAL) != sizeof own) return false;
        pollfd wait = {fd, POLLIN, 0};
        return poll(&wait, 1, left_ms(deadline)) == 1 && recv(fd, other, sizeof *other, MSG_WAITALL) == sizeof *other;
    };
    for (uint32_t peer = 0; peer < rank; peer++) {
        length = address_of(name, peer, &address);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        comm->sockets[peer] = fd;
        while (connect(fd, reinterpret_cast<sockaddr*>(&address), length) != 0) {
            if (!left_ms(deadline)) return late(peer);
            usleep(2000);
        }
        Hello other;
        if (!exchange(fd, &other)) return late(peer);
        if (!check(other, peer))
            return wrong(HCCL_E_PARA, "rank ", rank, " was told of ", size, " ranks, rank ", peer, " of ", other.size);
        prepare(fd);
    }
    for (uint32_t missing = size - 1 - rank; missing > 0; missing--) {
        pollfd wait = {listener, POLLIN, 0};
        uint32_t next = rank + 1;
        while (next < size && comm->sockets[next] >= 0) next++;
        if (poll(&wait, 1, left_ms(deadline)) != 1) return late(next);
        int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        Hello other;
        if (fd < 0 || !exchange(fd, &other)) return late(next);
        if (!check(other, size) || comm->sockets[other.rank] >= 0) {
            close(fd);
            return wrong(HCCL_E_PARA, "rank ", rank, " was told of ", size, " ranks, rank ", other.rank, " of ",
                         other.size);
        }
        prepare(fd);
        comm->sockets[other.rank] = fd;
    }
    *made = comm.release();
    return HCCL_SUCCESS;
}

HcclResult connect_within_process(uint32_t size, const int32_t* devices, HcclComm* made) {
    std::string name = fresh_name();
    std::vector<Comm*> all;
    for (uint32_t rank = 0; rank < size; rank++) {
        Comm* comm = new Comm;
        comm->rank = rank;
        comm->size = size;
        comm->device = devices[rank];
        comm->name = name;
        comm->sockets.assign(size, -1);
        comm->exec_timeout = seconds_of("HCCL_EXEC_TIMEOUT", 1836);
        all.push_back(comm);
        for (uint32_t peer = 0; peer < rank; peer++) {
            int ends[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
                for (Comm* each : all) delete each;
                return static_cast<HcclResult>(failed(HCCL_E_SYSCALL, "HcclCommInitAll: no more sockets"));
            }
            comm->sockets[peer] = ends[0];
            all[peer]->sockets[rank] = ends[1];
        }
    }
    for (uint32_t rank = 0; rank < size; rank++) keep(all[rank], &made[rank]);
    return HCCL_SUCCESS;
}

}  // namespace emu
