// Matrix products: which library or loop serves which shape.
//
// float32: own loops for a few rows or where the whole is tiny (a library call costs more than the work), else oneDNN:
// sgemm, which on this project's machines equals MKL, or a primitive for layers of few rows. 16-bit floats are
// widened in blocks. float64 and complex go to OpenBLAS, as does float32 without oneDNN; integers to a loop. The
// measurements: docs/decisions/gemm.md.
#include "gemm.h"

#include <omp.h>

#include <vector>

#include "matvec.h"
#include "narrow.h"
#include "openblas.h"
#include "simd.h"

namespace mt {
namespace {

using simd::kLanes;
using simd::Vec;

// ---- small float32 products ----

// Rows [0, R) of C for columns [begin, end); B's columns are contiguous in k (b_row == 1): dot products.
template <int R>
void dots(const Product& p, const float* a, const float* b, float* c, int64_t begin, int64_t end) {
    const float alpha = static_cast<float>(p.alpha.real()), beta = static_cast<float>(p.beta.real());
    const float* bias = static_cast<const float*>(p.bias);
    const int64_t whole = p.k / kLanes * kLanes;
    const int rest = static_cast<int>(p.k - whole);
    // What to ask memory for ahead of its use. A short column leaves its page before the processor has seen a pattern:
    // then the next four columns.
    const int64_t ahead = p.k <= 1024 && p.b_col == p.k ? 4 * p.k : 256;
    auto columns = [&]<int N>(int64_t j) {
        Vec acc[R][N] = {};
        for (int64_t i = 0; i < whole; i += kLanes) {
            Vec left[R];
            for (int r = 0; r < R; r++) left[r] = simd::load(a + r * p.a_row + i);
            for (int q = 0; q < N; q++) {
                const float* from = b + (j + q) * p.b_col + i;
                __builtin_prefetch(from + ahead);
                Vec right = simd::load(from);
                for (int r = 0; r < R; r++) acc[r][q] = simd::fma(left[r], right, acc[r][q]);
            }
        }
        if (rest) {
            for (int q = 0; q < N; q++) {
                Vec right = simd::load_first(b + (j + q) * p.b_col + whole, rest);
                for (int r = 0; r < R; r++)
                    acc[r][q] = simd::fma(simd::load_first(a + r * p.a_row + whole, rest), right, acc[r][q]);
            }
        }
        for (int r = 0; r < R; r++)
            for (int q = 0; q < N; q++) {
                float v = alpha * simd::sum(acc[r][q]);
                float* to = c + r * p.c_row + j + q;
                if (bias) v += bias[j + q];
                *to = beta == 0 ? v : v + beta * *to;
            }
    };
    int64_t j = begin;
    for (; j + 4 <= end; j += 4) columns.template operator()<4>(j);
    for (; j < end; j++) columns.template operator()<1>(j);
}

// The same with B's rows contiguous (b_col == 1): multiples of B's rows are summed in registers, N for each of R rows.
// `last`: columns in the last of them; a template parameter says whether that is less than a register.
template <int R, int N, bool kPart>
void axpys_tile(const Product& p, const float* a, const float* b, float* c, int64_t j, int last) {
    const float alpha = static_cast<float>(p.alpha.real()), beta = static_cast<float>(p.beta.real());
    const int64_t a_row = p.a_row, a_col = p.a_col, b_row = p.b_row, k = p.k;
    auto in = [=](const float* from, int q) {
        return kPart && q + 1 == N ? simd::load_first(from, last) : simd::load(from);
    };
    Vec acc[R][N] = {};
    const float* from = b + j;
    for (int64_t i = 0; i < k; i++, from += b_row, a += a_col) {
        Vec right[N];
#pragma GCC unroll 4
        for (int q = 0; q < N; q++) right[q] = in(from + q * kLanes, q);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            const Vec left = simd::splat(a[r * a_row]);
#pragma GCC unroll 4
            for (int q = 0; q < N; q++) acc[r][q] = simd::fma(left, right[q], acc[r][q]);
        }
    }
    const float* bias = static_cast<const float*>(p.bias);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int q = 0; q < N; q++) {
            const int64_t at = j + q * kLanes;
            float* to = c + r * p.c_row + at;
            Vec v = acc[r][q] * alpha;
            if (bias) v += in(bias + at, q);
            if (beta != 0) v = simd::fma(in(to, q), simd::splat(beta), v);
            if (kPart && q + 1 == N)
                simd::store_first(to, v, last);
            else
                simd::store(to, v);
        }
}

template <int R>
void axpys(const Product& p, const float* a, const float* b, float* c, int64_t begin, int64_t end) {
    constexpr int kLeft = kLanes == 16 || R <= 2 ? 3 : 2;  // vectors that the last tile may have
    int64_t j = begin;
    if constexpr (R <= 4)
        for (; j + 4 * kLanes <= end; j += 4 * kLanes) axpys_tile<R, 4, false>(p, a, b, c, j, kLanes);
    for (; j + kLeft * kLanes < end; j += 2 * kLanes) axpys_tile<R, 2, false>(p, a, b, c, j, kLanes);
    const int64_t rest = end - j, vectors = (rest + kLanes - 1) / kLanes;
    const int last = static_cast<int>(rest - (vectors - 1) * kLanes);
    auto tile = [&]<int N>() {
        if (last == kLanes)
            axpys_tile<R, N, false>(p, a, b, c, j, last);
        else
            axpys_tile<R, N, true>(p, a, b, c, j, last);
    };
    if (kLeft == 3 && vectors == 3)
        tile.template operator()<3>();
    else if (vectors == 2)
        tile.template operator()<2>();
    else if (vectors == 1)
        tile.template operator()<1>();
}

template <int R>
void few_rows(const Product& p, const float* a, const float* b, float* c, int64_t begin, int64_t end) {
    if (p.b_row == 1 && p.a_col == 1 && p.b_col != 1)
        dots<R>(p, a, b, c, begin, end);
    else
        axpys<R>(p, a, b, c, begin, end);
}

// As many rows as there are registers for: with half of them, loads of B would take longer than the products.
constexpr int kManyRows = kLanes == 16 ? 8 : 4;

// Rows of A in groups that share the reads of B.
void row_groups(const Product& p, const float* a, const float* b, float* c, int64_t begin, int64_t end) {
    int64_t i = 0;
    if (kManyRows > 4 && p.b_col == 1)
        for (; i + kManyRows <= p.m; i += kManyRows)
            axpys<kManyRows>(p, a + i * p.a_row, b, c + i * p.c_row, begin, end);
    for (; i < p.m; i += 4) {
        const float* ai = a + i * p.a_row;
        float* ci = c + i * p.c_row;
        switch (std::min<int64_t>(4, p.m - i)) {
            case 1:
                few_rows<1>(p, ai, b, ci, begin, end);
                break;
            case 2:
                few_rows<2>(p, ai, b, ci, begin, end);
                break;
            case 3:
                few_rows<3>(p, ai, b, ci, begin, end);
                break;
            default:
                few_rows<4>(p, ai, b, ci, begin, end);
        }
    }
}

void small_rows(const Product& p, const float* a, const float* b, float* c, int64_t begin, int64_t end) {
    // Columns that lie one after the other: few enough at a time to stay in the cache until each group has read them.
    const int64_t step = p.b_col == 1 ? end - begin : std::max<int64_t>(4, (1 << 16) / p.k / 4 * 4);
    for (; begin < end; begin += step) row_groups(p, a, b, c, begin, std::min(end, begin + step));
}

// b can be read by `dots` or `axpys` as it is
bool readable(const Product& p) { return p.b_col == 1 || (p.b_row == 1 && p.a_col == 1); }

constexpr int64_t kSmallWork = 40 * 40 * 40;
constexpr int64_t kFewRows = 4, kFewDots = kLanes == 16 ? 12 : 4;  // rows of A, by the form that is used
// Columns of B that are turned into rows pay when several rows of A use them.
constexpr int64_t kTurned = 4096;
bool is_turned(const Product& p) { return p.b_col != 1 && p.b_row == 1 && p.m >= 8 && p.n * p.k <= kTurned; }

bool is_small(const Product& p) {
    const int64_t work = p.m * p.n * p.k;
    if (!readable(p) && !(is_turned(p) && work <= kSmallWork)) return false;
    return p.m <= (p.b_col == 1 ? kFewRows : kFewDots) || work <= kSmallWork;
}

void small_product(const Product& p, const float* a, const float* b, float* c) {
    if (!is_turned(p)) return small_rows(p, a, b, c, 0, p.n);
    alignas(64) float rows[kTurned];
    for (int64_t i = 0; i < p.k; i++)
        for (int64_t j = 0; j < p.n; j++) rows[i * p.n + j] = b[j * p.b_col + i];
    Product turned = p;
    turned.b_row = p.n, turned.b_col = 1;
    small_rows(turned, a, rows, c, 0, p.n);
}

void small_float(const Product& p) {
    const float *a = static_cast<const float*>(p.a), *b = static_cast<const float*>(p.b);
    float* c = static_cast<float*>(p.c);
    if (p.batch == 1 && is_turned(p)) return small_product(p, a, b, c);
    if (p.batch == 1) {
        int64_t work = p.m * p.k;
        parallel_for(p.n, std::max<int64_t>(64, (1 << 16) / std::max<int64_t>(work, 1)),
                     [&](int64_t begin, int64_t end) { small_rows(p, a, b, c, begin, end); });
        return;
    }
    parallel_for(p.batch, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(p.m * p.n * p.k, 1)),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; i++)
                         small_product(p, a + i * p.a_batch, b + i * p.b_batch, c + i * p.c_batch);
                 });
}

// ---- float32 through oneDNN ----

// How BLAS sees a matrix with one unit stride; `stride` is the distance of two stored rows.
struct Layout {
    bool transposed;
    int64_t stride;
};

bool blas_layout(int64_t rows, int64_t cols, int64_t row, int64_t col, Layout& l) {
    if (col == 1 && (row >= std::max<int64_t>(1, cols) || rows == 1)) {
        l = {false, rows == 1 ? std::max<int64_t>(row, std::max<int64_t>(1, cols)) : row};
        return true;
    }
    if (row == 1 && (col >= std::max<int64_t>(1, rows) || cols == 1)) {
        l = {true, cols == 1 ? std::max<int64_t>(col, std::max<int64_t>(1, rows)) : col};
        return true;
    }
    if (cols == 1 && row >= 1) {  // a column with gaps
        l = {false, row};
        return true;
    }
    if (rows == 1 && col >= 1) {
        l = {true, col};
        return true;
    }
    return false;
}

// C = beta C + bias: what a library's product, which knows no bias, then adds to.
void copy_bias(const Product& p) {
    const float *bias = static_cast<const float*>(p.bias), beta = static_cast<float>(p.beta.real());
    parallel_for(p.batch * p.m, grain_for(p.n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            float* to = static_cast<float*>(p.c) + i / p.m * p.c_batch + i % p.m * p.c_row;
            if (beta == 0)
                std::memcpy(to, bias, sizeof(float) * static_cast<size_t>(p.n));
            else
                for (int64_t j = 0; j < p.n; j++) to[j] = to[j] * beta + bias[j];
        }
    });
}

// oneDNN's product, else OpenBLAS's, which is then to use so many threads.
Sgemm library_sgemm(int threads) {
    if (Sgemm f = onednn_sgemm()) return f;
    openblas::use_threads(threads);
    return openblas::sgemm;
}

// Owned copies live until the product is done; the caching allocator spares them fresh pages.
struct Scratch {
    std::vector<Storage*> blocks;
    ~Scratch() {
        for (Storage* block : blocks) block->drop();
    }
    char* take(size_t bytes) {
        blocks.push_back(storage_alloc(bytes + 64, Device()));
        return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(blocks.back()->data) + 63) & ~uintptr_t(63));
    }
};

// A library adds up the edges of a thread's share in another order than what lies within (kOneOrder says where not). So
// a product is divided here, by its own sizes alone, and the library computes each part on one thread.
struct Parts {
    int64_t rows, cols, terms;
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What a library finds out about threads: none but the calling one.
struct OneThread {
    const int before = omp_get_max_threads();
    OneThread() { omp_set_num_threads(1); }
    ~OneThread() { omp_set_num_threads(before); }
};

Parts parts_of(const Product& p) {
    constexpr int64_t kWanted = 16, kLeastWork = 1 << 20, kLongSum = 4096, kLeastTerms = 1024;
    Parts parts{p.m <= 320 ? p.m : 240, std::min<int64_t>(p.n, 384), p.k};
    auto blocks = [&] { return p.batch * ceil_div(p.m, parts.rows) * ceil_div(p.n, parts.cols); };
    while (blocks() < kWanted && parts.rows * parts.cols * p.k > kLeastWork) {
        if (parts.cols > 96)
            parts.cols = parts.cols > 192 ? 192 : 96;
        else if (parts.rows > 60)
            parts.rows = parts.rows > 120 ? 120 : 60;
        else
            break;
    }
    if (p.k >= kLongSum && blocks() < 4) parts.terms = std::max(kLeastTerms, ceil_div(p.k, kWanted));
    return parts;
}

// beta C + A B by parts; the sums of parts of the terms are added in their order.
void product_by_parts(const Product& p, const Layout& a, const Layout& b, float alpha, float beta, Scratch& scratch) {
    const Parts parts = parts_of(p);
    const int64_t down = ceil_div(p.m, parts.rows), across = ceil_div(p.n, parts.cols),
                  deep = ceil_div(p.k, parts.terms), size = p.m * p.n;
    const Sgemm sgemm = library_sgemm(1);
    float* const further =
        deep == 1
            ? nullptr
            : reinterpret_cast<float*>(scratch.take(static_cast<size_t>(p.batch * (deep - 1) * size) * sizeof(float)));
    NoGil released(p.batch * p.m * p.n * p.k > 50000);
    parallel_for(p.batch * down * across * deep, 1, [&](int64_t begin, int64_t end) {
        const OneThread alone;
        for (int64_t i = begin; i < end; i++) {
            const int64_t t = i % deep, block = i / deep % (down * across), item = i / deep / (down * across);
            const int64_t row = block / across * parts.rows, col = block % across * parts.cols, term = t * parts.terms;
            const float *left = static_cast<const float*>(p.a) + item * p.a_batch +
                                (a.transposed ? row + term * a.stride : row * a.stride + term),
                        *right = static_cast<const float*>(p.b) + item * p.b_batch +
                                 (b.transposed ? col * b.stride + term : col + term * b.stride);
            const int64_t row_of_c = t ? p.n : p.c_row;
            float* to = t ? further + (item * (deep - 1) + t - 1) * size : static_cast<float*>(p.c) + item * p.c_batch;
            sgemm(a.transposed, b.transposed, std::min(parts.rows, p.m - row), std::min(parts.cols, p.n - col),
                  std::min(parts.terms, p.k - term), alpha, left, a.stride, right, b.stride, t ? 0 : beta,
                  to + row * row_of_c + col, row_of_c);
        }
    });
    if (deep == 1) return;
    parallel_for(p.batch * p.m, grain_for(p.n * deep), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            float* to = static_cast<float*>(p.c) + i / p.m * p.c_batch + i % p.m * p.c_row;
            for (int64_t t = 0; t + 1 < deep; t++) {
                const float* from = further + (i / p.m * (deep - 1) + t) * size + i % p.m * p.n;
                for (int64_t j = 0; j < p.n; j++) to[j] += from[j];
            }
        }
    });
}

void float_product(const Product& p, const Layout& a, const Layout& b, Scratch& scratch) {
    const float alpha = static_cast<float>(p.alpha.real()), beta = p.bias ? 1.0f : static_cast<float>(p.beta.real());
    const Sgemm sgemm = onednn_sgemm();
    if (!sgemm) openblas::check_sizes({p.m, p.n, p.k, a.stride, b.stride, p.c_row});
    if (p.bias) copy_bias(p);
    // With more threads oneDNN divides the sums as well, on some processors from 8 threads on.
    constexpr int kMostInOneOrder = 4;
    if (!kOneOrder || !sgemm || num_threads() > kMostInOneOrder || parts_of(p).terms < p.k) {
        product_by_parts(p, a, b, alpha, beta, scratch);
        return check_sgemm();
    }
    auto one = [&](int64_t i) {
        sgemm(a.transposed, b.transposed, p.m, p.n, p.k, alpha, static_cast<const float*>(p.a) + i * p.a_batch,
              a.stride, static_cast<const float*>(p.b) + i * p.b_batch, b.stride, beta,
              static_cast<float*>(p.c) + i * p.c_batch, p.c_row);
    };
    NoGil released(p.batch * p.m * p.n * p.k > 50000);
    if (p.batch == 1 || omp_in_parallel() || num_threads() == 1 ||
        (p.batch < num_threads() && p.m * p.n * p.k > (1 << 18))) {
        for (int64_t i = 0; i < p.batch; i++) one(i);
    } else {
        parallel_for(p.batch, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++) one(i);
        });
    }
    check_sgemm();
}

Sgemm g_sgemm_here = nullptr;  // set by prepare_sgemm()

// ---- operands whose strides no library takes ----

template <class T>
void pack(const void* from, int64_t batch_stride, int64_t row, int64_t col, T* to, int64_t batch, int64_t rows,
          int64_t cols) {
    parallel_for(batch * rows, grain_for(cols), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const T* src = static_cast<const T*>(from) + i / rows * batch_stride + i % rows * row;
            T* dst = to + i * cols;
            for (int64_t j = 0; j < cols; j++) dst[j] = src[j * col];
        }
    });
}

const void* packed(Scratch& scratch, int64_t item, const void* from, int64_t& batch_stride, int64_t& row, int64_t& col,
                   int64_t batch, int64_t rows, int64_t cols) {
    int64_t copies = batch_stride == 0 ? 1 : batch;
    char* to = scratch.take(static_cast<size_t>(copies * rows * cols * item));
    visit_size(item,
               [&]<class T>() { pack<T>(from, batch_stride, row, col, reinterpret_cast<T*>(to), copies, rows, cols); });
    batch_stride = batch_stride == 0 ? 0 : rows * cols;
    row = cols;
    col = 1;
    return to;
}

// ---- other dtypes ----

template <class T>
void integer_product(const Product& p) {
    const T alpha = static_cast<T>(p.alpha.real()), beta = static_cast<T>(p.beta.real());
    // Sizes of their own: those of `p` could be written to by way of an int64_t* or a char*, for all the compiler
    // knows.
    const int64_t n = p.n, b_col = p.b_col;
    parallel_for(p.batch * p.m, grain_for(n * p.k), [&, n, b_col](int64_t begin, int64_t end) {
        std::vector<T> row_sums(static_cast<size_t>(n));
        T* sums = row_sums.data();
        for (int64_t i = begin; i < end; i++) {
            int64_t batch = i / p.m, r = i % p.m;
            const T* a = static_cast<const T*>(p.a) + batch * p.a_batch + r * p.a_row;
            const T* b = static_cast<const T*>(p.b) + batch * p.b_batch;
            T* c = static_cast<T*>(p.c) + batch * p.c_batch + r * p.c_row;
            std::fill(sums, sums + n, T(0));
            for (int64_t q = 0; q < p.k; q++) {
                const T x = a[q * p.a_col];
                const T* row = b + q * p.b_row;
                if (b_col == 1)
                    for (int64_t j = 0; j < n; j++) sums[j] = static_cast<T>(sums[j] + x * row[j]);
                else
                    for (int64_t j = 0; j < n; j++) sums[j] = static_cast<T>(sums[j] + x * row[j * b_col]);
            }
            const T* bias = static_cast<const T*>(p.bias);
            for (int64_t j = 0; j < n; j++) {
                T v = static_cast<T>(alpha * sums[j]);
                if (bias) v = static_cast<T>(v + bias[j]);
                c[j] = beta == T(0) ? v : static_cast<T>(v + beta * c[j]);
            }
        }
    });
}

template <class T>
void convert_rows(const void* from, int64_t batch_stride, int64_t row, int64_t col, float* to, int64_t batch,
                  int64_t rows, int64_t cols) {
    parallel_for(batch * rows, grain_for(cols), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const T* src = static_cast<const T*>(from) + i / rows * batch_stride + i % rows * row;
            float* dst = to + i * cols;
            if (col == 1)
                widen(src, dst, cols);
            else
                for (int64_t j = 0; j < cols; j++) dst[j] = static_cast<float>(src[j * col]);
        }
    });
}

// A 16-bit operand as float32, in the order in which it is stored.
template <class T>
const float* widened(Scratch& scratch, const void* from, int64_t& batch_stride, int64_t& row, int64_t& col,
                     int64_t batch, int64_t rows, int64_t cols) {
    int64_t copies = batch_stride == 0 ? 1 : batch;
    float* to = reinterpret_cast<float*>(scratch.take(static_cast<size_t>(copies * rows * cols) * sizeof(float)));
    if (row == 1 && col != 1) {
        convert_rows<T>(from, batch_stride, col, row, to, copies, cols, rows);
        row = 1;
        col = rows;
    } else {
        const bool joined = cols < 64 && row == cols && col == 1;  // short rows without gaps are one
        convert_rows<T>(from, batch_stride, row, col, to, copies, joined ? 1 : rows, joined ? rows * cols : cols);
        row = cols;
        col = 1;
    }
    batch_stride = batch_stride == 0 ? 0 : rows * cols;
    return to;
}

// An operand as a library takes it: as it is, or copied.
Layout as_blas(Scratch& scratch, int64_t item, const void*& from, int64_t& batch_stride, int64_t& row, int64_t& col,
               int64_t batch, int64_t rows, int64_t cols) {
    Layout found;
    if (blas_layout(rows, cols, row, col, found)) return found;
    from = packed(scratch, item, from, batch_stride, row, col, batch, rows, cols);
    return {false, cols};
}

// C, which is float32, of operands that stay bfloat16: OpenBLAS, where multiplies_bfloat16() says so and there is no
// oneDNN.
void bfloat16_product(const Product& given, Scratch& scratch) {
    Product p = given;
    const Layout a = as_blas(scratch, 2, p.a, p.a_batch, p.a_row, p.a_col, p.batch, p.m, p.k),
                 b = as_blas(scratch, 2, p.b, p.b_batch, p.b_row, p.b_col, p.batch, p.k, p.n);
    if (p.bias) copy_bias(p);
    const float alpha = static_cast<float>(p.alpha.real()), beta = p.bias ? 1.0f : static_cast<float>(p.beta.real());
    for (int64_t i = 0; i < p.batch; i++)
        openblas::sbgemm(a.transposed, b.transposed, p.m, p.n, p.k, alpha,
                         static_cast<const BFloat16*>(p.a) + i * p.a_batch, a.stride,
                         static_cast<const BFloat16*>(p.b) + i * p.b_batch, b.stride, beta,
                         static_cast<float*>(p.c) + i * p.c_batch, p.c_row);
}

// A product of 16-bit floats with sums in float32.
template <class T>
void widened_product(const Product& p, const char* op) {
    Scratch scratch;
    Product w = p;
    float* c = reinterpret_cast<float*>(scratch.take(static_cast<size_t>(p.batch * p.m * p.n) * sizeof(float)));
    if (p.beta != 0.0) convert_rows<T>(p.c, p.c_batch, p.c_row, 1, c, p.batch, p.m, p.n);
    w.c = c;
    w.c_batch = p.m * p.n;
    w.c_row = p.n;
    if (p.bias) {
        float* bias = reinterpret_cast<float*>(scratch.take(static_cast<size_t>(p.n) * sizeof(float)));
        widen(static_cast<const T*>(p.bias), bias, p.n);
        w.bias = bias;
    }
    if (std::is_same_v<T, BFloat16> && multiplies_bfloat16() && onednn_sgemm() == nullptr) {
        bfloat16_product(w, scratch);
    } else {
        w.dtype = DType::Float32;
        w.a = widened<T>(scratch, p.a, w.a_batch, w.a_row, w.a_col, p.batch, p.m, p.k);
        w.b = widened<T>(scratch, p.b, w.b_batch, w.b_row, w.b_col, p.batch, p.k, p.n);
        gemm(w, op);
    }
    parallel_for(p.batch * p.m, grain_for(p.n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
            narrow(c + i * p.n, static_cast<T*>(p.c) + i / p.m * p.c_batch + i % p.m * p.c_row, p.n);
    });
}

template <class T>
void scale_only(const Product& p) {  // k == 0
    T beta = Value::of(p.beta).to<T>();
    const T* bias = static_cast<const T*>(p.bias);
    for (int64_t i = 0; i < p.batch; i++)
        for (int64_t r = 0; r < p.m; r++) {
            T* c = static_cast<T*>(p.c) + i * p.c_batch + r * p.c_row;
            for (int64_t j = 0; j < p.n; j++) {
                T v = bias ? bias[j] : T(0);
                c[j] = p.beta == 0.0 ? v : T(v + T(beta * c[j]));
            }
        }
}

template <class T>
void add_bias_rows(const Product& p) {
    const T* bias = static_cast<const T*>(p.bias);
    for (int64_t i = 0; i < p.batch; i++)
        for (int64_t r = 0; r < p.m; r++) {
            T* c = static_cast<T*>(p.c) + i * p.c_batch + r * p.c_row;
            for (int64_t j = 0; j < p.n; j++) c[j] += bias[j];
        }
}

}  // namespace

void gemm(const Product& given, const char* op) {
    Product p = given;
    if (p.batch == 0 || p.m == 0 || p.n == 0) return;
    const bool is_number = is_integer(p.dtype) || is_reduced_float(p.dtype) || p.dtype == DType::Float32 ||
                           p.dtype == DType::Float64 || p.dtype == DType::Complex64 || p.dtype == DType::Complex128;
    if (!is_number || p.dtype == DType::Bool) unsupported_dtype(op, p.dtype);
    if (p.k == 0) {
        visit(NumberTypes{}, p.dtype, op, [&]<class T>() { scale_only<T>(p); });
        return;
    }
    if (p.dtype == DType::Float32) {
        if (matrix_vector_product(p)) return;
        if (p.n == 1 && p.m > 4 && p.c_row == 1 &&
            !p.bias) {  // a matrix times a vector is a vector times the transpose
            Product t = p;
            t.m = 1, t.n = p.m, t.c_row = p.m;
            std::swap(t.a, t.b);
            std::swap(t.a_batch, t.b_batch);
            t.a_row = p.b_col, t.a_col = p.b_row, t.b_row = p.a_col, t.b_col = p.a_row;
            if (readable(t)) return small_float(t);
        }
        if (is_small(p)) return small_float(p);
    } else if (is_reduced_float(p.dtype)) {
        // With very few rows memory decides, and our loops read it faster than the library's.
        const bool few = p.m <= 2 || p.n == 1;
        if (few && matrix_vector_product(p)) return;
        if (p.dtype == DType::BFloat16 && onednn_product(p)) return;
        if (!few && matrix_vector_product(p)) return;
        return p.dtype == DType::Float16 ? widened_product<Half>(p, op) : widened_product<BFloat16>(p, op);
    } else if (is_integer(p.dtype)) {
        Scratch scratch;
        if (p.b_col != 1 && p.m > 1)
            p.b = packed(scratch, itemsize(p.dtype), p.b, p.b_batch, p.b_row, p.b_col, p.batch, p.k, p.n);
        visit(IntTypes{}, p.dtype, op, [&]<class T>() { integer_product<T>(p); });
        return;
    }
    if (p.dtype == DType::Float64 && matrix_vector_product(p)) return;
    Scratch scratch;
    const int64_t item = itemsize(p.dtype);
    const Layout a = as_blas(scratch, item, p.a, p.a_batch, p.a_row, p.a_col, p.batch, p.m, p.k),
                 b = as_blas(scratch, item, p.b, p.b_batch, p.b_row, p.b_col, p.batch, p.k, p.n);
    if (p.m == 1) p.c_row = std::max(p.c_row, p.n);
    if (p.dtype == DType::Float32) return onednn_product(p) ? void() : float_product(p, a, b, scratch);
    auto at = [&](const void* base, int64_t elements) {
        return const_cast<void*>(static_cast<const void*>(static_cast<const char*>(base) + elements * item));
    };
    for (int64_t i = 0; i < p.batch; i++)
        openblas::gemm(p.dtype, a.transposed, b.transposed, p.m, p.n, p.k, p.alpha, at(p.a, i * p.a_batch), a.stride,
                       at(p.b, i * p.b_batch), b.stride, p.beta, at(p.c, i * p.c_batch), p.c_row);
    if (p.bias) visit(Types<double, c64, c128>{}, p.dtype, op, [&]<class T>() { add_bias_rows<T>(p); });
}

void prepare_sgemm() { g_sgemm_here = library_sgemm(1); }

void sgemm_here(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
    if (m <= 4 && !transpose_a) {
        Product p;
        p.m = m, p.n = n, p.k = k, p.a_row = lda, p.c_row = ldc, p.alpha = alpha, p.beta = beta;
        p.b_row = transpose_b ? 1 : ldb, p.b_col = transpose_b ? ldb : 1;
        return small_rows(p, a, b, c, 0, n);
    }
    g_sgemm_here(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void column_sums(DType dtype, const void* from, int64_t rows, int64_t cols, int64_t row_stride, void* to) {
    visit(NumberTypes{}, dtype, "sum", [&]<class T>() {
        using A = opmath_t<T>;
        const T* src = static_cast<const T*>(from);
        T* dst = static_cast<T*>(to);
        parallel_for(cols, std::max<int64_t>(64, grain_for(rows)), [&](int64_t begin, int64_t end) {
            constexpr int64_t kWidth = 512;
            A sums[kWidth], part[kWidth];
            for (int64_t j = begin; j < end; j += kWidth) {
                int64_t width = std::min(kWidth, end - j);
                std::fill(sums, sums + width, A(0));
                for (int64_t top = 0; top < rows; top += 64) {  // two levels keep float32 sums accurate
                    std::fill(part, part + width, A(0));
                    for (int64_t i = top; i < std::min(rows, top + 64); i++) {
                        const T* row = src + i * row_stride + j;
                        for (int64_t q = 0; q < width; q++) part[q] += static_cast<A>(row[q]);
                    }
                    for (int64_t q = 0; q < width; q++) sums[q] += part[q];
                }
                for (int64_t q = 0; q < width; q++) dst[j + q] = T(sums[q]);
            }
        });
    });
}

}  // namespace mt
