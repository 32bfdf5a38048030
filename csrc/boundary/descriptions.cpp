// Objects of libraries that describe tensors.
#include <memory>
#include <string>
#include <unordered_set>

#include "boundary/boundary.h"
#include "core/described_tensor.h"

namespace mt::boundary {
namespace {

// An object of a library, as the core keeps it.
struct Described {
    void* object;
    mt_release release;
    void* (*copy)(void*);
};
void release_described(void* p) {
    const std::unique_ptr<Described> d(static_cast<Described*>(p));
    if (d->release) d->release(d->object);
}
void* copy_described(void* p) {
    const Described& d = *static_cast<Described*>(p);
    void* const copied = d.copy(d.object);
    if (!copied) throw_kept_error();
    return new Described{copied, d.release, d.copy};
}
int describe_tensor(mt_tensor t, const char* kind, void* object, mt_release release, void* (*copy)(void*)) {
    return reported([&] {
        static auto* kinds = new std::unordered_set<std::string>;
        auto kept = std::make_unique<Described>(Described{object, release, copy});
        describe(*tensor(t), {kinds->emplace(kind).first->c_str(), kept.get(), release_described, copy_described});
        kept.release();
    });
}
void* tensor_described(mt_tensor t, const char* kind) {
    Locked locked;
    auto* found = static_cast<Described*>(description_of(*tensor(t), kind));
    return found ? found->object : nullptr;
}

}  // namespace

void fill_descriptions(mt_boundary& b) {
    b.tensor_describe = describe_tensor;
    b.tensor_described = tensor_described;
}

}  // namespace mt::boundary
