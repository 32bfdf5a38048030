// Reductions over TensorIterator: outputs whose steps along the reduced dimensions are zero, and the functions that
// make such iterators of a tensor, dimensions and `keepdim`.
#pragma once

#include <mindtorch/iterator.h>
#include <mindtorch/native.h>

namespace at {
namespace native {

namespace detail {

// The positions of an iterator as those of its outputs ("kept") and, for each, of the elements that it is made of.
class Reduced {
  public:
    explicit Reduced(const TensorIteratorBase& iter) : iter_(iter) {
        for (int d = 0; d < iter.ndim(); d++) {
            const bool reduced = iter.is_dim_reduced(d);
            (reduced ? inner_ : outer_).push_back(d);
            (reduced ? each_ : kept_) *= iter.shape()[static_cast<size_t>(d)];
        }
    }
    int64_t kept() const { return kept_; }
    int64_t each() const { return each_; }
    // The addresses of all operands at an output element.
    std::vector<char*> at(int64_t position) const {
        std::vector<char*> data;
        for (int i = 0; i < iter_.ntensors(); i++) data.push_back(static_cast<char*>(iter_.data_ptr(i)));
        for (int d : outer_) {
            const int64_t n = iter_.shape()[static_cast<size_t>(d)], index = position % n;
            position /= n;
            for (int i = 0; i < iter_.ntensors(); i++)
                data[static_cast<size_t>(i)] += index * iter_.strides(i)[static_cast<size_t>(d)];
        }
        return data;
    }
    // f(address, step in bytes, first, count) for the elements [begin, end) of an operand, runs of the fastest
    // dimension.
    template <class F>
    void walk(int operand, const char* base, int64_t begin, int64_t end, const F& f) const {
        const IntArrayRef steps = iter_.strides(operand), shape = iter_.shape();
        while (begin < end) {
            int64_t rest = begin, n = end - begin, step = 0;
            const char* p = base;
            for (size_t k = 0; k < inner_.size(); k++) {
                const size_t d = static_cast<size_t>(inner_[k]);
                const int64_t index = rest % shape[d];
                if (k == 0) n = std::min(n, shape[d] - index), step = steps[d];
                p += index * steps[d];
                rest /= shape[d];
            }
            f(p, step, begin, n);
            begin += n;
        }
    }

  private:
    const TensorIteratorBase& iter_;
    std::vector<int> outer_, inner_;
    int64_t kept_ = 1, each_ = 1;
};

template <class T>
void fill_outputs(TensorIteratorBase& iter, const T& value) {
    iter.output().fill_(value);
}
template <class... T>
void fill_outputs(TensorIteratorBase& iter, const std::tuple<T...>& values) {
    int i = 0;
    std::apply([&](const T&... v) { (iter.output(i++).fill_(v), ...); }, values);
}

// accumulate(acc, address, step, first, count) over every output's elements, in pieces that `combine` joins where there
// is one output only; store(acc, addresses) at its end.
template <class Acc, class Accumulate, class Combine, class Store>
void reduce(TensorIteratorBase& iter, const Acc& init, const Accumulate& accumulate, const Combine& combine,
            const Store& store) {
    const Reduced walk(iter);
    const int in = iter.noutputs();
    auto part = [&](const std::vector<char*>& data, int64_t begin, int64_t end) {
        Acc acc = init;
        walk.walk(in, data[static_cast<size_t>(in)], begin, end,
                  [&](const char* p, int64_t step, int64_t first, int64_t n) { accumulate(acc, p, step, first, n); });
        return acc;
    };
    if (walk.kept() == 1) {
        const std::vector<char*> data = walk.at(0);
        const int64_t each = walk.each(), grain = at::internal::GRAIN_SIZE;
        const int64_t pieces =
            at::in_parallel_region() ? 1 : std::max<int64_t>(1, std::min<int64_t>(at::get_num_threads(), each / grain));
        const int64_t size = (each + pieces - 1) / pieces;
        std::vector<Acc> parts(static_cast<size_t>(pieces), init);
        at::parallel_for(0, pieces, 1, [&](int64_t b, int64_t e) {
            for (int64_t i = b; i < e; i++)
                parts[static_cast<size_t>(i)] = part(data, i * size, std::min(each, (i + 1) * size));
        });
        Acc acc = parts[0];
        for (size_t i = 1; i < parts.size(); i++) acc = combine(acc, parts[i]);
        store(acc, data);
        return;
    }
    const int64_t grain = std::max<int64_t>(1, at::internal::GRAIN_SIZE / std::max<int64_t>(1, walk.each()));
    at::parallel_for(0, walk.kept(), grain, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++) {
            const std::vector<char*> data = walk.at(i);
            store(part(data, 0, walk.each()), data);
        }
    });
}

}  // namespace detail

// `ops` has reduce(acc, element, index), combine(acc, acc) and project(acc), which gives the output or a tuple of
// outputs. An index counts the elements that one output is made of, the fastest dimension in memory first.
template <class Ops, class Init>
void binary_kernel_reduce(TensorIteratorBase& iter, Ops ops, Init init) {
    using Reduce = detail::Traits<decltype(&Ops::reduce)>;
    using Data = std::tuple_element_t<1, typename Reduce::Arguments>;
    using Result = std::decay_t<decltype(ops.project(init))>;
    using Out = detail::Outputs<Result>;
    static_assert(std::is_same_v<typename Reduce::Result, Init>, "all accumulate types must match");
    TORCH_CHECK(iter.ninputs() == 1 && iter.noutputs() == Out::count, "the functions take 1 and give ", Out::count,
                " values, the iterator has ", iter.ninputs(), " inputs and ", iter.noutputs(), " outputs");
    Out::check(iter);
    detail::Outputs<int>::expect<Data>(iter, Out::count);
    if (iter.numel() == 0) return detail::fill_outputs(iter, ops.project(init));
    detail::reduce(
        iter, init,
        [&](Init& acc, const char* p, int64_t step, int64_t first, int64_t n) {
            for (int64_t i = 0; i < n; i++)
                acc = ops.reduce(acc, *reinterpret_cast<const Data*>(p + i * step), first + i);
        },
        [&](const Init& a, const Init& b) { return ops.combine(a, b); },
        [&](const Init& acc, const std::vector<char*>& data) {
            const int64_t none[Out::count] = {};
            Out::store(ops.project(acc), data.data(), none, 0);
        });
}

// op(a, b) of two values of one type, from `ident` on. Eight accumulators where elements follow each other, which the
// compiler makes vectors of: the function of vectors gives the same values.
template <class F, class V>
void binary_kernel_reduce_vec(TensorIteratorBase& iter, F op, V, double ident = 0) {
    using T = typename detail::Traits<F>::Result;
    TORCH_CHECK(iter.ninputs() == 1 && iter.noutputs() == 1,
                "a function of two values reduces one input to one output");
    detail::Outputs<int>::expect<T>(iter, 0);
    detail::Outputs<int>::expect<T>(iter, 1);
    const T init = static_cast<T>(ident);
    if (iter.numel() == 0) return detail::fill_outputs(iter, init);
    detail::reduce(
        iter, init,
        [&](T& acc, const char* p, int64_t step, int64_t, int64_t n) {
            constexpr int64_t lanes = 8;
            int64_t i = 0;
            if (step == static_cast<int64_t>(sizeof(T)) && n >= 2 * lanes) {
                const T* v = reinterpret_cast<const T*>(p);
                T sums[lanes];
                for (int64_t k = 0; k < lanes; k++) sums[k] = v[k];
                for (i = lanes; i + lanes <= n; i += lanes)
                    for (int64_t k = 0; k < lanes; k++) sums[k] = op(sums[k], v[i + k]);
                for (int64_t k = 0; k < lanes; k++) acc = op(acc, sums[k]);
            }
            for (; i < n; i++) acc = op(acc, *reinterpret_cast<const T*>(p + i * step));
        },
        op, [](const T& acc, const std::vector<char*>& data) { *reinterpret_cast<T*>(data[0]) = acc; });
}

// Whether the elements of an output follow each other in the input's memory: what the next function wants.
inline bool is_reduce_lastdim(TensorIteratorBase& iter) {
    return iter.num_reduce_dims() == 1 && iter.is_dim_reduced(0) && iter.ninputs() == 1 &&
           iter.strides(1)[0] == iter.element_size(1);
}
// reduce_op(address of an output, address of its elements, how many).
template <class F>
void binary_kernel_reduce_lastdim(TensorIteratorBase& iter, F reduce_op) {
    if (iter.numel() == 0) return;
    TORCH_CHECK(is_reduce_lastdim(iter),
                "binary_kernel_reduce_lastdim: one dimension is reduced, the fastest in memory");
    const detail::Reduced walk(iter);
    at::parallel_for(0, walk.kept(), std::max<int64_t>(1, at::internal::GRAIN_SIZE / walk.each()),
                     [&](int64_t b, int64_t e) {
                         for (int64_t i = b; i < e; i++) {
                             const std::vector<char*> data = walk.at(i);
                             reduce_op(data[0], data[1], walk.each());
                         }
                     });
}

// ---- dimensions ----

using DimMask = TensorIteratorBase::DimMask;

template <class T>
constexpr T upper_bound() {
    using limits = std::numeric_limits<T>;
    return limits::has_infinity ? limits::infinity() : limits::max();
}
template <class T>
constexpr T lower_bound() {
    using limits = std::numeric_limits<T>;
    return limits::has_infinity ? -limits::infinity() : limits::lowest();
}
inline DimVector make_dim_vector(OptionalIntArrayRef dims, int64_t ndim) {
    DimVector all;
    if (dims) all.append(dims->begin(), dims->end());
    for (int64_t d = 0; !dims && d < ndim; d++) all.push_back(d);
    return all;
}
// Without dimensions, and of an empty list unless told otherwise, every one.
inline DimMask make_dim_mask(OptionalIntArrayRef dims, int64_t ndim, bool allow_empty_dims = false) {
    TORCH_CHECK(ndim <= 64, "only tensors with up to 64 dims are supported");
    DimMask mask;
    if (!dims || (dims->empty() && !allow_empty_dims)) return mask.flip();
    for (int64_t given : *dims) {
        const size_t d = static_cast<size_t>(at::maybe_wrap_dim(given, ndim));
        TORCH_CHECK(!mask[d], "dim ", d, " appears multiple times in the list of dims");
        mask[d] = true;
    }
    return mask;
}
inline DimVector shape_from_dim_mask(const Tensor& self, DimMask mask, bool keepdim) {
    DimVector shape;
    for (int64_t d = 0; d < self.dim(); d++) {
        const bool reduced = mask[static_cast<size_t>(d)];
        if (!reduced)
            shape.push_back(self.size(d));
        else if (keepdim)
            shape.push_back(1);
    }
    return shape;
}
inline void resize_reduction_result(Tensor& result, const Tensor& self, DimMask mask, bool keepdim, ScalarType) {
    TORCH_CHECK(result.defined(),
                "Cannot create a new tensor inside a reduction op. You likely tried to call an "
                "operator with an out argument but the out argument was an undefined tensor.");
    resize_output(result, shape_from_dim_mask(self, mask, keepdim));
}
inline Tensor create_reduction_result(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, ScalarType dtype) {
    return at::empty(shape_from_dim_mask(self, make_dim_mask(dim, self.dim()), keepdim), self.options().dtype(dtype));
}
// The result with the reduced dimensions, of size one.
inline Tensor review_reduce_result(const Tensor& result, int ndim, DimMask mask, bool keepdim) {
    Tensor viewed = result;
    for (int64_t d = 0; !keepdim && d < ndim; d++)
        if (mask[static_cast<size_t>(d)]) viewed = viewed.unsqueeze(d);
    return viewed;
}
inline ScalarType get_dtype_from_self(const Tensor& self, const std::optional<ScalarType>& dtype,
                                      bool promote_integers) {
    if (dtype) return *dtype;
    return promote_integers && at::isIntegralType(self.scalar_type(), true) ? kLong : self.scalar_type();
}
inline ScalarType get_dtype_from_result(Tensor& result, std::optional<ScalarType> dtype) {
    TORCH_CHECK(result.defined(),
                "Cannot create a new tensor inside a reduction op. You likely tried to call an "
                "operator with an out argument but the out argument was an undefined tensor.");
    return dtype.value_or(result.scalar_type());
}
inline Tensor integer_upcast(const Tensor& self, std::optional<ScalarType> dtype) {
    return self.to(get_dtype_from_self(self, dtype, true));
}
inline void zero_numel_check_dims(const Tensor& self, int64_t dim, const char* name) {
    const bool scalar = self.dim() == 0;
    TORCH_CHECK_INDEX(!scalar || dim == 0 || dim == -1, name, ": Expected reduction dim -1 or 0 for scalar but got ",
                      dim);
    TORCH_CHECK_INDEX(scalar || self.size(dim) != 0, name, ": Expected reduction dim ", dim, " to have non-zero size.");
}
inline void zero_numel_check_dims(const Tensor& self, IntArrayRef dims, const char* name) {
    TORCH_CHECK(!dims.empty(), name, ": Expected reduction dim to be specified for input.numel() == 0. ",
                "Specify the reduction dim with the 'dim' argument.");
    for (int64_t d : dims) zero_numel_check_dims(self, d, name);
}

inline TensorIterator make_reduction(const char* name, Tensor& result, const Tensor& self, OptionalIntArrayRef dims,
                                     bool keepdim, ScalarType in_dtype, ScalarType out_dtype) {
    TORCH_CHECK(!result.defined() || result.scalar_type() == out_dtype, name,
                ": provided dtype must match dtype of result. Got ", result.scalar_type(), " and ", out_dtype, ".");
    const DimMask mask = make_dim_mask(dims, self.dim());
    resize_reduction_result(result, self, mask, keepdim, out_dtype);
    Tensor viewed = review_reduce_result(result, static_cast<int>(self.dim()), mask, keepdim);
    return TensorIterator::reduce_op(viewed, self.to(in_dtype));
}
inline TensorIterator make_reduction(const char* name, Tensor& result, const Tensor& self, OptionalIntArrayRef dims,
                                     bool keepdim, ScalarType dtype) {
    const ScalarType in = self.is_complex() ? c10::toComplexType(dtype) : dtype;
    return make_reduction(name, result, self, dims, keepdim, in, dtype);
}
inline TensorIterator make_reduction(const char* name, Tensor& result1, Tensor& result2, const Tensor& self,
                                     OptionalIntArrayRef dims, bool keepdim, ScalarType dtype1, ScalarType dtype2) {
    TORCH_CHECK((!result1.defined() || result1.scalar_type() == dtype1) &&
                    (!result2.defined() || result2.scalar_type() == dtype2),
                name, ": provided dtype must match dtype of result. Got ", result1.scalar_type(), result2.scalar_type(),
                " and ", dtype1, dtype2, ".");
    const DimMask mask = make_dim_mask(dims, self.dim());
    const int ndim = static_cast<int>(self.dim());
    resize_reduction_result(result1, self, mask, keepdim, dtype1);
    resize_reduction_result(result2, self, mask, keepdim, dtype2);
    Tensor first = review_reduce_result(result1, ndim, mask, keepdim);
    Tensor second = review_reduce_result(result2, ndim, mask, keepdim);
    return TensorIterator::reduce_op(first, second, self.to(dtype1));
}
inline TensorIterator make_reduction(const char* name, Tensor& result1, Tensor& result2, const Tensor& self,
                                     OptionalIntArrayRef dims, bool keepdim, ScalarType dtype) {
    return make_reduction(name, result1, result2, self, dims, keepdim, dtype, dtype);
}

}  // namespace native

namespace meta {

inline DimVector get_reduction_shape(const Tensor& self, IntArrayRef dims, bool keepdim,
                                     bool allow_empty_dims = false) {
    return native::shape_from_dim_mask(self, native::make_dim_mask(dims, self.dim(), allow_empty_dims), keepdim);
}
inline TensorIterator make_reduction(const Tensor& self, const Tensor& result, OptionalIntArrayRef dims, bool keepdim,
                                     ScalarType in_dtype) {
    const auto mask = native::make_dim_mask(dims, self.dim());
    Tensor viewed = native::review_reduce_result(result, static_cast<int>(self.dim()), mask, keepdim);
    return TensorIterator::reduce_op(viewed, self.to(in_dtype));
}

}  // namespace meta
}  // namespace at
