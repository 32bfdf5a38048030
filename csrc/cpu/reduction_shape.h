// What shape rules and kernels of reductions share.
#pragma once

#include "core/typed_kernel.h"

namespace mt {

// Bit d is set where dimension d is reduced. `dim` is an int, a list, or None; None and the empty list mean all.
uint64_t reduced_dims(const Value& dim, int64_t ndim);

// The argument `dim` of a reduction: an int, a list, or None.
struct ReducedDims {
    Value given;
    uint64_t mask(int64_t ndim) const { return reduced_dims(given, ndim); }
    bool is_empty_list() const { return given.tag == Tag::IntList && given.len == 0; }
};
template <>
struct Parameter<ReducedDims> {
    static constexpr Takes takes{"ReducedDims", kinds(ArgKind::Int, ArgKind::IntList), true};
    static ReducedDims read(const Call& c, int i) { return {c.args[i]}; }
};

}  // namespace mt
