// Shape rules of reductions, scans, normalisations and losses: what each makes of sizes and element types; and how a
// reduction sees its tensor.
#include "cpu/reduction_shape.h"

#include <algorithm>

#include "core/registry.h"
#include "cpu/reduce.h"

namespace mt {

uint64_t reduced_dims(const Value& dim, int64_t ndim) {
    MT_CHECK(ndim <= 64, "only tensors with up to 64 dims are supported");
    uint64_t all = ndim >= 64 ? ~uint64_t(0) : (uint64_t(1) << std::max<int64_t>(ndim, 1)) - 1;
    if (dim.tag == Tag::Int) return uint64_t(1) << wrap_dim(dim.i, ndim);
    if (dim.tag != Tag::IntList || dim.len == 0) return all;
    uint64_t mask = 0;
    for (uint32_t i = 0; i < dim.len; i++) {
        int64_t d = wrap_dim(dim.ints[i], ndim);
        MT_CHECK(!(mask >> d & 1), "dim ", d, " appears multiple times in the list of dims");
        mask |= uint64_t(1) << d;
    }
    return mask;
}

Rows as_rows(const Tensor& self, uint64_t mask, DType dtype, bool flat, bool any_order) {
    Rows r;
    int64_t kept_dims[64], red_dims[64], nk = 0, nr = 0;
    for (int64_t d = 0; d < self.ndim; d++) {
        if (mask >> d & 1) {
            r.red *= self.size(d);
            red_dims[nr++] = d;
        } else {
            r.outer *= self.size(d);
            kept_dims[nk++] = d;
        }
    }
    bool dense = self.dtype == dtype && self.is_non_overlapping_and_dense();
    if (dense && nk == 0 && (any_order || self.is_contiguous())) {
        r.x = TensorRef::share(&self);
        return r;
    }
    if (dense) {
        // Dimensions by decreasing stride: is it kept..., reduced..., kept... with the kept ones in logical order?
        int64_t order[64], n = 0;
        for (int64_t d = 0; d < self.ndim; d++)
            if (self.size(d) != 1) order[n++] = d;
        for (int64_t i = 1; i < n; i++)
            for (int64_t j = i; j > 0 && self.stride(order[j - 1]) < self.stride(order[j]); j--)
                std::swap(order[j - 1], order[j]);
        int64_t i = 0, last_kept = -1, last_red = -1, outer = 1, inner = 1;
        bool fits = true;
        for (; i < n && !(mask >> order[i] & 1); i++) {
            outer *= self.size(order[i]);
            fits &= order[i] > last_kept;
            last_kept = order[i];
        }
        for (; i < n && (mask >> order[i] & 1); i++) {
            fits &= any_order || order[i] > last_red;
            last_red = order[i];
        }
        for (; i < n && !(mask >> order[i] & 1); i++) {
            inner *= self.size(order[i]);
            fits &= order[i] > last_kept;
            last_kept = order[i];
        }
        if (fits && i == n && (!flat || inner == 1)) {
            r.x = TensorRef::share(&self);
            r.outer = outer;
            r.inner = inner;
            return r;
        }
    }
    Dims sizes, strides;
    bool leading = !flat && self.dtype != dtype && self.is_contiguous();
    if (leading) {  // only the type is wrong: convert in place order, then look again
        TensorRef converted = contiguous(self, dtype);
        return as_rows(*converted, mask, dtype, flat, any_order);
    }
    for (int64_t i = 0; i < nk; i++) {
        sizes.push_back(self.size(kept_dims[i]));
        strides.push_back(self.stride(kept_dims[i]));
    }
    for (int64_t i = 0; i < nr; i++) {
        sizes.push_back(self.size(red_dims[i]));
        strides.push_back(self.stride(red_dims[i]));
    }
    TensorRef view = as_strided(self, sizes, strides, self.offset);
    r.x = contiguous(*view, dtype);
    return r;
}

namespace {

// The output's sizes.
void reduced_output(ShapeCall& c, int index, const Tensor& self, uint64_t mask, bool keepdim, DType dtype) {
    Dims sizes;
    for (int64_t d = 0; d < self.ndim; d++) {
        const bool reduced = mask >> d & 1;
        if (!reduced || keepdim) sizes.push_back(reduced ? 1 : self.size(d));
    }
    c.output(index, sizes, dtype);
}

// The words of a reduction's row. Those that the operator lacks are left out at the end or -1.
struct ReduceArgs {
    const Tensor& self;
    std::optional<DType> dtype;
    const ReducedDims& dim;
    uint64_t mask;
    bool keepdim;
    ReduceArgs(const Tensor& self, std::optional<DType> dtype, const ReducedDims& dim, std::optional<bool> keepdim)
        : self(self), dtype(dtype), dim(dim), mask(dim.mask(self.ndim)), keepdim(keepdim.value_or(false)) {}
};

// Before the same dimension is found to be named twice.
void check_not_empty(ShapeCall& c, const Tensor& self, const ReducedDims& dim) {
    if (self.numel() != 0) return;
    MT_CHECK(
        !dim.given.is_none() && !dim.is_empty_list(), c.name(),
        "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
        "argument.");
    auto check = [&](int64_t given) {
        const int64_t d = wrap_dim(given, self.ndim);
        MT_CHECK_INDEX(self.size(d) != 0, c.name(), "(): Expected reduction dim ", d, " to have non-zero size.");
    };
    if (dim.given.tag == Tag::Int) return check(dim.given.i);
    for (uint32_t i = 0; i < dim.given.len; i++) check(dim.given.ints[i]);
}

bool is_integral(DType t) { return is_integer(t) || is_bool(t); }

// reduce: the element type stays.
void reduce_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
                  std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    reduced_output(c, 0, a.self, a.mask, a.keepdim, a.self.dtype);
}

// reduce_extremum: the same for operators without a neutral element.
void extremum_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
                    std::optional<bool> keepdim) {
    check_not_empty(c, self, dim);
    ReduceArgs a(self, dtype, dim, keepdim);
    reduced_output(c, 0, a.self, a.mask, a.keepdim, a.self.dtype);
}

// reduce_sum: integers and bool give int64.
void sum_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
               std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    DType t = a.dtype ? *a.dtype : is_integral(a.self.dtype) ? DType::Int64 : a.self.dtype;
    reduced_output(c, 0, a.self, a.mask, a.keepdim, t);
}

// reduce_mean: floating and complex only.
void mean_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
                std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    DType t = a.dtype ? *a.dtype : a.self.dtype;
    MT_CHECK(is_differentiable(t), c.name(), "(): could not infer output dtype. ",
             a.dtype ? "Optional dtype" : "Input dtype",
             " must be either a floating point or complex dtype. Got: ", dtype_class_name(t));
    reduced_output(c, 0, a.self, a.mask, a.keepdim, t);
}

// reduce_bool: any and all; uint8 stays uint8. Here alone an empty list of dimensions reduces none.
void bool_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
                std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    if (dim.is_empty_list()) a.mask = 0;
    if (c.op->form == Form::Out) {
        const DType out = c.tensor(c.op->out_index).dtype;
        MT_CHECK(is_bool(out) || out == DType::UInt8, c.name(),
                 " only supports bool tensor for result, got: ", dtype_class_name(out));
    }
    reduced_output(c, 0, a.self, a.mask, a.keepdim, a.self.dtype == DType::UInt8 ? DType::UInt8 : DType::Bool);
}

// reduce_int64: counts.
void int64_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
                 std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    reduced_output(c, 0, a.self, a.mask, a.keepdim, DType::Int64);
}

// reduce_argument: the position of an extremum.
void argument_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
                    std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    MT_CHECK(!is_complex(a.self.dtype), c.name(), "(): does not support complex input");
    MT_CHECK(!is_bool(a.self.dtype), c.name(), "(): does not support bool input");
    MT_CHECK_INDEX(a.self.numel() != 0 || !dim.given.is_none(), c.name(),
                   "(): Expected reduction dim to be specified for input.numel() == 0.");
    check_not_empty(c, self, dim);
    reduced_output(c, 0, a.self, a.mask, a.keepdim, DType::Int64);
}

// reduce_indexed: values and int64 positions along one dimension.
void indexed_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
                   std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    check_not_empty(c, self, dim);
    MT_CHECK(!is_complex(a.self.dtype), c.name(), "(): does not support complex input");
    Dims sizes;
    for (int64_t d = 0; d < a.self.ndim; d++) {
        bool reduced = a.mask >> d & 1;
        if (!reduced)
            sizes.push_back(a.self.size(d));
        else if (a.keepdim)
            sizes.push_back(1);
    }
    c.output(0, sizes, a.self.dtype);
    c.output(1, sizes, DType::Int64);
}

// reduce_norm: the result is real.
void norm_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
                std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    DType t = a.dtype ? *a.dtype : a.self.dtype;
    MT_CHECK(is_differentiable(t), "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
             dtype_class_name(a.self.dtype));
    reduced_output(c, 0, a.self, a.mask, a.keepdim, to_real(t));
}

// reduce_float: integers give the default type (logsumexp).
void float_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
                 std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    reduced_output(c, 0, a.self, a.mask, a.keepdim, is_differentiable(a.self.dtype) ? a.self.dtype : default_dtype());
}

// reduce_var: real result; reduce_var_mean: the variance and the mean.
void var_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
               std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    MT_CHECK(is_differentiable(a.self.dtype), c.nrets > 1 ? c.name() : "std and var",
             " only support floating point and complex dtypes");
    reduced_output(c, 0, a.self, a.mask, a.keepdim, to_real(a.self.dtype));
    if (c.nrets > 1) reduced_output(c, 1, a.self, a.mask, a.keepdim, a.self.dtype);
}

// reduce_pair: two outputs of the input's type (aminmax).
void pair_shape(ShapeCall& c, const Tensor& self, std::optional<DType> dtype, ReducedDims dim,
                std::optional<bool> keepdim) {
    ReduceArgs a(self, dtype, dim, keepdim);
    MT_CHECK(a.self.numel() != 0 || !dim.given.is_none(),
             "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
    check_not_empty(c, self, dim);
    for (int i = 0; i < 2; i++) reduced_output(c, i, a.self, a.mask, a.keepdim, a.self.dtype);
}

// scan: words self, dim, dtype; integers give int64. scan_like keeps the type; scan_indexed adds positions.
void scan_shape(ShapeCall& c, const Tensor& self, int64_t dim, std::optional<DType> dtype) {
    wrap_dim(dim, self.ndim);
    DType t = is_integral(self.dtype) ? DType::Int64 : self.dtype;
    if (c.op->form == Form::Out) t = c.tensor(c.op->out_index).dtype;  // sums are in that of the result
    c.output(0, self.sizes(), dtype.value_or(t));
}
void scan_like_shape(ShapeCall& c, const Tensor& self, int64_t dim) {
    wrap_dim(dim, self.ndim);
    c.output(0, self.sizes(), self.dtype);
}
void scan_indexed_shape(ShapeCall& c, const Tensor& self, int64_t dim) {
    scan_like_shape(c, self, dim);
    c.output(1, self.sizes(), DType::Int64);
}

// softmax: words self, dim, half_to_float (may be missing). Half inputs may give float results.
void softmax_shape(ShapeCall& c, const Tensor& self, int64_t dim, bool half_to_float) {
    wrap_dim(dim, self.ndim);
    bool widen = half_to_float && half_to_float;
    MT_CHECK(!widen, "softmax with half to float conversion is not supported on CPU");
    MT_CHECK_AS(NotImplemented, is_floating(self.dtype), "\"", c.name() + 1,
                "_lastdim_kernel_impl\" not implemented for '", dtype_class_name(self.dtype), "'");
    c.output(0, self.sizes(), self.dtype);
}

// softmax_backward: words grad_output, output, dim, input_dtype.
void softmax_backward_shape(ShapeCall& c, const Tensor& grad_output, const Tensor& output, int64_t dim,
                            DType input_dtype) {
    wrap_dim(dim, output.ndim);
    MT_CHECK(grad_output.sizes() == output.sizes(), c.name(), ": the gradient's sizes ", grad_output.sizes(),
             " are not the output's, ", output.sizes());
    c.output(0, grad_output.sizes(), input_dtype);
}

}  // namespace

KERNELS
{
    shape<reduce_shape>("reduce");
    shape<extremum_shape>("reduce_extremum");
    shape<sum_shape>("reduce_sum");
    shape<mean_shape>("reduce_mean");
    shape<bool_shape>("reduce_bool");
    shape<int64_shape>("reduce_int64");
    shape<argument_shape>("reduce_argument");
    shape<indexed_shape>("reduce_indexed");
    shape<norm_shape>("reduce_norm");
    shape<float_shape>("reduce_float");
    shape<var_shape>("reduce_var");
    shape<pair_shape>("reduce_pair");
    shape<scan_shape>("scan");
    shape<scan_like_shape>("scan_like");
    shape<scan_indexed_shape>("scan_indexed");
    shape<softmax_shape>("softmax");
    shape<softmax_backward_shape>("softmax_backward");
}

}  // namespace mt
