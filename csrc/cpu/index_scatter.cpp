// Elements picked or written by an index tensor along one dimension: gather, scatter and their reductions, take, put.
#include <cmath>
#include <limits>
#include <vector>

#include "core/kernel.h"
#include "cpu/number.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

enum class Reduce { Assign, Sum, Prod, Mean, Amax, Amin };

Reduce reduce_named(std::string_view name, const char* op) {
    if (name == "sum" || name == "add") return Reduce::Sum;
    if (name == "prod" || name == "multiply") return Reduce::Prod;
    if (name == "mean") return Reduce::Mean;
    if (name == "amax") return Reduce::Amax;
    if (name == "amin") return Reduce::Amin;
    MT_THROW(Runtime, op, " reduce argument must be either sum, prod, mean, amax or amin, got ", name, ".");
}

template <class T>
bool is_nan(const T& v) {
    if constexpr (std::is_floating_point_v<T>)
        return std::isnan(v);
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        return std::isnan(static_cast<float>(v));
    else
        return false;
}

template <class T>
T combine(Reduce reduce, const T& a, const T& b) {
    switch (reduce) {
        case Reduce::Assign:
            return b;
        case Reduce::Sum:
        case Reduce::Mean:
            return num::add(a, b);
        case Reduce::Prod:
            return num::mul(a, b);
        default:
            if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
                return a;  // refused beforehand
            } else {
                if (is_nan(a)) return a;
                if (is_nan(b)) return b;
                return reduce == Reduce::Amax ? (a < b ? b : a) : (b < a ? b : a);
            }
    }
}

template <class T>
T identity(Reduce reduce) {
    if (reduce == Reduce::Prod) return T(1);
    if (reduce == Reduce::Amax || reduce == Reduce::Amin) {
        bool low = reduce == Reduce::Amax;
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
            return T(low ? -INFINITY : INFINITY);
        else if constexpr (std::is_floating_point_v<T>)
            return low ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
        else if constexpr (std::is_integral_v<T>)
            return low ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
        else if constexpr (std::is_same_v<T, Bool>)
            return T(!low);
    }
    return T(0);
}

// ---- checks shared by gather and scatter ----

void check_index_dtype(const Tensor& index, const char* op) {
    MT_CHECK(index.dtype == DType::Int64 || index.dtype == DType::Int32, op, "(): Expected dtype int64 for index");
}

TensorRef index64(const Tensor& index) {
    if (index.dtype == DType::Int64) return TensorRef::share(&index);
    TensorRef wide = empty(index.sizes(), DType::Int64);
    copy_into(*wide, index);
    return wide;
}

int64_t at_least_1(const Tensor& t) { return t.dim() ? t.dim() : 1; }
int64_t size_or_1(const Tensor& t, int64_t d) { return t.dim() ? t.size(d) : 1; }

void check_gather(const Tensor& self, int64_t dim, const Tensor& index) {
    check_index_dtype(index, "gather");
    if (index.numel() == 0) return;
    MT_CHECK(at_least_1(self) == at_least_1(index),
             "Index tensor must have the same number of dimensions as input tensor");
    for (int64_t d = 0; d < index.dim(); d++)
        MT_CHECK(d == dim || index.size(d) <= size_or_1(self, d), "Size does not match at dimension ", d,
                 " expected index ", index.sizes(), " to be no larger than self ", self.sizes(),
                 " apart from dimension ", dim);
}

void check_scatter(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
    check_index_dtype(index, op);
    if (src) MT_CHECK(self.dtype == src->dtype, op, "(): Expected self.dtype to be equal to src.dtype");
    if (index.numel() == 0) return;
    MT_CHECK(at_least_1(self) == at_least_1(index),
             "Index tensor must have the same number of dimensions as self tensor");
    bool fits = true;
    for (int64_t d = 0; d < index.dim(); d++) {
        if (d != dim && index.size(d) > size_or_1(self, d)) fits = false;
        if (src && index.size(d) > size_or_1(*src, d)) fits = false;
    }
    if (src) {
        MT_CHECK(at_least_1(*src) == at_least_1(index),
                 "Index tensor must have the same number of dimensions as src tensor");
        MT_CHECK(fits, "Expected index ", index.sizes(), " to be no larger than self ", self.sizes(),
                 " apart from dimension ", dim, " and to be no larger size than src ", src->sizes());
    } else {
        MT_CHECK(fits, "Expected index ", index.sizes(), " to be no larger than self ", self.sizes(),
                 " apart from dimension ", dim);
    }
}

void check_bounds(const Tensor& dense_index, int64_t dim, int64_t size) {
    const int64_t* p = dense_index.data<int64_t>();
    int64_t n = dense_index.numel();
    uint64_t worst = 0;
    for (int64_t i = 0; i < n; i++) worst |= static_cast<uint64_t>(p[i] < 0 || p[i] >= size);
    if (!worst) return;
    for (int64_t i = 0; i < n; i++)
        MT_CHECK(p[i] >= 0 && p[i] < size, "index ", p[i], " is out of bounds for dimension ", dim, " with size ",
                 size);
}

// An index as its distinct elements, contiguous, and their strides in the index's shape: 0 where it is expanded, as
// when one position is given for whole rows.
struct Picks {
    TensorRef distinct;
    Dims sizes, strides;
    const int64_t* data() const { return distinct->data<int64_t>(); }
};
Picks picks_of(const Tensor& given, int64_t dim, int64_t size) {
    TensorRef index = index64(given);
    Dims sizes(index->sizes()), strides(index->strides());
    for (int64_t d = 0; d < index->dim(); d++)
        if (strides[d] == 0) sizes[d] = std::min<int64_t>(sizes[d], 1);
    Picks p;
    p.distinct = contiguous(*as_strided(*index, sizes, strides, index->offset));
    check_bounds(*p.distinct, dim, size);
    p.sizes = Dims(index->sizes());
    p.strides = broadcast_strides(*p.distinct, index->dim());
    if (index->dim() == 0) {
        p.sizes.push_back(1);
        p.strides.push_back(0);
    }
    return p;
}

// Strides of t with that of `dim` taken out: the index gives the position there.
Dims strides_without(const Tensor& t, int64_t dim, int64_t rank) {
    Dims s(rank, 0);
    for (int64_t d = 0; d < t.dim(); d++) s[d] = d == dim ? 0 : t.stride(d);
    return s;
}
Dims strides_of(const Tensor& t, int64_t rank) {
    Dims s(t.strides());
    s.resize(rank, 1);
    return s;
}
Dims sizes_of(const Tensor& t) {
    Dims s(t.sizes());
    if (s.empty()) s.push_back(1);
    return s;
}

// ---- gather ----

void gather_shape(ShapeCall& c) {
    const Tensor &self = c.tensor(0), &index = c.tensor(2);
    int64_t dim = wrap_dim(c.integer(1), self.dim());
    check_gather(self, dim, index);
    c.output(0, index.sizes(), self.dtype);
}

void gather_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    Tensor& out = c.out();
    if (out.numel() == 0) return;
    int64_t dim = wrap_dim(c.integer(1), self.dim());
    Picks picks = picks_of(c.tensor(2), dim, size_or_1(self, dim));
    int64_t rank = picks.sizes.size(), stride = self.dim() ? self.stride(dim) : 1;
    Dims from = strides_without(self, dim, rank), to = strides_of(out, rank);
    StridedWalk<3> walk(picks.sizes, {IntSpan(to), IntSpan(picks.strides), IntSpan(from)});
    visit_size(self.itemsize(), [&]<class T>() {
        walk.run_parallel([&](const auto& at, int64_t n, const auto& steps) {
            const T* source = self.words<T>() + at[2];
            T* target = out.words<T>() + at[0];
            const int64_t* pick = picks.data() + at[1];
            if (steps[1] == 0 && steps[0] == 1 && steps[2] == 1)
                std::memcpy(static_cast<void*>(target), source + *pick * stride, sizeof(T) * static_cast<size_t>(n));
            else if (steps[0] == 1 && steps[1] == 1 && steps[2] == 0)
                for (int64_t i = 0; i < n; i++) target[i] = source[pick[i] * stride];
            else
                for (int64_t i = 0; i < n; i++)
                    target[i * steps[0]] = source[i * steps[2] + pick[i * steps[1]] * stride];
        });
    });
}

// ---- scatter ----

// The dimension that work is split along between threads: the longest but `dim`, along which nothing is written twice.
int64_t split_dim(IntSpan sizes, int64_t dim) {
    int64_t longest = -1;
    for (int64_t d = 0; d < sizes.size; d++)
        if (d != dim && (longest < 0 || sizes[d] > sizes[longest])) longest = d;
    return longest;
}

// put(target element, source element) for every index; to one target in row-major order of the index.
template <class T, class Put>
void scatter_each(Tensor& out, int64_t dim, const Picks& picks, const T* source, IntSpan source_strides, Put put) {
    int64_t rank = picks.sizes.size(), stride = out.dim() ? out.stride(dim) : 1;
    Dims to = strides_without(out, dim, rank);
    const int64_t split = split_dim(picks.sizes, dim), parts = split < 0 ? 1 : picks.sizes[split];
    parallel_for(parts, grain_for(numel_of(picks.sizes) / parts), [&](int64_t begin, int64_t end) {
        Dims sizes(picks.sizes);
        T* first_target = out.words<T>();
        const T* first_source = source;
        const int64_t* first_pick = picks.data();
        if (split >= 0) {
            sizes[split] = end - begin;
            first_target += begin * to[split];
            first_source += begin * source_strides[split];
            first_pick += begin * picks.strides[split];
        }
        StridedWalk<3> walk(sizes, {IntSpan(to), IntSpan(picks.strides), source_strides});
        walk.run([&](const auto& at, int64_t n, const auto& steps) {
            T* target = first_target + at[0];
            const T* values = first_source + at[2];
            const int64_t* pick = first_pick + at[1];
            if (steps[1] == 0 && steps[0] == 1 && steps[2] == 1) {
                target += *pick * stride;
#pragma GCC ivdep
                for (int64_t i = 0; i < n; i++) put(target[i], values[i]);
            } else {
                for (int64_t i = 0; i < n; i++)
                    put(target[i * steps[0] + pick[i * steps[1]] * stride], values[i * steps[2]]);
            }
        });
    });
}

template <class T>
void scatter_reduce_typed(Tensor& out, int64_t dim, const Picks& index, const T* source, IntSpan source_strides,
                          Reduce reduce, bool include_self) {
    if (!include_self) {
        T start = identity<T>(reduce);
        T dummy = T(0);
        Dims still(index.sizes.size(), 0);
        scatter_each<T>(out, dim, index, &dummy, still, [start](T& a, const T&) { a = start; });
    }
    switch (reduce) {
        case Reduce::Assign:
            scatter_each<T>(out, dim, index, source, source_strides, [](T& a, const T& b) { a = b; });
            break;
        case Reduce::Sum:
        case Reduce::Mean:
            scatter_each<T>(out, dim, index, source, source_strides, [](T& a, const T& b) { a = num::add(a, b); });
            break;
        default:
            scatter_each<T>(out, dim, index, source, source_strides,
                            [reduce](T& a, const T& b) { a = combine(reduce, a, b); });
    }
}

// Division of each element by how many values went into it.
void divide_by_counts(Tensor& out, int64_t dim, const Picks& index, bool include_self) {
    TensorRef counts = zeros(out.sizes(), DType::Int64);
    int64_t one = 1;
    Dims still(index.sizes.size(), 0);
    scatter_each<int64_t>(*counts, dim, index, &one, still, [](int64_t& a, const int64_t& b) { a += b; });
    Dims sizes = sizes_of(out), to = strides_of(out, sizes.size()), from = strides_of(*counts, sizes.size());
    StridedWalk<2> walk(sizes, {IntSpan(to), IntSpan(from)});
    const int64_t* count = counts->data<int64_t>();
    visit(NumberTypes{}, out.dtype, "scatter_reduce", [&]<class T>() {
        T* p = out.data<T>();
        walk.run([&](const auto& at, int64_t n, const auto& steps) {
            for (int64_t i = 0; i < n; i++) {
                int64_t k = count[at[1] + i * steps[1]] + (include_self ? 1 : 0);
                if (k <= 1) continue;
                T& v = p[at[0] + i * steps[0]];
                if constexpr (std::is_integral_v<T>) {
                    int64_t q = static_cast<int64_t>(v) / k;  // rounds down, as floor_divide does
                    if (static_cast<int64_t>(v) % k != 0 && static_cast<int64_t>(v) < 0) q--;
                    v = static_cast<T>(q);
                } else if constexpr (std::is_same_v<T, c64>) {
                    v /= static_cast<float>(k);
                } else if constexpr (std::is_same_v<T, c128>) {
                    v /= static_cast<double>(k);
                } else {
                    v = T(static_cast<opmath_t<T>>(v) / static_cast<opmath_t<T>>(k));
                }
            }
        });
    });
}

void scatter_shape(ShapeCall& c) { c.output_like(0, c.tensor(0)); }

// args: self, dim, index, then a tensor or a scalar
void scatter_with(Call& c, const char* op, Reduce reduce, bool include_self) {
    const Tensor& self = c.tensor(0);
    Tensor& out = c.out();
    const Tensor* src = c.tensor_or_null(3);
    int64_t dim = wrap_dim(c.integer(1), self.dim());
    check_scatter(op, self, dim, c.tensor(2), src);
    TensorRef kept = src && src->storage == out.storage ? clone(*src) : TensorRef::share(src);
    if (out.raw() != self.raw()) copy_into(out, self);
    if (c.tensor(2).numel() == 0) return;
    Picks index = picks_of(c.tensor(2), dim, size_or_1(self, dim));
    MT_CHECK(!is_complex(out.dtype) || (reduce != Reduce::Amax && reduce != Reduce::Amin),
             "scatter_reduce(): amax and amin are not defined for complex numbers");
    int64_t rank = index.sizes.size();
    Dims strides = src ? strides_of(*kept, rank) : Dims(rank, 0);
    if (reduce == Reduce::Assign && src) {
        visit_size(out.itemsize(), [&]<class T>() {
            scatter_each<T>(out, dim, index, kept->words<T>(), strides, [](T& a, const T& b) { a = b; });
        });
        return;
    }
    visit(AllTypes{}, out.dtype, op, [&]<class T>() {
        T value = src ? T(0) : c.scalar(3).to<T>();
        scatter_reduce_typed<T>(out, dim, index, src ? kept->data<T>() : &value, strides, reduce, include_self);
    });
    if (reduce == Reduce::Mean) divide_by_counts(out, dim, index, include_self);
}

void scatter_cpu(Call& c) { scatter_with(c, "scatter", Reduce::Assign, true); }
void scatter_add_cpu(Call& c) { scatter_with(c, "scatter_add", Reduce::Sum, true); }
void scatter_named_cpu(Call& c) {
    std::string_view name = c.string(4);
    MT_CHECK(name == "add" || name == "multiply", "reduce argument must be either add or multiply.");
    scatter_with(c, "scatter", reduce_named(name, "scatter"), true);
}
void scatter_reduce_cpu(Call& c) {
    scatter_with(c, "scatter_reduce", reduce_named(c.string(4), "scatter_reduce"), c.boolean(5));
}

// ---- take and put: indices into the flattened tensor ----

void take_shape(ShapeCall& c) { c.output(0, c.tensor(1).sizes(), c.tensor(0).dtype); }

int64_t flat_position(int64_t i, int64_t n) {
    MT_CHECK_INDEX(i >= -n && i < n, "out of range: tried to access index ", i, " on a tensor of ", n, " elements.");
    return i < 0 ? i + n : i;
}

void take_cpu(Call& c) {
    MT_CHECK(c.tensor(1).dtype == DType::Int64, "take(): Expected a long tensor for index, but got ",
             dtype_class_name(c.tensor(1).dtype));
    MT_CHECK_INDEX(c.tensor(0).numel() > 0 || c.tensor(1).numel() == 0, "take(): tried to take from an empty tensor");
    TensorRef self = contiguous(c.tensor(0)), index = contiguous(c.tensor(1));
    Tensor& out = c.out();
    const int64_t* picks = index->data<int64_t>();
    int64_t n = index->numel(), size = self->numel();
    visit_size(self->itemsize(), [&]<class T>() {
        const T* from = self->words<T>();
        T* to = out.words<T>();
        for (int64_t i = 0; i < n; i++) to[i] = from[flat_position(picks[i], size)];
    });
}

void put_cpu(Call& c) {
    const Tensor &self = c.tensor(0), &source = c.tensor(2);
    Tensor& out = c.out();
    MT_CHECK(self.dtype == source.dtype,
             "put_(): self and source expected to have the same dtype, but got self.dtype = ",
             dtype_class_name(self.dtype), " and source.dtype = ", dtype_class_name(source.dtype));
    MT_CHECK(c.tensor(1).dtype == DType::Int64, "put_(): Expected a long tensor for index, but got ",
             dtype_class_name(c.tensor(1).dtype));
    MT_CHECK(c.tensor(1).numel() == source.numel(),
             "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
             source.numel(), ", index.numel() = ", c.tensor(1).numel());
    TensorRef index = contiguous(c.tensor(1)), from = contiguous(source), work = contiguous(self);
    if (work.get() == &self) work = clone(self);
    bool accumulate = c.boolean(3);
    int64_t n = index->numel(), size = self.numel();
    const int64_t* picks = index->data<int64_t>();
    visit(AllTypes{}, self.dtype, "put_", [&]<class T>() {
        const T* s = from->data<T>();
        T* t = work->data<T>();
        for (int64_t i = 0; i < n; i++) {
            T& at = t[flat_position(picks[i], size)];
            at = accumulate ? num::add(at, s[i]) : s[i];
        }
    });
    copy_into(out, *work);
}

// ---- whole slices along one dimension ----

struct Slices {
    int64_t dim, outer, size, inner;
};
Slices slices_of(const Tensor& t, int64_t dim) {
    Slices s{dim, 1, size_or_1(t, dim), 1};
    for (int64_t d = 0; d < dim && d < t.dim(); d++) s.outer *= t.size(d);
    for (int64_t d = dim + 1; d < t.dim(); d++) s.inner *= t.size(d);
    return s;
}

void check_vector_index(const Tensor& index, const char* op) {
    MT_CHECK_INDEX(index.dim() <= 1, op, "(): Index is supposed to be a vector");
    MT_CHECK(index.dtype == DType::Int64 || index.dtype == DType::Int32, op,
             "(): Expected dtype int32 or int64 for index");
}

void index_select_shape(ShapeCall& c) {
    const Tensor &self = c.tensor(0), &index = c.tensor(2);
    int64_t dim = wrap_dim(c.integer(1), self.dim());
    check_vector_index(index, "index_select");
    Dims sizes(self.sizes());
    if (self.dim()) sizes[dim] = index.numel();
    MT_CHECK(self.dim() || index.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ",
             index.numel(), " value(s)");
    c.output(0, sizes, self.dtype);
}

void index_select_cpu(Call& c) {
    Tensor& out = c.out();
    int64_t dim = wrap_dim(c.integer(1), c.tensor(0).dim());
    TensorRef self = contiguous(c.tensor(0)), index = contiguous(*index64(c.tensor(2)));
    Slices s = slices_of(*self, dim);
    const int64_t* picks = index->data<int64_t>();
    int64_t n = index->numel();
    for (int64_t i = 0; i < n; i++) MT_CHECK_INDEX(picks[i] >= 0 && picks[i] < s.size, "index out of range in self");
    if (out.numel() == 0) return;
    int64_t grain = grain_for(s.inner);
    visit_size(self->itemsize(), [&]<class T>() {
        const T* from = self->words<T>();
        T* to = out.words<T>();
        parallel_for(s.outer * n, grain, [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end;) {  // one outer position at a time
                int64_t first = r % n, count = std::min(end - r, n - first);
                const T* source = from + r / n * s.size * s.inner;
                const int64_t* pick = picks + first;
                if (s.inner == 1)
                    for (int64_t i = 0; i < count; i++) to[r + i] = source[pick[i]];
                else
                    for (int64_t i = 0; i < count; i++)
                        std::memcpy(static_cast<void*>(to + (r + i) * s.inner), source + pick[i] * s.inner,
                                    sizeof(T) * static_cast<size_t>(s.inner));
                r += count;
            }
        });
    });
}

// Runs put(out element, source element, slice) over the slices named by `index`, in their order; negative positions
// count from the end.
template <class T, class Put>
void each_slice(Tensor& out, int64_t dim, const Tensor& index, const Tensor* source, Put put) {
    const int64_t* picks = index.data<int64_t>();
    int64_t n = index.numel(), size = size_or_1(out, dim);
    int64_t stride = out.dim() ? out.stride(dim) : 1, source_stride = source && source->dim() ? source->stride(dim) : 0;
    Dims slice(out.sizes()), to(out.strides()),
        from = source && source->dim() ? Dims(source->strides()) : Dims(out.dim(), 0);
    if (out.dim()) slice[dim] = 1;
    T none = T(0);
    T* first_target = out.words<T>();
    const T* first_source = source ? source->words<T>() : &none;
    const int64_t split = split_dim(slice, dim), parts = split < 0 ? 1 : slice[split];
    parallel_for(parts, grain_for(n * numel_of(slice) / std::max<int64_t>(1, parts)), [&](int64_t begin, int64_t end) {
        Dims sizes(slice);
        if (split >= 0) sizes[split] = end - begin;
        const int64_t shift = split >= 0 ? begin * to[split] : 0, source_shift = split >= 0 ? begin * from[split] : 0;
        StridedWalk<2> walk(sizes, {IntSpan(to), IntSpan(from)});
        for (int64_t k = 0; k < n; k++) {
            int64_t at_index = picks[k];
            T* target = first_target + shift + (at_index < 0 ? at_index + size : at_index) * stride;
            const T* values = first_source + source_shift + k * source_stride;
            walk.run([&](const auto& at, int64_t length, const auto& steps) {
                T* t = target + at[0];
                const T* s = values + at[1];
                if (steps[0] == 1 && steps[1] == 1) {
#pragma GCC ivdep
                    for (int64_t i = 0; i < length; i++) put(t[i], s[i], k);
                } else {
                    for (int64_t i = 0; i < length; i++) put(t[i * steps[0]], s[i * steps[1]], k);
                }
            });
        }
    });
}

void check_slice_source(const char* op, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
    check_vector_index(index, op);
    MT_CHECK(self.dtype == source.dtype, op, "(): self (", dtype_class_name(self.dtype), ") and source (",
             dtype_class_name(source.dtype), ") must have the same scalar type");
    MT_CHECK(source.dim() == 0 || dim < source.dim(), op, "(): Indexing dim ", dim,
             " is out of bounds of the source tensor with dim ", source.dim());
    int64_t length = source.dim() ? source.size(dim) : 1;
    MT_CHECK(index.numel() == length, op, "(): Number of indices (", index.numel(),
             ") should be equal to source.size(dim): (", length, "), for dim: ", dim);
    bool same = self.dim() == source.dim();
    for (int64_t d = 0; same && d < self.dim(); d++) same = d == dim || self.size(d) == source.size(d);
    MT_CHECK_INDEX(
        same || (self.dim() <= 1 && source.dim() <= 1),
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
        self.sizes(), " source.shape = ", source.sizes());
}

TensorRef checked_slices(const Tensor& index, const Tensor& self, int64_t dim, bool negative, const char* text) {
    TensorRef dense = contiguous(*index64(index));
    const int64_t* p = dense->data<int64_t>();
    int64_t size = size_or_1(self, dim);
    for (int64_t i = 0; i < dense->numel(); i++) MT_CHECK_INDEX(p[i] >= (negative ? -size : 0) && p[i] < size, text);
    return dense;
}

void index_add_cpu(Call& c) {
    const Tensor &self = c.tensor(0), &source = c.tensor(3);
    Tensor& out = c.out();
    int64_t dim = wrap_dim(c.integer(1), self.dim());
    check_slice_source("index_add", self, dim, c.tensor(2), source);
    // Nothing is added where there is nothing to write to, whatever the index says.
    if (self.numel() == 0) return;
    TensorRef index = checked_slices(c.tensor(2), self, dim, false, "index out of range in self");
    if (out.raw() != self.raw()) copy_into(out, self);
    visit(AllTypes{}, out.dtype, "index_add_cpu_", [&]<class T>() {
        T alpha = c.scalar(4).to<T>();
        if (alpha == T(1))
            each_slice<T>(out, dim, *index, &source, [](T& a, const T& b, int64_t) { a = num::add(a, b); });
        else
            each_slice<T>(out, dim, *index, &source,
                          [alpha](T& a, const T& b, int64_t) { a = num::add(a, num::mul(alpha, b)); });
    });
}

void index_copy_cpu(Call& c) {
    const Tensor &self = c.tensor(0), &source = c.tensor(3);
    Tensor& out = c.out();
    int64_t dim = wrap_dim(c.integer(1), self.dim());
    check_slice_source("index_copy", self, dim, c.tensor(2), source);
    TensorRef index = checked_slices(c.tensor(2), self, dim, true, "index out of range in self");
    if (out.raw() != self.raw()) copy_into(out, self);
    visit_size(out.itemsize(), [&]<class U>() {
        using T = U;
        if constexpr (std::is_same_v<T, Bytes16>) {
            each_slice<c128>(out, dim, *index, &source, [](c128& a, const c128& b, int64_t) { a = b; });
        } else {
            each_slice<T>(out, dim, *index, &source, [](T& a, const T& b, int64_t) { a = b; });
        }
    });
}

void index_fill_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    Tensor& out = c.out();
    int64_t dim = wrap_dim(c.integer(1), self.dim());
    MT_CHECK_INDEX(c.tensor(2).dtype == DType::Int64, "index_fill_(): Expected dtype int64 for index.");
    MT_CHECK(c.tensor(2).dim() <= 1, "Index has to be a vector/scalar");
    TensorRef index = checked_slices(c.tensor(2), self, dim, true, "index out of range in self");
    if (out.raw() != self.raw()) copy_into(out, self);
    const Tensor* given = c.tensor_or_null(3);
    MT_CHECK(!given || given->dim() == 0,
             "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ", given ? given->dim() : 0,
             " dimension(s).");
    visit(AllTypes{}, out.dtype, "index_fill_", [&]<class T>() {
        T value;
        if (given) {
            TensorRef same = contiguous(*given, out.dtype);
            value = *same->data<T>();
        } else {
            value = c.scalar(3).to<T>();
        }
        each_slice<T>(out, dim, *index, nullptr, [value](T& a, const T&, int64_t) { a = value; });
    });
}

void index_reduce_cpu(Call& c) {
    const Tensor &self = c.tensor(0), &source = c.tensor(3);
    Tensor& out = c.out();
    int64_t dim = wrap_dim(c.integer(1), self.dim());
    check_slice_source("index_reduce", self, dim, c.tensor(2), source);
    std::string_view name = c.string(4);
    MT_CHECK(name == "prod" || name == "mean" || name == "amax" || name == "amin",
             "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", name, ".");
    Reduce reduce = reduce_named(name, "index_reduce");
    bool include_self = c.boolean(5);
    TensorRef index = checked_slices(c.tensor(2), self, dim, false, "index out of range in self");
    if (out.raw() != self.raw()) copy_into(out, self);
    visit(RealTypes{}, out.dtype, "index_reduce_", [&]<class T>() {
        if (!include_self) {
            T start = identity<T>(reduce);
            each_slice<T>(out, dim, *index, nullptr, [start](T& a, const T&, int64_t) { a = start; });
        }
        each_slice<T>(out, dim, *index, &source, [reduce](T& a, const T& b, int64_t) { a = combine(reduce, a, b); });
        if (reduce != Reduce::Mean) return;
        std::vector<int64_t> counts(static_cast<size_t>(size_or_1(out, dim)), include_self ? 1 : 0);
        const int64_t* picks = index->data<int64_t>();
        for (int64_t i = 0; i < index->numel(); i++) counts[static_cast<size_t>(picks[i])]++;
        TensorRef every = empty(IntSpan({static_cast<int64_t>(counts.size())}), DType::Int64);
        for (size_t i = 0; i < counts.size(); i++) every->data<int64_t>()[i] = static_cast<int64_t>(i);
        each_slice<T>(out, dim, *every, nullptr, [&](T& a, const T&, int64_t k) {
            int64_t count = counts[static_cast<size_t>(k)];
            if (count <= 1) return;
            if constexpr (std::is_integral_v<T>)
                a = static_cast<T>(static_cast<int64_t>(a) / count);
            else
                a = T(static_cast<opmath_t<T>>(a) / static_cast<opmath_t<T>>(count));
        });
    });
}

KERNELS
{
    structured("gather", gather_cpu);
    shape("gather", gather_shape);
    shape("scatter", scatter_shape);
    structured("scatter.src", scatter_cpu, kInputMayAlias);
    structured("scatter.value", scatter_cpu, kInputMayAlias);
    structured("scatter.reduce", scatter_named_cpu, kInputMayAlias);
    structured("scatter.value_reduce", scatter_named_cpu, kInputMayAlias);
    structured("scatter_add", scatter_add_cpu, kInputMayAlias);
    structured("scatter_reduce.two", scatter_reduce_cpu, kInputMayAlias);
    structured("take", take_cpu, kContiguousOutputs);
    shape("take", take_shape);
    structured("put", put_cpu, kInputMayAlias);
    structured("index_select", index_select_cpu, kContiguousOutputs);
    shape("index_select", index_select_shape);
    structured("index_add", index_add_cpu, kInputMayAlias);
    structured("index_copy", index_copy_cpu, kInputMayAlias);
    structured("index_fill", index_fill_cpu, kInputMayAlias);
    structured("index_reduce", index_reduce_cpu, kInputMayAlias);
}

}  // namespace
}  // namespace mt
