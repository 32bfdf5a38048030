#include "described_storage.h"

#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mt {
namespace {

std::mutex g_mutex;
std::unordered_map<const Storage*, std::vector<Description>>& descriptions() {
    static auto* all = new std::unordered_map<const Storage*, std::vector<Description>>;
    return *all;
}

}  // namespace

void describe(Storage* s, const Description& d) {
    const std::lock_guard<std::mutex> lock(g_mutex);
    descriptions()[s].push_back(d);
    s->described = true;
}

void* description_of(const Storage* s, const char* kind) {
    if (!s->described) return nullptr;
    const std::lock_guard<std::mutex> lock(g_mutex);
    for (const Description& d : descriptions()[s])
        if (!std::strcmp(d.kind, kind)) return d.object;
    return nullptr;
}

bool resize_described(Storage* s, size_t nbytes) {
    if (!s->described) return false;
    Description found{};
    {
        const std::lock_guard<std::mutex> lock(g_mutex);
        for (const Description& d : descriptions()[s])
            if (d.resize) found = d;
    }
    if (found.resize) found.resize(found.object, nbytes);  // it calls back
    return found.resize != nullptr;
}

void forget_descriptions(Storage* s) {
    std::vector<Description> gone;
    {
        const std::lock_guard<std::mutex> lock(g_mutex);
        auto found = descriptions().find(s);
        gone = std::move(found->second);
        descriptions().erase(found);
        s->described = false;
    }
    for (const Description& d : gone)
        if (d.release) d.release(d.object);
}

}  // namespace mt
