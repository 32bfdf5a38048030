// Copies between CPU tensors of any strides and dtypes, and fills.
#include <cmath>

#include "convert.h"
#include "core/copy_bytes.h"
#include "strided.h"

namespace mt {
namespace {

constexpr int64_t kTile = 32;

// One tile of a transposition: dst rows are contiguous, src columns are. Strides in elements.
template <class T>
void transpose_tile(T* dst, int64_t ld, const T* src, int64_t ls, int64_t rows, int64_t cols) {
    T block[kTile][kTile];
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) block[j][i] = src[j * ls + i];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) dst[i * ld + j] = block[j][i];
}

// Dimension 0 is contiguous in the destination and dimension `across` in the source: copies tile by tile, so that both
// are walked along their cache lines.
template <class T>
void transpose(const StridedLoop& w, int64_t across) {
    constexpr int64_t size = sizeof(T);
    int64_t n0 = w.sizes[0], n1 = w.sizes[across], outer = w.numel / (n0 * n1);
    int64_t tiles1 = (n1 + kTile - 1) / kTile;
    parallel_for(outer * tiles1, grain_for(kTile * n0), [&](int64_t begin, int64_t end) {
        for (int64_t job = begin; job < end; job++) {
            int64_t rest = job / tiles1, i1 = job % tiles1 * kTile;
            int64_t at_dst = i1 * w.strides[0][across], at_src = i1 * w.strides[1][across];
            for (int64_t d = 1; d < w.ndim; d++) {
                if (d == across) continue;
                int64_t i = rest % w.sizes[d];
                rest /= w.sizes[d];
                at_dst += i * w.strides[0][d];
                at_src += i * w.strides[1][d];
            }
            for (int64_t i0 = 0; i0 < n0; i0 += kTile)
                transpose_tile(reinterpret_cast<T*>(w.base[0] + at_dst + i0 * size), w.strides[0][across] / size,
                               reinterpret_cast<const T*>(w.base[1] + at_src + i0 * w.strides[1][0]),
                               w.strides[1][0] / size, std::min(kTile, n1 - i1), std::min(kTile, n0 - i0));
        }
    });
}

// Rows of elements that only move: an odometer over the outer dimensions, and move(to, from) for each row.
template <class F>
void move_rows(const StridedLoop& w, int64_t begin, int64_t end, const F& move) {
    constexpr int64_t kMaxDims = 64;
    int64_t index[kMaxDims];
    int64_t p = begin;
    char* d = w.base[0];
    const char* s = w.base[1];
    for (int64_t k = 1; k < w.ndim; k++) {
        index[k] = p % w.sizes[k];
        p /= w.sizes[k];
        d += index[k] * w.strides[0][k];
        s += index[k] * w.strides[1][k];
    }
    for (int64_t row = begin; row < end; row++) {
        move(d, s);
        for (int64_t k = 1; k < w.ndim; k++) {
            d += w.strides[0][k];
            s += w.strides[1][k];
            if (++index[k] < w.sizes[k]) break;
            d -= w.sizes[k] * w.strides[0][k];
            s -= w.sizes[k] * w.strides[1][k];
            index[k] = 0;
        }
    }
}

// Many short rows: a block of them at a time, the first elements of all its rows, then the second ones, and so on.
template <class T>
void move_columns(const StridedLoop& w) {
    constexpr int64_t kBlock = 256;
    const int64_t n = w.sizes[0], rows = w.sizes[1], blocks = (rows + kBlock - 1) / kBlock;
    const int64_t to = w.strides[0][1], from = w.strides[1][1];
    parallel_for(w.numel / (n * rows) * blocks, grain_for(n * kBlock), [&](int64_t begin, int64_t end) {
        for (int64_t job = begin; job < end; job++) {
            const int64_t first = job % blocks * kBlock, count = std::min(kBlock, rows - first);
            char* d = w.base[0] + first * to;
            const char* s = w.base[1] + first * from;
            int64_t rest = job / blocks;
            for (int64_t k = 2; k < w.ndim; k++) {
                d += rest % w.sizes[k] * w.strides[0][k];
                s += rest % w.sizes[k] * w.strides[1][k];
                rest /= w.sizes[k];
            }
            for (int64_t i = 0; i < n; i++, d += w.strides[0][0], s += w.strides[1][0])
                for (int64_t j = 0; j < count; j++) std::memcpy(d + j * to, s + j * from, sizeof(T));
        }
    });
}

// Short rows, whatever their strides, and such as are contiguous in both tensors: without a call by dtype per row.
bool moved_by_rows(const StridedLoop& w, int64_t size) {
    constexpr int64_t kShort = 16, kLong = 8192;
    const int64_t n = w.sizes[0], to = w.strides[0][0], from = w.strides[1][0];
    const bool dense = to == size && from == size;
    if (w.ndim < 2 || n > (dense ? kLong : kShort)) return false;
    if ((!dense || n * size < 32) && w.sizes[1] >= 4 * kShort) {
        visit_size(size, [&]<class T>() { move_columns<T>(w); });
        return true;
    }
    parallel_for(w.numel / n, grain_for(n), [&](int64_t begin, int64_t end) {
        if (dense && n * size >= 32)
            return move_rows(w, begin, end, [bytes = static_cast<size_t>(n * size)](char* d, const char* s) {
                copy_bytes(d, s, bytes);
            });
        visit_size(size, [&]<class T>() {
            move_rows(w, begin, end, [=](char* d, const char* s) {
                for (int64_t i = 0; i < n; i++) std::memcpy(d + i * to, s + i * from, sizeof(T));
            });
        });
    });
    return true;
}

bool same_dense_layout(const Tensor& a, const Tensor& b) {
    if (!(a.sizes() == b.sizes())) return false;
    if (a.is_contiguous() && b.is_contiguous()) return true;
    return a.is_non_overlapping_and_dense() && a.strides() == b.strides();
}

void copy_cpu(Tensor& dst, const Tensor& src) {
    int64_t n = dst.numel_;
    if (n == 0) return;
    int64_t ds = dst.itemsize(), ss = src.itemsize();
    if (same_dense_layout(dst, src)) {
        char *d = dst.raw(), *s = src.raw();
        if (d == s && dst.dtype == src.dtype) return;
        parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
            cast_run(d + begin * ds, ds, dst.dtype, s + begin * ss, ss, src.dtype, end - begin);
        });
        return;
    }
    StridedLoop w;
    w.start(dst);
    w.add(&src);
    w.finish();
    if (dst.dtype == src.dtype) {
        if (w.ndim > 1 && w.strides[0][0] == ds && w.strides[1][0] != ss && w.strides[1][0] != 0) {
            int64_t across = 0;
            for (int64_t d = 1; d < w.ndim; d++)
                if (w.strides[1][d] == ss) across = d;
            if (across && w.sizes[0] >= 8 && w.sizes[across] >= 8)
                return visit_size(ds, [&]<class T>() { transpose<T>(w, across); });
        }
        if (moved_by_rows(w, ds)) return;
    }
    parallel_for(w.numel, kGrain, [&](int64_t begin, int64_t end) {
        w.each_row(begin, end, [&](int64_t, int64_t m, const int64_t* at) {
            cast_run(w.base[0] + at[0], w.strides[0][0], dst.dtype, w.base[1] + at[1], w.strides[1][0], src.dtype, m);
        });
    });
}

void fill_cpu(Tensor& t, const Value& v) {
    if (t.numel_ == 0) return;
    alignas(16) char one[16];
    int64_t size = t.itemsize();
    switch (v.tag) {
        case Tag::Bool:
            cast_run(one, size, t.dtype, &v.b, 0, DType::Bool, 1);
            break;
        case Tag::Int:
            cast_run(one, size, t.dtype, &v.i, 0, v.is_unsigned() ? DType::UInt64 : DType::Int64, 1);
            break;
        case Tag::Double:
            cast_run(one, size, t.dtype, &v.d, 0, DType::Float64, 1);
            break;
        case Tag::Complex:
            cast_run(one, size, t.dtype, v.z, 0, DType::Complex128, 1);
            break;
        default:
            MT_THROW(Type, "fill_(): expected a number");
    }
    bool zero = true;
    for (int64_t i = 0; i < size; i++) zero = zero && one[i] == 0;
    visit_size(size, [&]<class T>() {
        T value;
        std::memcpy(&value, one, sizeof(T));
        if (t.is_contiguous() || t.is_non_overlapping_and_dense()) {
            T* d = t.words<T>();
            parallel_for(t.numel_, kGrain, [&](int64_t begin, int64_t end) {
                if (zero || sizeof(T) == 1)
                    std::memset(static_cast<void*>(d + begin), one[0], static_cast<size_t>(end - begin) * sizeof(T));
                else
                    for (int64_t i = begin; i < end; i++) d[i] = value;
            });
            return;
        }
        StridedLoop w;
        w.start(t);
        w.finish();
        parallel_for(w.numel, kGrain, [&](int64_t begin, int64_t end) {
            w.rows(0, begin, end - begin, [&](int64_t at, int64_t m) {
                for (int64_t i = 0; i < m; i++) std::memcpy(w.base[0] + at + i * w.strides[0][0], &value, sizeof(T));
            });
        });
    });
}

KERNELS
{
    set_copy_kernel(copy_cpu, fill_cpu);
}

}  // namespace
}  // namespace mt
