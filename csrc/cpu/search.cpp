// Looking values up: searchsorted, bucketize, isin, histc, bincount.
#include <vector>

#include "cpu/sort_keys.h"

namespace mt {
namespace {

// Values are compared as doubles or int64s, in which every element type but the wider of the two is exact.
// Complex numbers have no order: they stay what they are, and are refused.
DType compared_as(DType a, DType b) {
    DType t = promote(a, b);
    return is_complex(t) ? t : is_floating(t) ? DType::Float64 : DType::Int64;
}

// ---- searchsorted(sorted_sequence, self, *, out_int32, right, side, sorter), bucketize(self, boundaries, *,
// out_int32, right) ----

// Words: values, out_int32.
void search_shape(ShapeCall& c, Input self, bool out_int32) {
    c.output(0, self.t ? self.t->sizes() : IntSpan(), out_int32 ? DType::Int32 : DType::Int64);
}

// As many searches advance by turns, so that none waits for the memory of its last step.
constexpr int64_t kTogether = 8;

// Where `count` values, at most kTogether, belong among n keys in order: before or behind (kRight) those equal to them.
template <bool kRight, class X>
void search_together(const uint64_t* keys, int64_t n, const X* values, int64_t count, int64_t* places) {
    uint64_t wanted[kTogether] = {};
    int64_t low[kTogether] = {}, length[kTogether] = {};
    for (int64_t j = 0; j < count; j++) wanted[j] = ascending_key(values[j]), length[j] = n;
    // By masks and not branches: which half it is no processor could foresee. A search that is done reads a key for
    // nothing: there is one more than n.
    for (int64_t left = n; left > 0; left /= 2)
        for (int64_t j = 0; j < kTogether; j++) {
            const int64_t half = length[j] / 2, upper = half + (length[j] > 0);
            const uint64_t key = keys[low[j] + half];
            const int64_t after = -static_cast<int64_t>(kRight ? key <= wanted[j] : key < wanted[j]);
            low[j] += after & upper;
            length[j] = (after & (length[j] - upper)) | (~after & half);
        }
    std::copy(low, low + count, places);
}

void search_into(Tensor& out, const Tensor& sequence, const Tensor& values, const Tensor* sorter, bool right) {
    DType type = compared_as(sequence.dtype, values.dtype);
    TensorRef s = contiguous(sequence, type), v = contiguous(values, type),
              order = sorter ? contiguous(*sorter) : TensorRef();
    const int64_t n = sequence.ndim ? sequence.size(sequence.ndim - 1) : 1;
    const int64_t per_row = sequence.ndim <= 1 ? std::max<int64_t>(v->numel(), 1) : values.size(values.ndim - 1);
    visit(Types<double, int64_t>{}, type, "searchsorted_out_cpu", [&]<class X>() {
        // Integers of the same order: one comparison tells, NaN included.
        std::vector<uint64_t> keys(static_cast<size_t>(s->numel()) + 1);
        const int64_t* at = order ? order->data<int64_t>() : nullptr;
        for (int64_t i = 0; i < s->numel(); i++)
            keys[static_cast<size_t>(i)] = ascending_key(s->data<X>()[at ? i / n * n + at[i] : i]);
        const X* wanted = v->data<X>();
        auto search = right ? search_together<true, X> : search_together<false, X>;
        parallel_for(v->numel(), kGrain / 16, [&](int64_t b, int64_t e) {
            for (int64_t i = b; i < e;) {
                const int64_t row = i / per_row, count = std::min({kTogether, e - i, (row + 1) * per_row - i});
                int64_t places[kTogether];
                search(keys.data() + row * n, n, wanted + i, count, places);
                if (out.dtype == DType::Int32)
                    std::copy(places, places + count, out.data<int32_t>() + i);
                else
                    std::copy(places, places + count, out.data<int64_t>() + i);
                i += count;
            }
        });
    });
}

// A scalar argument as a tensor without dimensions.
TensorRef tensor_of(const Input& x) {
    if (x.t) return TensorRef::share(x.t);
    TensorRef t = empty(IntSpan(), x.number->scalar_dtype());
    fill(*t, *x.number);
    return t;
}

void searchsorted_cpu(Out out, const Tensor& sequence, Input self, bool out_int32, bool right,
                      std::optional<std::string_view> given_side, const Tensor* sorter) {
    TensorRef values = tensor_of(self);
    if (given_side) {
        std::string_view side = *given_side;
        MT_CHECK(side == "left" || side == "right", "torch.searchsorted(): side can only be 'left' or 'right' but got ",
                 side);
        MT_CHECK(
            !(right && side == "left"),
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True");
        right = side == "right";
    }
    bool matches = sequence.ndim <= 1 || sequence.ndim == values->ndim;
    for (int64_t d = 0; matches && sequence.ndim > 1 && d < sequence.ndim - 1; d++)
        matches = sequence.size(d) == values->size(d);
    MT_CHECK(matches,
             "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
             "tensor and input "
             "value tensor must match, but we got boundaries tensor ",
             sequence.sizes(), " and input value tensor ", values->sizes());
    MT_CHECK(!sorter || sorter->sizes() == sequence.sizes(),
             "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor ",
             sequence.sizes(), "and got sorter tensor ", sorter ? sorter->sizes() : IntSpan());
    MT_CHECK(!sorter || sorter->dtype == DType::Int64,
             "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
             sorter ? dtype_class_name(sorter->dtype) : "");
    if (sorter) {
        TensorRef order = contiguous(*sorter);
        const int64_t* at = order->data<int64_t>();
        int64_t n = sequence.ndim ? sequence.size(sequence.ndim - 1) : 1;
        for (int64_t i = 0; i < order->numel(); i++)
            MT_CHECK(at[i] >= 0 && at[i] < n, "torch.searchsorted(): sorter index out of range");
    }
    search_into(out, sequence, *values, sorter, right);
}

void bucketize_cpu(Out out, Input self, const Tensor& boundaries, bool out_int32, bool right) {
    MT_CHECK(boundaries.ndim == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.ndim, ")");
    search_into(out, boundaries, *tensor_of(self), nullptr, right);
}

// ---- isin(elements, test_elements, *, assume_unique, invert) ----

void isin_shape(ShapeCall& c, Input element) { c.output(0, element.t ? element.t->sizes() : IntSpan(), DType::Bool); }

void isin_cpu(Out result, Input element, Input test_elements, bool assume_unique, bool invert) {
    TensorRef elements = tensor_of(element), tests = tensor_of(test_elements);
    DType type = compared_as(elements->dtype, tests->dtype);
    elements = contiguous(*elements, type);
    tests = contiguous(*tests, type);
    uint8_t* out = result->words<uint8_t>();
    int64_t m = tests->numel();
    visit(Types<double, int64_t>{}, type, "isin", [&]<class X>() {
        const X* x = elements->data<X>();
        std::vector<X> t(tests->data<X>(), tests->data<X>() + m);
        bool few = m <= 16;
        if (!few) {
            t.erase(std::remove_if(t.begin(), t.end(), [](X v) { return v != v; }), t.end());  // NaN equals nothing
            std::sort(t.begin(), t.end());
        }
        parallel_for(elements->numel(), kGrain / 16, [&](int64_t b, int64_t e) {
            for (int64_t i = b; i < e; i++) {
                bool found = false;
                if (few)
                    for (X v : t) found |= v == x[i];
                else
                    found = std::binary_search(t.begin(), t.end(), x[i]) && x[i] == x[i];
                out[i] = found != invert;
            }
        });
    });
}

// ---- histc(self, bins, min, max) ----

void histc_shape(ShapeCall& c, const Tensor& self, int64_t bins) {
    MT_CHECK_AS(NotImplemented, is_floating(self.dtype) || !self.is_cpu(), "\"histogram_cpu\" not implemented for '",
                dtype_class_name(self.dtype), "'");
    MT_CHECK(bins > 0, "torch.histogram(): bins must be > 0, but got ", bins, " for dimension 0");
    c.output(0, IntSpan(&bins, 1), self.dtype);
}

void histc_cpu(Out out, const Tensor& given_self, int64_t given_bins, double low, double high) {
    TensorRef self = contiguous(given_self, DType::Float64);
    const double* x = self->data<double>();
    int64_t n = self->numel(), bins = given_bins;
    if (low == high && n > 0) {
        low = high = x[0];
        for (int64_t i = 0; i < n; i++) {
            low = x[i] < low || x[i] != x[i] ? x[i] : low;
            high = x[i] > high || x[i] != x[i] ? x[i] : high;
        }
    }
    if (low == high) {
        low -= 1;
        high += 1;
    }
    MT_CHECK(std::isfinite(low) && std::isfinite(high), "torch.histc: range of [", low, ", ", high, "] is not finite");
    MT_CHECK(low < high, "torch.histc: max must be larger than min");
    TensorRef counts = zeros(out->sizes(), DType::Float64);
    for (int64_t i = 0; i < n; i++) {
        if (!(x[i] >= low && x[i] <= high)) continue;
        int64_t bin = static_cast<int64_t>((x[i] - low) * static_cast<double>(bins) / (high - low));
        counts->data<double>()[std::min(bin, bins - 1)] += 1;
    }
    copy_into(out, *counts);
}

// ---- bincount(self, weights, minlength) ----

TensorRef bincount_cpu(const Tensor& self, const Tensor* weights, int64_t length) {
    MT_CHECK_AS(NotImplemented, is_integer(self.dtype), "\"bincount_cpu\" not implemented for '",
                dtype_class_name(self.dtype), "'");
    MT_CHECK(length >= 0, "minlength should be >= 0");
    MT_CHECK(self.ndim == 1, "bincount only supports 1-d non-negative integral inputs.");
    TensorRef index = contiguous(self, DType::Int64);
    const int64_t* at = index->data<int64_t>();
    const int64_t n = self.numel();
    int64_t least = 0, most = -1;
    for (int64_t i = 0; i < n; i++) {
        least = at[i] < least ? at[i] : least;
        most = at[i] > most ? at[i] : most;
    }
    MT_CHECK(least >= 0, "bincount only supports 1-d non-negative integral inputs.");
    MT_CHECK(most < INT64_MAX, "maximum value of input overflowed, it should be < ", INT64_MAX, " but got ", most);
    length = std::max(length, most + 1);
    MT_CHECK(!weights || (weights->ndim == 1 && weights->numel() == self.numel()),
             "weights should be 1-d and have the same length as input");
    if (!weights) {
        TensorRef counts = zeros(IntSpan(&length, 1), DType::Int64);
        int64_t* to = counts->data<int64_t>();
        for (int64_t i = 0; i < n; i++) to[at[i]]++;
        return counts;
    }
    TensorRef w = contiguous(*weights, DType::Float64), sums = zeros(IntSpan(&length, 1), DType::Float64);
    const double* from = w->data<double>();
    double* to = sums->data<double>();
    for (int64_t i = 0; i < n; i++) to[at[i]] += from[i];
    if (weights->dtype != DType::Float32) return sums;
    return contiguous(*sums, DType::Float32);
}

}  // namespace

KERNELS
{
    shape<search_shape>("search");
    shape<isin_shape>("isin");
    shape<histc_shape>("histc");
    structured<searchsorted_cpu>("searchsorted", kContiguousOutputs);
    structured<bucketize_cpu>("bucketize", kContiguousOutputs);
    structured<isin_cpu>("isin", kContiguousOutputs);
    structured<histc_cpu>("histc", kContiguousOutputs);
    direct<bincount_cpu>("bincount");
}

}  // namespace mt
