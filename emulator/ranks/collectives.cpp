// What the ranks do with bytes, once they agree on what to do.
#include <algorithm>
#include <cstring>

#include "links.h"

namespace emu {
namespace {

void copy(char* to, const char* from, size_t n) {
    if (n && to != from) std::memmove(to, from, n);
}

// Room for what comes from the other ranks, each as many bytes, and where each rank's part then lies.
struct Parts {
    std::vector<std::vector<char>> room;
    std::vector<const char*> at;
    std::vector<Piece> receives;

    Parts(const Links& links, const char* own, size_t n) : room(links.size), at(links.size, own) {
        for (uint32_t r : links.others()) {
            room[r].resize(n);
            at[r] = room[r].data();
            receives.push_back({r, room[r].data(), n});
        }
    }
};

}  // namespace

Layout::Layout(const void* given_counts, const void* given_offsets, uint32_t size) {
    const uint64_t* n = static_cast<const uint64_t*>(given_counts);
    const uint64_t* at = static_cast<const uint64_t*>(given_offsets);
    for (uint32_t r = 0; r < size; r++) add(n[r], at[r]);
}
Layout::Layout(uint64_t count, uint32_t size) {
    for (uint32_t r = 0; r < size; r++) add(count, r * count);
}
void Layout::add(uint64_t count, uint64_t offset) {
    counts.push_back(count);
    offsets.push_back(offset);
    if (count) reach = std::max<size_t>(reach, offset + count);
}

void all_reduce(Links& links, const char* from, char* to, size_t count, size_t item, const Combine& combine,
                Instant deadline) {
    // Each rank combines one part and gives it to all.
    size_t step = (count + links.size - 1) / links.size;
    auto begin = [&](uint32_t r) { return std::min<size_t>(r * step, count) * item; };
    auto length = [&](uint32_t r) { return begin(r + 1) - begin(r); };
    size_t own = length(links.rank);
    Parts parts(links, from + begin(links.rank), own);
    std::vector<Piece> sends, receives;
    for (uint32_t r : links.others()) sends.push_back({r, const_cast<char*>(from) + begin(r), length(r)});
    links.move(sends, parts.receives, deadline);
    combine(parts.at, to + begin(links.rank), own / item);
    sends.clear();
    for (uint32_t r : links.others()) {
        sends.push_back({r, to + begin(links.rank), own});
        receives.push_back({r, to + begin(r), length(r)});
    }
    links.move(sends, receives, deadline);
}

void broadcast(Links& links, char* at, size_t n, uint32_t root, Instant deadline) {
    std::vector<Piece> sends, receives;
    if (links.rank != root)
        receives.push_back({root, at, n});
    else
        for (uint32_t r : links.others()) sends.push_back({r, at, n});
    links.move(sends, receives, deadline);
}

void reduce(Links& links, const char* from, char* to, size_t count, size_t item, uint32_t root, const Combine& combine,
            Instant deadline) {
    size_t n = count * item;
    if (links.rank != root) return links.move({{root, const_cast<char*>(from), n}}, {}, deadline);
    Parts parts(links, from, n);
    links.move({}, parts.receives, deadline);
    combine(parts.at, to, count);
}

void scatter(Links& links, char* from, char* to, size_t n, uint32_t root, Instant deadline) {
    if (links.rank != root) return links.move({}, {{root, to, n}}, deadline);
    std::vector<Piece> sends;
    for (uint32_t r : links.others()) sends.push_back({r, from + r * n, n});
    links.move(sends, {}, deadline);
    copy(to, from + root * n, n);
}

void gather(Links& links, char* from, char* to, const Layout& layout, size_t item, Instant deadline) {
    size_t n = layout.counts[links.rank] * item;
    std::vector<Piece> sends, receives;
    for (uint32_t r : links.others()) {
        sends.push_back({r, from, n});
        receives.push_back({r, to + layout.offsets[r] * item, layout.counts[r] * item});
    }
    links.move(sends, receives, deadline);
    copy(to + layout.offsets[links.rank] * item, from, n);
}

void reduce_scatter(Links& links, char* from, const Layout& layout, char* to, size_t item, const Combine& combine,
                    Instant deadline) {
    size_t count = layout.counts[links.rank];
    Parts parts(links, from + layout.offsets[links.rank] * item, count * item);
    std::vector<Piece> sends;
    for (uint32_t r : links.others()) sends.push_back({r, from + layout.offsets[r] * item, layout.counts[r] * item});
    links.move(sends, parts.receives, deadline);
    combine(parts.at, to, count);
}

std::function<void(Links&, Instant)> transfers(const Links& links, const std::vector<Transfer>& items) {
    std::vector<Piece> sends, receives;
    std::vector<uint32_t> peers;
    for (const Transfer& item : items) {
        (item.sends ? sends : receives).push_back({item.rank, item.at, item.count * item.item});
        if (std::find(peers.begin(), peers.end(), item.rank) == peers.end()) peers.push_back(item.rank);
    }
    // One meeting for each pair that has something to pass. All ranks go through their pairs' smaller rank first.
    std::sort(peers.begin(), peers.end());
    std::vector<std::string> calls;
    for (uint32_t peer : peers) {
        std::string there, back;
        for (const Transfer& item : items) {
            if (item.rank != peer) continue;
            bool upwards = item.sends == (links.rank < peer);
            std::string& list = upwards ? there : back;
            list += (list.empty() ? "" : " ") + std::to_string(item.count) + "*" + item.type;
        }
        std::string low = std::to_string(std::min(links.rank, peer)), high = std::to_string(std::max(links.rank, peer));
        std::string call = "a transfer of";
        if (!there.empty()) call += " " + there + " from " + low + " to " + high;
        if (!back.empty()) call += (there.empty() ? " " : ", ") + back + " from " + high + " to " + low;
        calls.push_back(call);
    }
    return [=](Links& links, Instant deadline) {
        for (size_t i = 0; i < peers.size(); i++) links.agree({peers[i]}, calls[i], deadline);
        links.move(sends, receives, deadline);
    };
}

}  // namespace emu
