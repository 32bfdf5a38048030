// Connections between ranks: Unix sockets without a place in the file system, which end with the processes that hold
// them.
#include "links.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <random>

namespace emu {
namespace {

using std::chrono::steady_clock;
constexpr uint32_t kMagic = 0x6c636368;
constexpr size_t kLongestCall = 1 << 20;

int left_ms(Instant deadline) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    return left <= 0 ? 0 : static_cast<int>(std::min<long long>(left, 1 << 30));
}

// The address of a rank of a name.
socklen_t address_of(const std::string& name, uint32_t rank, sockaddr_un* address) {
    std::string path = "mindtorch-emulator/" + name + "/" + std::to_string(rank);
    *address = {};
    address->sun_family = AF_UNIX;
    std::memcpy(address->sun_path + 1, path.data(), std::min(path.size(), sizeof address->sun_path - 1));
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
}

void prepare(int socket) { fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK); }

std::string number(uint64_t n) { return std::to_string(n); }

std::string waited(const Links& links, const Patience& patience, const std::string& for_whom) {
    return "rank " + number(links.rank) + " of " + number(links.size) + " waited " +
           number(static_cast<uint64_t>(patience.time.count())) + " s (" + patience.variable + ") in vain for rank " +
           for_whom;
}

}  // namespace

Patience::Patience(const char* variable, long otherwise) : variable(variable), time(otherwise) {
    const char* value = std::getenv(variable);
    long seconds = value && *value ? std::strtol(value, nullptr, 10) : otherwise;
    if (seconds > 0) time = std::chrono::seconds(seconds);
}

void Links::lost(uint32_t peer) const {
    throw Broken{Trouble::gone, "rank " + number(peer) + " of " + number(size) +
                                    " has gone (its process ended, its work failed, or it destroyed the communicator)"};
}

void Links::hang_up() {
    for (int& socket : sockets) {
        if (socket >= 0) close(socket);
        socket = -1;
    }
}

void Links::interrupt() {
    for (int socket : sockets)
        if (socket >= 0) shutdown(socket, SHUT_RDWR);
}

std::vector<uint32_t> Links::others() const {
    std::vector<uint32_t> r;
    for (uint32_t i = 0; i < size; i++)
        if (i != rank) r.push_back(i);
    return r;
}

void Links::move(const std::vector<Piece>& sends, const std::vector<Piece>& receives, Instant deadline) {
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
            if (sockets[r] < 0) lost(r);
            waits.push_back({sockets[r], events, 0});
            whose.push_back(r);
        }
        if (waits.empty()) return;
        int ready = poll(waits.data(), waits.size(), left_ms(deadline));
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) {
            std::string missing;
            for (uint32_t r : whose) missing += (missing.empty() ? "" : ", ") + number(r);
            throw Broken{Trouble::timeout, waited(*this, patience, missing)};
        }
        for (size_t i = 0; i < waits.size(); i++) {
            uint32_t r = whose[i];
            auto advance = [&](Way& w, auto transfer) {
                Piece& p = w.pieces[w.next];
                ssize_t n = transfer(p);
                if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
                if (n <= 0) lost(r);
                p.at += n;
                p.size -= static_cast<size_t>(n);
                if (!p.size) w.next++;
            };
            if (waits[i].revents & (POLLIN | POLLHUP | POLLERR) && busy(in[r]))
                advance(in[r], [&](Piece& p) { return recv(waits[i].fd, p.at, p.size, 0); });
            else if (waits[i].revents & (POLLHUP | POLLERR))
                lost(r);
            if (waits[i].revents & POLLOUT && busy(out[r]))
                advance(out[r], [&](Piece& p) { return send(waits[i].fd, p.at, p.size, MSG_NOSIGNAL); });
        }
    }
}

void Links::agree(const std::vector<uint32_t>& ranks, const std::string& call, Instant deadline) {
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
            throw Broken{Trouble::garbled, "what came from rank " + number(r) + " is no call"};
        calls[r].resize(heads[r].length);
        receives.push_back({r, calls[r].data(), calls[r].size()});
    }
    move({}, receives, deadline);
    for (uint32_t r : ranks)
        if (calls[r] != call)
            throw Broken{Trouble::disagreement,
                         "rank " + number(rank) + " calls " + call + ", but rank " + number(r) + " calls " + calls[r]};
}

std::string fresh_name(const char* family) {
    std::random_device random;
    return std::string(family) + "-" + number(static_cast<uint64_t>(getpid())) + "-" + number(random()) + "-" +
           number(random());
}

void Links::connect(const std::string& family, const Patience& connecting) {
    struct Hello {
        uint32_t magic, size, rank;
    };
    sockets.assign(size, -1);
    Instant deadline = steady_clock::now() + connecting.time;
    auto late = [&](uint32_t peer) { return Broken{Trouble::timeout, waited(*this, connecting, number(peer))}; };
    auto other_size = [&](const Hello& other) {
        return Broken{Trouble::wrong, "rank " + number(rank) + " was told of " + number(size) + " ranks, rank " +
                                          number(other.rank) + " of " + number(other.size)};
    };
    sockaddr_un address;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct Closing {
        int fd;
        ~Closing() { close(fd); }
    } closing{listener};
    socklen_t length = address_of(name, rank, &address);
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener, 128) != 0)
        throw Broken{Trouble::wrong, "rank " + number(rank) + " of this " + family + " is there already"};
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
        sockets[peer] = fd;
        while (::connect(fd, reinterpret_cast<sockaddr*>(&address), length) != 0) {
            if (!left_ms(deadline)) throw late(peer);
            usleep(2000);
        }
        Hello other;
        if (!exchange(fd, &other)) throw late(peer);
        if (!check(other, peer)) throw other_size({kMagic, other.size, peer});
        prepare(fd);
    }
    for (uint32_t missing = size - 1 - rank; missing > 0; missing--) {
        pollfd wait = {listener, POLLIN, 0};
        uint32_t next = rank + 1;
        while (next < size && sockets[next] >= 0) next++;
        if (poll(&wait, 1, left_ms(deadline)) != 1) throw late(next);
        int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        Hello other;
        if (fd < 0 || !exchange(fd, &other)) throw late(next);
        if (!check(other, size) || sockets[other.rank] >= 0) {
            close(fd);
            throw other_size(other);
        }
        prepare(fd);
        sockets[other.rank] = fd;
    }
}

bool connect_within_process(const std::vector<Links*>& all) {
    for (Links* links : all) {
        links->sockets.assign(links->size, -1);
        for (uint32_t peer = 0; peer < links->rank; peer++) {
            int ends[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return false;
            links->sockets[peer] = ends[0];
            all[peer]->sockets[links->rank] = ends[1];
        }
    }
    return true;
}

}  // namespace emu
