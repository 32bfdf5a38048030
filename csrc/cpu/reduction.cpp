// Sums, products, truth and counts.
#include "cpu/reduce.h"

namespace mt {
namespace {

// ---- ops ----

template <class T>
struct NanSumOp : SumOp<T> {
    using typename SumOp<T>::X;
    using typename SumOp<T>::Lane;
    Lane step(Lane a, X x) const { return a + (x == x ? x : X(0)); }
};

template <class T>
struct ProdOp {
    using X = Compute<T>;
    using Total = typename Wide<X>::type;
    using Lane = std::conditional_t<std::is_integral_v<X>, int64_t, X>;
    Lane start() const { return Lane(1); }
    Lane step(Lane a, X x) const { return num::mul(a, static_cast<Lane>(x)); }
    Lane join(Lane a, Lane b) const { return num::mul(a, b); }
    // Float lanes may overflow or vanish where the whole product does not; PyTorch multiplies in float too.
    Total lift(Lane a) const { return static_cast<Total>(a); }
    Total merge(Total a, Total b) const { return num::mul(a, b); }
};

// Number of nonzero elements; any and all ask the same of it. A block is short enough for 32 bits.
template <class T>
struct CountOp {
    using X = Compute<T>;
    using Lane = int32_t;
    using Total = int64_t;
    Lane start() const { return 0; }
    Lane step(Lane a, X x) const { return a + (x != X(0) ? 1 : 0); }
    Lane join(Lane a, Lane b) const { return a + b; }
    Total lift(Lane a) const { return a; }
    Total merge(Total a, Total b) const { return a + b; }
};

template <class T, class Total>
T narrow(Total t) {
    if constexpr (is_reduced_v<T>)
        return T(static_cast<float>(t));
    else
        return static_cast<T>(t);
}

// ---- sum, mean ----

// Sums of `self` along `mask` into `out`, divided by the divisor if that is not negative.
void sum_into(Tensor& out, const Tensor& self, uint64_t mask, double divisor) {
    double scale = divisor >= 0 ? divisor : 1;
    // Narrow inputs of common kinds are read as they are.
    if (out.dtype == DType::Int64 &&
        (is_bool(self.dtype) || self.dtype == DType::UInt8 || self.dtype == DType::Int32)) {
        visit(Types<Bool, uint8_t, int32_t>{}, self.dtype, "sum_cpu", [&]<class T>() {
            fold<T>(as_rows(self, mask, self.dtype), SumOp<T>(),
                    [y = out.data<int64_t>()](int64_t o, int64_t t) { y[o] = t; });
        });
        return;
    }
    if (out.dtype == DType::Float32 && is_reduced_float(self.dtype)) {
        visit(Types<Half, BFloat16>{}, self.dtype, "sum_cpu", [&]<class T>() {
            fold_into<T, float>(self, mask, SumOp<T>(), out, [=](double t) { return static_cast<float>(t / scale); });
        });
        return;
    }
    Converted result(out, is_reduced_float(out.dtype) ? out.dtype : broad_type(out.dtype));
    TensorRef exact =
        is_floating(out.dtype) || self.dtype == out.dtype ? TensorRef::share(&self) : contiguous(self, out.dtype);
    visit(Types<float, double, Half, BFloat16, int64_t, c128>{}, result.tensor().dtype, "sum_cpu", [&]<class T>() {
        using Total = typename SumOp<T>::Total;
        fold_into<T, T>(*exact, mask, SumOp<T>(), result.tensor(), [=](Total t) {
            if constexpr (std::is_integral_v<T>)
                return static_cast<T>(t);
            else
                return narrow<T>(t / scale);
        });
    });
    result.finish();
}

void sum_cpu(Out out, const Tensor& self, std::optional<DType> dtype) {
    sum_into(out, self, ReducedDims().mask(self.ndim), -1);
}
void sum_dim_cpu(Out out, const Tensor& self, ReducedDims dim, bool keepdim, std::optional<DType> dtype) {
    sum_into(out, self, dim.mask(self.ndim), -1);
}

void mean_dim_cpu(Out out, const Tensor& self, ReducedDims dim, bool keepdim, std::optional<DType> dtype) {
    uint64_t mask = dim.mask(self.ndim);
    double n = 1;
    for (int64_t d = 0; d < self.ndim; d++)
        if (mask >> d & 1) n *= static_cast<double>(self.size(d));
    sum_into(out, self, mask, n);
}
void mean_cpu(Out out, const Tensor& self, std::optional<DType> dtype) { mean_dim_cpu(out, self, {}, false, dtype); }

void nansum_cpu(Out out, const Tensor& self, ReducedDims dim, bool keepdim, std::optional<DType> dtype) {
    uint64_t mask = dim.mask(self.ndim);
    MT_CHECK(!is_complex(self.dtype), "nansum on CPU does not support complex inputs");
    if (!is_floating(out->dtype)) return sum_into(out, self, mask, -1);
    Converted result(out, broad_type(out->dtype));
    visit(PlainFloatTypes{}, result.tensor().dtype, "nansum_cpu", [&]<class T>() {
        fold_into<T, T>(self, mask, NanSumOp<T>(), result.tensor(), [](double t) { return narrow<T>(t); });
    });
    result.finish();
}

void prod_into(Tensor& out, const Tensor& self, uint64_t mask) {
    Converted result(out, broad_type(out.dtype));
    TensorRef exact = self.dtype == out.dtype ? TensorRef::share(&self) : contiguous(self, out.dtype);
    visit(Types<float, double, int64_t, c128>{}, result.tensor().dtype, "prod_cpu", [&]<class T>() {
        using Total = typename ProdOp<T>::Total;
        fold_into<T, T>(*exact, mask, ProdOp<T>(), result.tensor(), [](Total t) { return narrow<T>(t); });
    });
    result.finish();
}
void prod_cpu(Out out, const Tensor& self, std::optional<DType> dtype) {
    prod_into(out, self, ReducedDims().mask(self.ndim));
}
void prod_dim_cpu(Out out, const Tensor& self, int64_t dim, bool keepdim, std::optional<DType> dtype) {
    prod_into(out, self, uint64_t(1) << wrap_dim(dim, self.ndim));
}

// ---- any, all, count_nonzero ----

enum class Ask { Any, All, Count };

// Nonzero elements of each reduction. What is not of a common type becomes bool first.
void count_into(Tensor& out, const Tensor& self, uint64_t mask, Ask ask) {
    if (out.numel() == 1 && self.numel() > 1 && !self.is_contiguous() && self.is_non_overlapping_and_dense()) {
        Dims one{self.numel()}, step{1};  // in the order of memory
        return count_into(out, *as_strided(self, one, step, self.offset), 1, ask);
    }
    bool direct_type = self.dtype == DType::Float32 || self.dtype == DType::Float64 || self.dtype == DType::Int32 ||
                       self.dtype == DType::Int64;
    DType type = direct_type || self.itemsize() == 1 ? self.dtype : DType::Bool;
    Rows v = as_rows(self, mask, type);
    uint8_t* truth = ask == Ask::Count ? nullptr : out.words<uint8_t>();
    int64_t* counts = ask == Ask::Count ? out.data<int64_t>() : nullptr;
    auto finish = [=, n = v.red](int64_t o, int64_t count) {
        if (counts)
            counts[o] = count;
        else
            truth[o] = ask == Ask::Any ? count > 0 : count == n;
    };
    visit(Types<float, double, uint8_t, int32_t, int64_t>{}, direct_type ? type : DType::UInt8, "any_all_cpu",
          [&]<class T>() { fold<T>(v, CountOp<T>(), finish); });
}

uint64_t truth_mask(const Tensor& self, const ReducedDims& dim) {
    return dim.is_empty_list() ? 0 : dim.mask(self.ndim);
}
void any_dim_cpu(Out out, const Tensor& self, ReducedDims dim, bool keepdim) {
    count_into(out, self, truth_mask(self, dim), Ask::Any);
}
void any_cpu(Out out, const Tensor& self) { any_dim_cpu(out, self, {}, false); }
void all_dim_cpu(Out out, const Tensor& self, ReducedDims dim, bool keepdim) {
    count_into(out, self, truth_mask(self, dim), Ask::All);
}
void all_cpu(Out out, const Tensor& self) { all_dim_cpu(out, self, {}, false); }
void count_nonzero_cpu(Out out, const Tensor& self, ReducedDims dim) {
    count_into(out, self, dim.mask(self.ndim), Ask::Count);
}

// ---- trace ----

void trace_shape(ShapeCall& c, const Tensor& self) {
    MT_CHECK(self.ndim == 2, "trace: expected a matrix, but got tensor with dim ", self.ndim);
    c.output(0, IntSpan(), is_integer(self.dtype) || is_bool(self.dtype) ? DType::Int64 : self.dtype);
}

void trace_cpu(Out out, const Tensor& self) {
    int64_t n = std::min(self.size(0), self.size(1));
    int64_t step = self.stride(0) + self.stride(1);
    TensorRef diagonal = as_strided(self, IntSpan(&n, 1), IntSpan(&step, 1), self.offset);
    sum_into(out, *diagonal, 1, -1);
}

}  // namespace

KERNELS
{
    structured<sum_cpu>("sum", kContiguousOutputs);
    structured<sum_dim_cpu>("sum.dim_IntList", kContiguousOutputs);
    structured<mean_cpu>("mean", kContiguousOutputs);
    structured<mean_dim_cpu>("mean.dim", kContiguousOutputs);
    structured<nansum_cpu>("nansum", kContiguousOutputs);
    structured<prod_cpu>("prod", kContiguousOutputs);
    structured<prod_dim_cpu>("prod.dim_int", kContiguousOutputs);
    structured<any_cpu>("any", kContiguousOutputs);
    structured<any_dim_cpu>("any.dim", kContiguousOutputs);
    structured<any_dim_cpu>("any.dims", kContiguousOutputs);
    structured<all_cpu>("all", kContiguousOutputs);
    structured<all_dim_cpu>("all.dim", kContiguousOutputs);
    structured<all_dim_cpu>("all.dims", kContiguousOutputs);
    structured<count_nonzero_cpu>("count_nonzero", kContiguousOutputs);
    structured<trace_cpu>("trace", kContiguousOutputs);
    shape<trace_shape>("trace");
}

}  // namespace mt
