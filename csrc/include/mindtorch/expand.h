// Tensors and sizes that are broadcast together.
#pragma once

#include <mindtorch/functions.h>

namespace at {

// Whether `shape` can be broadcast to `desired`.
inline bool is_expandable_to(IntArrayRef shape, IntArrayRef desired) {
    if (shape.size() > desired.size()) return false;
    for (size_t i = 0; i < shape.size(); i++) {
        const int64_t size = shape[shape.size() - 1 - i];
        if (size != desired[desired.size() - 1 - i] && size != 1) return false;
    }
    return true;
}
inline MaybeOwned<Tensor> expand_size(const Tensor& t, IntArrayRef sizes) {
    return t.sizes() == sizes ? MaybeOwned<Tensor>::borrowed(t) : MaybeOwned<Tensor>::owned(t.expand(sizes));
}
inline MaybeOwned<Tensor> expand_size(const Tensor& t, IntArrayRef sizes, const char* name) {
    TORCH_CHECK(t.defined(), name, "(...) called with an undefined Tensor");
    return expand_size(t, sizes);
}
inline MaybeOwned<Tensor> expand_inplace(const Tensor& t, const Tensor& to_expand) {
    return expand_size(to_expand, t.sizes());
}
inline MaybeOwned<Tensor> expand_inplace(const Tensor& t, const Tensor& to_expand, const char* name) {
    return expand_size(to_expand, t.sizes(), name);
}
inline std::tuple<MaybeOwned<Tensor>, MaybeOwned<Tensor>> expand_outplace(const Tensor& a, const Tensor& b) {
    const std::vector<int64_t> sizes = infer_size(a.sizes(), b.sizes());
    return {expand_size(a, sizes), expand_size(b, sizes)};
}
inline std::tuple<MaybeOwned<Tensor>, MaybeOwned<Tensor>> expand_outplace(const Tensor& a, const Tensor& b,
                                                                          const char*) {
    return expand_outplace(a, b);
}
inline std::tuple<MaybeOwned<Tensor>, MaybeOwned<Tensor>, MaybeOwned<Tensor>> expand_outplace(const Tensor& a,
                                                                                              const Tensor& b,
                                                                                              const Tensor& c) {
    const std::vector<int64_t> two = infer_size(a.sizes(), b.sizes()), sizes = infer_size(two, c.sizes());
    return {expand_size(a, sizes), expand_size(b, sizes), expand_size(c, sizes)};
}
// Tensors that are not defined stay so.
inline std::vector<Tensor> expand_outplace(TensorList all) {
    std::vector<int64_t> sizes;
    bool first = true;
    for (const Tensor& t : all) {
        if (!t.defined()) continue;
        sizes = first ? t.sizes().vec() : infer_size(sizes, t.sizes());
        first = false;
    }
    std::vector<Tensor> expanded;
    for (const Tensor& t : all) expanded.push_back(t.defined() ? *expand_size(t, sizes) : t);
    return expanded;
}
// `t` added up over the dimensions along which it was expanded from `shape`.
inline Tensor sum_to(Tensor t, IntArrayRef shape) { return t.sum_to_size(shape); }

}  // namespace at
