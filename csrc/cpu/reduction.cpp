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
            fold_into<T>(self, mask, SumOp<T>(), out.data<float>(),
                         [=](double t) { return static_cast<float>(t / scale); });
        });
        return;
    }
    Converted result(out, is_reduced_float(out.dtype) ? out.dtype : broad_type(out.dtype));
    TensorRef exact =
        is_floating(out.dtype) || self.dtype == out.dtype ? TensorRef::share(&self) : contiguous(self, out.dtype);
    visit(Types<float, double, Half, BFloat16, int64_t, c128>{}, result.tensor().dtype, "sum_cpu", [&]<class T>() {
        using Total = typename SumOp<T>::Total;
        fold_into<T>(*exact, mask, SumOp<T>(), result.tensor().data<T>(), [=](Total t) {
            if constexpr (std::is_integral_v<T>)
                return static_cast<T>(t);
            else
                return narrow<T>(t / scale);
        });
    });
    result.finish();
}

template <int kDim>
uint64_t mask_of(const Call& c) {
    return reduced_dims(kDim >= 0 ? c.args[kDim] : Value(), c.tensor(0).ndim);
}

template <int kDim>
void sum_cpu(Call& c) {
    sum_into(c.out(), c.tensor(0), mask_of<kDim>(c), -1);
}

template <int kDim>
void mean_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    uint64_t mask = mask_of<kDim>(c);
    double n = 1;
    for (int64_t d = 0; d < self.ndim; d++)
        if (mask >> d & 1) n *= static_cast<double>(self.size(d));
    sum_into(c.out(), self, mask, n);
}

void nansum_cpu(Call& c) {
    uint64_t mask = mask_of<1>(c);
    MT_CHECK(!is_complex(c.tensor(0).dtype), "nansum on CPU does not support complex inputs");
    if (!is_floating(c.out().dtype)) return sum_into(c.out(), c.tensor(0), mask, -1);
    Converted result(c.out(), broad_type(c.out().dtype));
    visit(PlainFloatTypes{}, result.tensor().dtype, "nansum_cpu", [&]<class T>() {
        fold_into<T>(c.tensor(0), mask, NanSumOp<T>(), result.tensor().data<T>(),
                     [](double t) { return narrow<T>(t); });
    });
    result.finish();
}

void prod_into(Tensor& out, const Tensor& self, uint64_t mask) {
    Converted result(out, broad_type(out.dtype));
    TensorRef exact = self.dtype == out.dtype ? TensorRef::share(&self) : contiguous(self, out.dtype);
    visit(Types<float, double, int64_t, c128>{}, result.tensor().dtype, "prod_cpu", [&]<class T>() {
        using Total = typename ProdOp<T>::Total;
        fold_into<T>(*exact, mask, ProdOp<T>(), result.tensor().data<T>(), [](Total t) { return narrow<T>(t); });
    });
    result.finish();
}
template <int kDim>
void prod_cpu(Call& c) {
    prod_into(c.out(), c.tensor(0), mask_of<kDim>(c));
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

template <int kDim>
uint64_t truth_mask(const Call& c) {
    if (kDim >= 0 && c.args[kDim].tag == Tag::IntList && c.args[kDim].len == 0) return 0;
    return mask_of<kDim>(c);
}
template <int kDim>
void any_cpu(Call& c) {
    count_into(c.out(), c.tensor(0), truth_mask<kDim>(c), Ask::Any);
}
template <int kDim>
void all_cpu(Call& c) {
    count_into(c.out(), c.tensor(0), truth_mask<kDim>(c), Ask::All);
}
void count_nonzero_cpu(Call& c) { count_into(c.out(), c.tensor(0), mask_of<1>(c), Ask::Count); }

// ---- trace ----

void trace_shape(ShapeCall& c) {
    const Tensor& self = c.tensor(c.param(0));
    MT_CHECK(self.ndim == 2, "trace: expected a matrix, but got tensor with dim ", self.ndim);
    c.output(0, IntSpan(), is_integer(self.dtype) || is_bool(self.dtype) ? DType::Int64 : self.dtype);
}

void trace_cpu(Call& c) {
    const Tensor& self = c.tensor(0);
    int64_t n = std::min(self.size(0), self.size(1));
    int64_t step = self.stride(0) + self.stride(1);
    TensorRef diagonal = as_strided(self, IntSpan(&n, 1), IntSpan(&step, 1), self.offset);
    sum_into(c.out(), *diagonal, 1, -1);
}

}  // namespace

KERNELS
{
    structured("sum", sum_cpu<-1>, kContiguousOutputs);
    structured("sum.dim_IntList", sum_cpu<1>, kContiguousOutputs);
    structured("mean", mean_cpu<-1>, kContiguousOutputs);
    structured("mean.dim", mean_cpu<1>, kContiguousOutputs);
    structured("nansum", nansum_cpu, kContiguousOutputs);
    structured("prod", prod_cpu<-1>, kContiguousOutputs);
    structured("prod.dim_int", prod_cpu<1>, kContiguousOutputs);
    structured("any", any_cpu<-1>, kContiguousOutputs);
    structured("any.dim", any_cpu<1>, kContiguousOutputs);
    structured("any.dims", any_cpu<1>, kContiguousOutputs);
    structured("all", all_cpu<-1>, kContiguousOutputs);
    structured("all.dim", all_cpu<1>, kContiguousOutputs);
    structured("all.dims", all_cpu<1>, kContiguousOutputs);
    structured("count_nonzero", count_nonzero_cpu, kContiguousOutputs);
    structured("trace", trace_cpu, kContiguousOutputs);
    shape("trace", trace_shape);
}

}  // namespace mt
