#include "described_tensor.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mt {
namespace {

using Descriptions = std::vector<TensorDescription>;
std::unordered_map<const Tensor*, Descriptions>& descriptions() {
    static auto* all = new std::unordered_map<const Tensor*, Descriptions>;
    return *all;
}

}  // namespace

void describe(Tensor& t, const TensorDescription& d) {
    Descriptions& all = descriptions()[&t];
    t.flags |= kDescribed;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& e) { return !std::strcmp(e.kind, d.kind); });
    if (found == all.end()) return all.push_back(d);
    const TensorDescription former = std::exchange(*found, d);
    former.release(former.object);  // last: it may come back here
}

void* description_of(const Tensor& t, const char* kind) {
    if (!(t.flags & kDescribed)) return nullptr;
    const auto found = descriptions().find(&t);
    if (found == descriptions().end()) return nullptr;
    for (const TensorDescription& d : found->second)
        if (!std::strcmp(d.kind, kind)) return d.object;
    return nullptr;
}

void copy_descriptions(const Tensor& from, Tensor& to) {
    const auto found = descriptions().find(&from);
    if (found == descriptions().end()) return;
    const Descriptions all = found->second;  // copying one may come back here
    for (TensorDescription d : all) {
        d.object = d.copy(d.object);
        describe(to, d);
    }
}

void forget_descriptions(Tensor& t) {
    const auto found = descriptions().find(&t);
    if (found == descriptions().end()) return;
    const Descriptions gone = std::move(found->second);
    descriptions().erase(found);
    for (const TensorDescription& d : gone) d.release(d.object);
}

}  // namespace mt
