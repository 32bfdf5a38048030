// What a back end keeps of a tensor beside its shape and memory: c10::BackendMeta.
#pragma once

#include <mindtorch/api.h>
#include <mindtorch/counted.h>

#include <memory>
#include <utility>

namespace c10 {
// A detached tensor has what `clone` gives.
struct BackendMeta : intrusive_ptr_target {
    ~BackendMeta() override = default;
    virtual intrusive_ptr<BackendMeta> clone(const intrusive_ptr<BackendMeta>& self) const { return self; }
};
}  // namespace c10
namespace mindtorch MINDTORCH_HIDDEN {

// Objects of libraries that say this have one layout: another number with another.
constexpr const char* backend_meta_kind = "c10::BackendMeta 1";
using SharedMeta = c10::intrusive_ptr<c10::BackendMeta>;

inline void release_meta(void* p) { delete static_cast<SharedMeta*>(p); }
inline void* copy_meta(void* p) noexcept {
    try {
        const auto& of = *static_cast<SharedMeta*>(p);
        return new SharedMeta(of ? of->clone(of) : SharedMeta());
    } catch (...) {
        report_exception();
        return nullptr;
    }
}
inline void set_backend_meta(mt_tensor t, SharedMeta meta) {
    auto kept = std::make_unique<SharedMeta>(std::move(meta));
    check(api().tensor_describe(t, backend_meta_kind, kept.get(), release_meta, copy_meta));
    kept.release();
}
inline SharedMeta backend_meta_of(mt_tensor t) {
    const void* const p = api().tensor_described(t, backend_meta_kind);
    return p ? *static_cast<const SharedMeta*>(p) : SharedMeta();
}

}  // namespace mindtorch MINDTORCH_HIDDEN
