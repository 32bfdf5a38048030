// Largest and smallest elements, with and without their positions.
#include "cpu/reduce.h"

namespace mt {
namespace {

// ---- values ----

template <bool kMax>
void extremum_into(Tensor& out, const Tensor& self, uint64_t mask, const char* name) {
    DType type = is_bool(self.dtype) ? DType::UInt8 : self.dtype;
    visit(RealTypes{}, type, name, [&]<class T>() {
        fold_into<T, T>(self, mask, ExtremumOp<T, kMax>(), out, [](Compute<T> t) { return T(t); });
    });
}

template <bool kMax>
void extremum_cpu(Out out, const Tensor& self) {
    extremum_into<kMax>(out, self, ReducedDims().mask(self.ndim), kMax ? "max_all" : "min_all");
}
template <bool kMax>
void extremum_dim_cpu(Out out, const Tensor& self, ReducedDims dim, bool keepdim) {
    extremum_into<kMax>(out, self, dim.mask(self.ndim), kMax ? "max_values_cpu" : "min_values_cpu");
}

void aminmax_cpu(Out out, const Tensor& self, ReducedDims dim, bool keepdim) {
    uint64_t mask = dim.mask(self.ndim);
    extremum_into<false>(out[0], self, mask, "aminmax_kernel");
    extremum_into<true>(out[1], self, mask, "aminmax_kernel");
}

// ---- positions ----

// Position of the first extremum of a row; the first NaN wins.
template <bool kMax, class T>
[[gnu::noinline]] int64_t position_in_row(const T* x, int64_t n) {
    using X = Compute<T>;
    if constexpr (std::is_same_v<T, float>) {
        // Blocks: find the value with lanes first, then the position in the block that has it.
        if (n >= 64) {
            float best = fold_row(ExtremumOp<float, kMax>(), x, n);
            for (int64_t i = 0; i < n; i += 256) {
                int64_t e = std::min<int64_t>(n, i + 256);
                int hit = 0;
                for (int64_t j = i; j < e; j++) hit |= (x[j] == best) | (x[j] != x[j]);
                if (!hit) continue;
                for (int64_t j = i; j < e; j++)
                    if (best == best ? x[j] == best : x[j] != x[j]) return j;
            }
        }
    }
    X best = x[0];
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        X v = x[i];
        if constexpr (std::is_floating_point_v<X>)
            if (v != v) return i;
        if (kMax ? v > best : v < best) {
            best = v;
            at = i;
        }
    }
    return at;
}

// The same for adjacent columns.
template <bool kMax, class T>
void positions_in_columns(const T* x, int64_t rows, int64_t stride, int64_t columns, int64_t* at) {
    using X = Compute<T>;
    X best[kFoldColumns];
    for (int64_t j = 0; j < columns; j++) {
        best[j] = x[j];
        at[j] = 0;
    }
    for (int64_t r = 1; r < rows; r++) {
        const T* row = x + r * stride;
        for (int64_t j = 0; j < columns; j++) {
            X v = row[j];
            bool take = kMax ? v > best[j] : v < best[j];
            if constexpr (std::is_floating_point_v<X>) take = (take | (v != v)) & (best[j] == best[j]);
            best[j] = take ? v : best[j];
            at[j] = take ? r : at[j];
        }
    }
}

template <bool kMax>
void positions(const Tensor& self, uint64_t mask, const char* name, Tensor* values, Tensor& indices) {
    MT_CHECK_AS(NotImplemented, !is_complex(self.dtype), "\"", name, "\" not implemented for '",
                dtype_class_name(self.dtype), "'");
    DType type = broad_type(self.dtype);
    Converted converted(values ? *values : indices, values ? type : indices.dtype);
    visit(Types<float, double, int64_t>{}, type, name, [&]<class T>() {
        Rows v = as_rows(self, mask, type, false, false);
        const T* x = v.data<T>();
        T* value = values ? converted.tensor().data<T>() : nullptr;
        int64_t* index = indices.data<int64_t>();
        if (v.red == 0 || v.outer == 0 || v.inner == 0) return;
        if (v.inner == 1) {
            parallel_for(v.outer, grain_for(v.red), [&](int64_t b, int64_t e) {
                for (int64_t o = b; o < e; o++) {
                    index[o] = position_in_row<kMax>(x + o * v.red, v.red);
                    if (value) value[o] = x[o * v.red + index[o]];
                }
            });
            return;
        }
        int64_t blocks = (v.inner + kFoldColumns - 1) / kFoldColumns;
        parallel_for(v.outer * blocks, grain_for(v.red * std::min(kFoldColumns, v.inner)), [&](int64_t b, int64_t e) {
            for (int64_t k = b; k < e; k++) {
                int64_t o = k / blocks, c0 = k % blocks * kFoldColumns, n = std::min(kFoldColumns, v.inner - c0);
                const T* from = x + o * v.red * v.inner + c0;
                int64_t* at = index + o * v.inner + c0;
                positions_in_columns<kMax>(from, v.red, v.inner, n, at);
                if (value)
                    for (int64_t j = 0; j < n; j++) value[o * v.inner + c0 + j] = from[at[j] * v.inner + j];
            }
        });
    });
    converted.finish();
}

template <bool kMax>
void argument_cpu(Out out, const Tensor& self, ReducedDims dim, bool keepdim) {
    positions<kMax>(self, dim.mask(self.ndim), kMax ? "argmax_cpu" : "argmin_cpu", nullptr, out);
}

template <bool kMax>
void indexed_extremum_cpu(Out out, const Tensor& self, ReducedDims dim, bool keepdim) {
    positions<kMax>(self, dim.mask(self.ndim), kMax ? "max_cpu" : "min_cpu", &out[0], out[1]);
}

}  // namespace

KERNELS
{
    structured<extremum_dim_cpu<true>>("amax", kContiguousOutputs);
    structured<extremum_dim_cpu<false>>("amin", kContiguousOutputs);
    structured<extremum_cpu<true>>("max", kContiguousOutputs);
    structured<extremum_cpu<false>>("min", kContiguousOutputs);
    structured<aminmax_cpu>("aminmax", kContiguousOutputs);
    structured<argument_cpu<true>>("argmax", kContiguousOutputs);
    structured<argument_cpu<false>>("argmin", kContiguousOutputs);
    structured<indexed_extremum_cpu<true>>("max.dim", kContiguousOutputs);
    structured<indexed_extremum_cpu<false>>("min.dim", kContiguousOutputs);
}

}  // namespace mt
