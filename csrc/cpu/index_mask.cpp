// Masks: nonzero, masked_select, masked_scatter.
#include "cpu/nonzero.h"
#include "cpu/strided_walk.h"

namespace mt {

TensorRef truth_of(const Tensor& t) {
    if (t.dtype == DType::Bool) return contiguous(t);
    if (t.dtype == DType::Complex32) return truth_of(*contiguous(t, DType::Complex64));
    TensorRef dense = contiguous(t);
    TensorRef result = empty(t.sizes(), DType::Bool);
    bool* out = result->data<bool>();
    int64_t n = t.numel();
    visit(AllTypes{}, t.dtype, "nonzero", [&]<class T>() {
        const T* p = dense->data<T>();
        parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++) {
                if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
                    out[i] = (p[i].bits & 0x7fffu) != 0;
                else
                    out[i] = p[i] != T(0);
            }
        });
    });
    return result;
}

int64_t count_true(const Tensor& dense_bool) {
    const uint8_t* p = dense_bool.words<uint8_t>();
    int64_t n = dense_bool.numel(), count = 0;
    for (int64_t i = 0; i < n;) {
        uint8_t block = 0;
        int64_t stop = std::min(n, i + 255);
        for (; i < stop; i++) block = static_cast<uint8_t>(block + (p[i] != 0));
        count += block;
    }
    return count;
}

namespace {

// Calls f(k, positions) for the k-th true element; positions are kept up to date without divisions.
template <class F>
void each_true(const Tensor& dense_bool, F&& f) {
    const uint8_t* p = dense_bool.words<uint8_t>();
    int64_t dims = dense_bool.dim(), rows = 1, k = 0;
    int64_t length = dims ? dense_bool.size(dims - 1) : 1;
    for (int64_t d = 0; d + 1 < dims; d++) rows *= dense_bool.size(d);
    Dims at(dims, 0);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < length; i++) {
            if (!p[r * length + i]) continue;
            if (dims) at[dims - 1] = i;
            f(k++, at);
        }
        for (int64_t d = dims - 2; d >= 0; d--) {
            if (++at[d] < dense_bool.size(d)) break;
            at[d] = 0;
        }
    }
}

}  // namespace

std::vector<TensorRef> nonzero_columns(const Tensor& t) {
    TensorRef truth = truth_of(t);
    int64_t count = count_true(*truth);
    std::vector<TensorRef> columns;
    std::vector<int64_t*> data;
    for (int64_t d = 0; d < t.dim(); d++) {
        columns.push_back(empty(IntSpan(&count, 1), DType::Int64));
        data.push_back(columns.back()->data<int64_t>());
    }
    each_true(*truth, [&](int64_t k, const Dims& at) {
        for (int64_t d = 0; d < at.size(); d++) data[static_cast<size_t>(d)][k] = at[d];
    });
    return columns;
}

namespace {

TensorRef nonzero_cpu(const Tensor& self) {
    TensorRef truth = truth_of(self);
    int64_t sizes[2] = {count_true(*truth), self.dim()};
    // The columns lie one after the other in memory, as PyTorch lays them out.
    int64_t strides[2] = {1, std::max<int64_t>(1, sizes[0])};
    TensorRef result = empty_strided(IntSpan(sizes, 2), IntSpan(strides, 2), DType::Int64);
    int64_t* out = result->data<int64_t>();
    each_true(*truth, [&](int64_t k, const Dims& at) {
        for (int64_t d = 0; d < at.size(); d++) out[d * strides[1] + k] = at[d];
    });
    return result;
}

void nonzero_static_cpu(Out result, const Tensor& self, int64_t size, int64_t fill_value) {
    int64_t dims = self.dim();
    MT_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
    int64_t* out = result->data<int64_t>();
    std::fill(out, out + size * dims, fill_value);
    TensorRef truth = truth_of(self);
    each_true(*truth, [&](int64_t k, const Dims& at) {
        if (k >= size) return;
        for (int64_t d = 0; d < dims; d++) out[k * dims + d] = at[d];
    });
}

void nonzero_static_shape(ShapeCall& c, const Tensor& self, int64_t size) {
    int64_t sizes[2] = {size, self.dim()};
    c.output(0, IntSpan(sizes, 2), DType::Int64);
}

TensorRef masked_select_cpu(const Tensor& self, const Tensor& mask) {
    MT_CHECK(mask.dtype == DType::Bool, "masked_select: expected BoolTensor for mask");
    Dims sizes = broadcast_sizes(self.sizes(), mask.sizes());
    Dims self_strides = broadcast_strides(self, sizes.size()), mask_strides = broadcast_strides(mask, sizes.size());
    StridedWalk<2> walk(sizes, {IntSpan(self_strides), IntSpan(mask_strides)});
    const uint8_t* wanted = mask.words<uint8_t>();
    int64_t count = 0;
    walk.run([&](const auto& at, int64_t n, const auto& steps) {
        for (int64_t i = 0; i < n; i++) count += wanted[at[1] + i * steps[1]] != 0;
    });
    TensorRef result = empty(IntSpan(&count, 1), self.dtype);
    visit_size(self.itemsize(), [&]<class T>() {
        const T* from = self.words<T>();
        T* to = result->words<T>();
        walk.run([&](const auto& at, int64_t n, const auto& steps) {
            for (int64_t i = 0; i < n; i++)
                if (wanted[at[1] + i * steps[1]]) *to++ = from[at[0] + i * steps[0]];
        });
    });
    return result;
}

void masked_scatter_shape(ShapeCall& c, const Tensor& self, const Tensor& mask) {
    if (self.sizes() == mask.sizes()) return c.output_like(0, self);
    c.output(0, broadcast_sizes(self.sizes(), mask.sizes()), self.dtype);
}

void masked_scatter_cpu(Out out, const Tensor& self, const Tensor& mask, const Tensor& source) {
    MT_CHECK(self.dtype == source.dtype, "masked_scatter: expected self and source to have same dtypes but got ",
             dtype_class_name(self.dtype), " and ", dtype_class_name(source.dtype));
    MT_CHECK(mask.dtype == DType::Bool, "masked_scatter_ only supports boolean masks, but got mask with dtype ",
             dtype_class_name(mask.dtype));
    if (out->raw() != self.raw()) copy_into(out, self);
    TensorRef dense = contiguous(source);
    Dims sizes(out->sizes()), mask_strides = broadcast_strides(mask, sizes.size());
    StridedWalk<2> walk(sizes, {out->strides(), IntSpan(mask_strides)});
    const uint8_t* wanted = mask.words<uint8_t>();
    bool enough = true;
    visit_size(out->itemsize(), [&]<class T>() {
        const T *from = dense->words<T>(), *last = from + dense->numel();
        T* to = out->words<T>();
        walk.run([&](const auto& at, int64_t n, const auto& steps) {
            for (int64_t i = 0; i < n; i++) {
                if (!wanted[at[1] + i * steps[1]]) continue;
                if (from == last) {
                    enough = false;
                    return;
                }
                to[at[0] + i * steps[0]] = *from++;
            }
        });
    });
    MT_CHECK(enough, "Number of elements of source < number of ones in mask");
}

KERNELS
{
    direct<nonzero_cpu>("nonzero");
    structured<nonzero_static_cpu>("nonzero_static", kContiguousOutputs);
    shape<nonzero_static_shape>("nonzero_static");
    direct<masked_select_cpu>("masked_select");
    structured<masked_scatter_cpu>("masked_scatter", kInputMayAlias);
    shape<masked_scatter_shape>("masked_scatter");
}

}  // namespace
}  // namespace mt
