// Elements picked or written by an index tensor along one dimension: gather, scatter and their reductions, take, put.
#include <vector>

#include "core/copy_bytes.h"
#include "core/deterministic.h"
#include "core/overlap.h"
#include "core/typed_kernel.h"
#include "cpu/index_combine.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

// ---- checks shared by gather and scatter ----

void check_index_dtype(const Tensor& index, const char* op) {
    // Of an index without elements the dtype does not matter.
    MT_CHECK(index.dtype == DType::Int64 || index.dtype == DType::Int32 || index.numel() == 0, op,
             "(): Expected dtype int32/int64 for index");
}

int64_t at_least_1(const Tensor& t) { return t.dim() ? t.dim() : 1; }

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

void check_scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
    check_index_dtype(index, "scatter");
    if (src) MT_CHECK(self.dtype == src->dtype, "scatter(): Expected self.dtype to be equal to src.dtype");
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

void gather_shape(ShapeCall& c, const Tensor& self, int64_t given_dim, const Tensor& index) {
    int64_t dim = wrap_dim(given_dim, self.dim());
    check_gather(self, dim, index);
    c.output(0, index.sizes(), self.dtype);
}

template <class T>
void gather_row(char* to, int64_t to_step, const char* from, int64_t from_step, const int64_t* pick, int64_t pick_step,
                int64_t stride, int64_t n) {
    T* target = reinterpret_cast<T*>(to);
    const T* source = reinterpret_cast<const T*>(from);
    if (to_step == 1 && pick_step == 0 && from_step == 1)
        copy_bytes(target, source + *pick * stride, sizeof(T) * static_cast<size_t>(n));
    else if (to_step == 1 && pick_step == 1 && from_step == 0)
        for (int64_t i = 0; i < n; i++) target[i] = source[pick[i] * stride];
    else
        for (int64_t i = 0; i < n; i++) target[i * to_step] = source[i * from_step + pick[i * pick_step] * stride];
}

void gather_cpu(Out out, const Tensor& self, int64_t given_dim, const Tensor& index, bool sparse_grad) {
    if (out->numel() == 0) return;
    int64_t dim = wrap_dim(given_dim, self.dim());
    Picks picks = picks_of(index, dim, size_or_1(self, dim));
    const int64_t rank = picks.sizes.size(), stride = self.dim() ? self.stride(dim) : 1, bytes = self.itemsize();
    Dims from = strides_without(self, dim, rank), to = strides_of(out, rank);
    decltype(&gather_row<uint8_t>) row = nullptr;
    visit_size(bytes, [&]<class T>() { row = gather_row<T>; });
    StridedWalk<3> walk(picks.sizes, {IntSpan(to), IntSpan(picks.strides), IntSpan(from)});
    walk.run_parallel([&](const auto& at, int64_t n, const auto& steps) {
        row(out->raw() + at[0] * bytes, steps[0], self.raw() + at[2] * bytes, steps[2], picks.data() + at[1], steps[1],
            stride, n);
    });
}

// ---- scatter ----

// Combines source elements with those of `out` that the index names; for one of them in row-major order of the index.
void scatter_each(Combiner combine, Tensor& out, int64_t dim, const Picks& picks, const char* source,
                  IntSpan source_strides) {
    const int64_t rank = picks.sizes.size(), stride = out.dim() ? out.stride(dim) : 1, bytes = out.itemsize();
    Dims to = strides_without(out, dim, rank);
    const int64_t split = split_dim(picks.sizes, dim), parts = split < 0 ? 1 : picks.sizes[split];
    parallel_for(parts, grain_for(numel_of(picks.sizes) / parts), [&](int64_t begin, int64_t end) {
        Dims sizes(picks.sizes);
        char* first_target = out.raw();
        const char* first_source = source;
        const int64_t* first_pick = picks.data();
        if (split >= 0) {
            sizes[split] = end - begin;
            first_target += begin * to[split] * bytes;
            first_source += begin * source_strides[split] * bytes;
            first_pick += begin * picks.strides[split];
        }
        StridedWalk<3> walk(sizes, {IntSpan(to), IntSpan(picks.strides), source_strides});
        walk.run([&](const auto& at, int64_t n, const auto& steps) {
            char* target = first_target + at[0] * bytes;
            const char* values = first_source + at[2] * bytes;
            const int64_t* pick = first_pick + at[1];
            if (steps[1] == 0 && steps[0] == 1)
                combine.row(target + *pick * stride * bytes, 1, values, steps[2], n);
            else
                combine.picked(target, steps[0], pick, steps[1], stride, values, steps[2], n);
        });
    });
}

template <class T>
void divide_row(char* target, int64_t target_step, const int64_t* count, int64_t count_step, int64_t more, int64_t n) {
    T* p = reinterpret_cast<T*>(target);
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = count[i * count_step] + more;
        if (k <= 1) continue;
        T& v = p[i * target_step];
        if constexpr (std::is_integral_v<T>) {
            int64_t q = static_cast<int64_t>(v) / k;  // rounds down, as floor_divide does
            if (static_cast<int64_t>(v) % k != 0 && static_cast<int64_t>(v) < 0) q--;
            v = static_cast<T>(q);
        } else if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
            v /= static_cast<typename T::value_type>(k);
        } else {
            v = T(static_cast<opmath_t<T>>(v) / static_cast<opmath_t<T>>(k));
        }
    }
}

// Division of each element by how many values went into it.
void divide_by_counts(Tensor& out, int64_t dim, const Picks& index, bool include_self) {
    TensorRef counts = zeros(out.sizes(), DType::Int64);
    const int64_t one = 1, bytes = out.itemsize();
    Dims still(index.sizes.size(), 0);
    scatter_each(combiner(Reduce::Sum, DType::Int64, "scatter_reduce"), *counts, dim, index,
                 reinterpret_cast<const char*>(&one), still);
    Dims sizes = sizes_of(out), to = strides_of(out, sizes.size()), from = strides_of(*counts, sizes.size());
    decltype(&divide_row<float>) row = nullptr;
    visit(NumberTypes{}, out.dtype, "scatter_reduce", [&]<class T>() { row = divide_row<T>; });
    StridedWalk<2> walk(sizes, {IntSpan(to), IntSpan(from)});
    walk.run([&](const auto& at, int64_t n, const auto& steps) {
        row(out.raw() + at[0] * bytes, steps[0], counts->data<int64_t>() + at[1], steps[1], include_self ? 1 : 0, n);
    });
}

void scatter_shape(ShapeCall& c, const Tensor& self) { c.output_like(0, self); }

// args: self, dim, index, then a tensor or a scalar
void scatter_with(Tensor& out, const Tensor& self, int64_t given_dim, const Tensor& given_index, const Input& given,
                  const char* op, Reduce reduce, bool include_self) {
    const Tensor* src = given.t;
    int64_t dim = wrap_dim(given_dim, self.dim());
    check_scatter(self, dim, given_index, src);
    TensorRef kept = src && src->storage == out.storage ? clone(*src) : TensorRef::share(src);
    if (out.raw() != self.raw()) copy_into(out, self);
    if (given_index.numel() == 0) return;
    Picks index = picks_of(given_index, dim, size_or_1(self, dim));
    MT_CHECK(!is_complex(out.dtype) || (reduce != Reduce::Amax && reduce != Reduce::Amin),
             "scatter_reduce(): amax and amin are not defined for complex numbers");
    int64_t rank = index.sizes.size();
    Dims strides = src ? strides_of(*kept, rank) : Dims(rank, 0);
    Combiner combine = reduce == Reduce::Assign ? assigner(out.itemsize()) : combiner(reduce, out.dtype, op);
    if (!include_self) {
        Element start = identity_of(reduce, out.dtype, op);
        scatter_each(assigner(out.itemsize()), out, dim, index, start.bytes, Dims(rank, 0));
    }
    Element value = src ? Element{} : element_of(*given.number, out.dtype, op);
    scatter_each(combine, out, dim, index, src ? kept->raw() : value.bytes, strides);
    if (reduce == Reduce::Mean) divide_by_counts(out, dim, index, include_self);
}

void scatter_cpu(Out out, const Tensor& self, int64_t dim, const Tensor& index, Input src) {
    scatter_with(out, self, dim, index, src, "scatter", Reduce::Assign, true);
}
void scatter_add_cpu(Out out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
    scatter_with(out, self, dim, index, src, "scatter_add", Reduce::Sum, true);
}
void scatter_named_cpu(Out out, const Tensor& self, int64_t dim, const Tensor& index, Input src,
                       std::string_view name) {
    MT_CHECK(name == "add" || name == "multiply", "reduce argument must be either add or multiply.");
    scatter_with(out, self, dim, index, src, "scatter", reduce_named(name, "scatter"), true);
}
void scatter_reduce_cpu(Out out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, bool include_self) {
    scatter_with(out, self, dim, index, src, "scatter_reduce", reduce_named(reduce, "scatter_reduce"), include_self);
}

// ---- take and put: indices into the flattened tensor ----

void take_shape(ShapeCall& c, const Tensor& self, const Tensor& index) { c.output(0, index.sizes(), self.dtype); }

// Where the elements that `index` names, counted in row-major order, lie in `t`.
std::vector<int64_t> flat_places(const Tensor& t, const Tensor& index) {
    const int64_t n = t.numel();
    std::vector<int64_t> places(static_cast<size_t>(index.numel()));
    const int64_t* picks = index.data<int64_t>();
    for (size_t i = 0; i < places.size(); i++) {
        const int64_t pick = picks[i];
        MT_CHECK_INDEX(pick >= -n && pick < n, "out of range: tried to access index ", pick, " on a tensor of ", n,
                       " elements.");
        places[i] = pick < 0 ? pick + n : pick;
    }
    if (t.is_contiguous()) return places;
    for (int64_t& place : places) {
        int64_t rest = place;
        place = 0;
        for (int64_t d = t.dim() - 1; d >= 0; d--) {
            place += rest % t.size(d) * t.stride(d);
            rest /= t.size(d);
        }
    }
    return places;
}

void take_cpu(Out out, const Tensor& self, const Tensor& index) {
    MT_CHECK(index.dtype == DType::Int64, "take(): Expected a long tensor for index, but got ",
             dtype_class_name(index.dtype));
    MT_CHECK_INDEX(self.numel() > 0 || index.numel() == 0, "take(): tried to take from an empty tensor");
    const std::vector<int64_t> places = flat_places(self, *contiguous(index));
    visit_size(self.itemsize(), [&]<class T>() {
        const T* from = self.words<T>();
        T* to = out->words<T>();
        for (size_t i = 0; i < places.size(); i++) to[i] = from[places[i]];
    });
}

void put_cpu(Out out, const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
    if (!accumulate) alert_not_deterministic("put_");  // where a position is named twice
    MT_CHECK(self.dtype == source.dtype,
             "put_(): self and source expected to have the same dtype, but got self.dtype = ",
             dtype_class_name(self.dtype), " and source.dtype = ", dtype_class_name(source.dtype));
    MT_CHECK(index.dtype == DType::Int64, "put_(): Expected a long tensor for index, but got ",
             dtype_class_name(index.dtype));
    MT_CHECK(index.numel() == source.numel(),
             "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
             source.numel(), ", index.numel() = ", index.numel());
    const std::vector<int64_t> places = flat_places(out, *contiguous(index));
    TensorRef from = contiguous(source);
    if (out->raw() != self.raw()) copy_into(out, self);
    Combiner combine = combiner(accumulate ? Reduce::Sum : Reduce::Assign, self.dtype, "take_put_cpu");
    combine.picked(out->raw(), 0, places.data(), 1, 1, from->raw(), 1, from->numel());
}

KERNELS
{
    structured<gather_cpu>("gather");
    shape<gather_shape>("gather");
    shape<scatter_shape>("scatter");
    structured<scatter_cpu>("scatter.src", kInputMayAlias | kWrittenApart);
    structured<scatter_cpu>("scatter.value", kInputMayAlias | kWrittenApart);
    structured<scatter_named_cpu>("scatter.reduce", kInputMayAlias | kWrittenApart);
    structured<scatter_named_cpu>("scatter.value_reduce", kInputMayAlias | kWrittenApart);
    structured<scatter_add_cpu>("scatter_add", kInputMayAlias | kWrittenApart);
    structured<scatter_reduce_cpu>("scatter_reduce.two", kInputMayAlias | kWrittenApart);
    structured<take_cpu>("take", kContiguousOutputs);
    shape<take_shape>("take");
    structured<put_cpu>("put", kInputMayAlias | kWrittenApart);
}

}  // namespace
}  // namespace mt
