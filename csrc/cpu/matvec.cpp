// Products of a matrix and a few vectors. A library's product packs its operands first, and 16-bit ones would be
// widened as a whole; here the matrix is read once, in the order of memory, and widened in registers.
#include "matvec.h"

#include <vector>

#include "narrow.h"
#include "simd.h"

namespace mt {
namespace {

constexpr int kBytes = 4 * simd::kLanes;

// A register of the computing type, and how it is filled from elements of T.
template <class T>
struct Register {
    using Item = float;
    typedef float Vec __attribute__((vector_size(kBytes)));
    static constexpr int kLanes = simd::kLanes;
    static Vec load(const T* p) {
        if constexpr (std::is_same_v<T, float>) {
            return simd::load(p);
        } else if constexpr (std::is_same_v<T, BFloat16>) {
            typedef uint16_t Narrow __attribute__((vector_size(kBytes / 2), aligned(2), may_alias));
            typedef uint32_t Wide __attribute__((vector_size(kBytes)));
            return Vec(__builtin_convertvector(*reinterpret_cast<const Narrow*>(p), Wide) << 16);
        } else {
            alignas(kBytes) float wide[kLanes];
            widen(p, wide, kLanes);
            return simd::load(wide);
        }
    }
    static Vec fma(Vec a, Vec b, Vec c) { return simd::fma(a, b, c); }
};
template <>
struct Register<double> {
    using Item = double;
    typedef double Vec __attribute__((vector_size(kBytes)));
    static constexpr int kLanes = simd::kLanes / 2;
    static Vec load(const double* p) {
        typedef double Loose __attribute__((vector_size(kBytes), aligned(8), may_alias));
        return *reinterpret_cast<const Loose*>(p);
    }
    static Vec fma(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
        return Vec(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
#elif defined(__FMA__)
        return Vec(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
#elif defined(MT_SVE256)
        return Vec(svmla_f64_x(svptrue_b64(), svfloat64_t(c), svfloat64_t(a), svfloat64_t(b)));
#elif defined(__aarch64__)
        return Vec(vfmaq_f64(float64x2_t(c), float64x2_t(a), float64x2_t(b)));
#else
        return a * b + c;
#endif
    }
};

template <class T>
typename Register<T>::Item wide(T x) {
    return static_cast<typename Register<T>::Item>(x);
}

// How rows of T are multiplied with vectors, which are kept as X: widened, or as they are where there is an instruction
// for that.
template <class T>
struct Dot {
    using X = typename Register<T>::Item;
    using Sum = typename Register<T>::Vec;
    static constexpr int kLanes = Register<T>::kLanes, kSumLanes = kLanes;
    static Sum row(const T* p) { return Register<T>::load(p); }
    static Sum vector(const X* p) { return Register<X>::load(p); }
    static Sum add(Sum a, Sum b, Sum to) { return Register<T>::fma(a, b, to); }
};
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
template <>
struct Dot<BFloat16> {
    using X = BFloat16;
    using Sum = float32x4_t;
    static constexpr int kLanes = 8, kSumLanes = 4;
    static bfloat16x8_t row(const BFloat16* p) {
        return vreinterpretq_bf16_u16(vld1q_u16(reinterpret_cast<const uint16_t*>(p)));
    }
    static bfloat16x8_t vector(const BFloat16* p) { return row(p); }
    static Sum add(bfloat16x8_t a, bfloat16x8_t b, Sum to) { return vbfdotq_f32(to, a, b); }
};
#endif

// y[v][i] = alpha sum over j of matrix[i][j] x[v][j] + bias + beta y[v][i] for `count` vectors.
struct Task {
    int64_t rows, terms, count;
    const void* matrix;
    int64_t row, term;  // strides of the matrix: one of them is 1
    const void* x;
    int64_t x_vector, x_term;
    void* y;
    int64_t y_vector, y_row;
    const void* bias;
    int64_t bias_vector, bias_row;
    c128 alpha, beta;
};

template <class T>
void finish(const Task& t, int64_t v, int64_t i, typename Register<T>::Item sum) {
    using X = typename Register<T>::Item;
    sum *= static_cast<X>(t.alpha.real());
    if (t.bias) sum += wide(static_cast<const T*>(t.bias)[v * t.bias_vector + i * t.bias_row]);
    T& to = static_cast<T*>(t.y)[v * t.y_vector + i * t.y_row];
    if (t.beta != 0.0) sum += static_cast<X>(t.beta.real()) * wide(to);
    to = T(sum);
}

// Rows whose terms are adjacent: dot products, R rows at a time with V vectors. `x`: the vectors, dense.
template <class T, int R, int V>
void dots(const Task& t, const typename Dot<T>::X* x, int64_t first) {
    using D = Dot<T>;
    // Adding up takes as long as four products: so many sums at a time as keep both units busy.
    constexpr int kSums = R * V >= 8 ? 1 : R * V >= 4 ? 2 : 4;
    const T* a = static_cast<const T*>(t.matrix) + first * t.row;
    typename D::Sum sums[R][V][kSums] = {};
    // What to ask memory for ahead of its use. A short row leaves its page before the processor has seen a pattern:
    // then the rows of the next call.
    const int64_t ahead =
        t.terms <= 1024 && t.row == t.terms ? R * t.terms : (R == 1 ? 4096 : 1024) / static_cast<int64_t>(sizeof(T));
    int64_t j = 0;
    auto step = [&](int64_t at, int s) {
        decltype(D::vector(x)) left[V];
        for (int v = 0; v < V; v++) left[v] = D::vector(x + v * t.terms + at);
        for (int r = 0; r < R; r++) {
            __builtin_prefetch(a + r * t.row + at + ahead);
            const auto right = D::row(a + r * t.row + at);
            for (int v = 0; v < V; v++) sums[r][v][s] = D::add(left[v], right, sums[r][v][s]);
        }
    };
    for (; j + kSums * D::kLanes <= t.terms; j += kSums * D::kLanes)
        for (int s = 0; s < kSums; s++) step(j + s * D::kLanes, s);
    for (; j + D::kLanes <= t.terms; j += D::kLanes) step(j, 0);
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) {
            typename D::Sum all = sums[r][v][0];
            for (int s = 1; s < kSums; s++) all += sums[r][v][s];
            typename Register<T>::Item sum = 0;
            for (int l = 0; l < D::kSumLanes; l++) sum += all[l];
            for (int64_t q = j; q < t.terms; q++) sum += wide(a[r * t.row + q]) * wide(x[v * t.terms + q]);
            finish<T>(t, v, first + r, sum);
        }
}

template <class T, int V>
void by_rows(const Task& t, const typename Dot<T>::X* x, int64_t begin, int64_t end) {
    constexpr int kRows = V <= 2 ? 4 : 2;
    int64_t i = begin;
    // Memory gives 16-bit rows fastest one after the other: several streams pay where the vectors are what is read.
    if constexpr (sizeof(T) == 2 && V == 1)
        if (t.terms >= 1024 && t.row == t.terms)
            for (; i < end; i++) dots<T, 1, V>(t, x, i);
    for (; i + kRows <= end; i += kRows) dots<T, kRows, V>(t, x, i);
    for (; i < end; i++) dots<T, 1, V>(t, x, i);
}

constexpr int64_t kVectors = 4;  // so many share the reads of the matrix

// The task for kVectors of its vectors, or those that are left, from the `first` on.
template <class T>
Task vectors(Task t, int64_t first) {
    t.count = std::min(kVectors, t.count - first);
    t.y = static_cast<T*>(t.y) + first * t.y_vector;
    if (t.bias) t.bias = static_cast<const T*>(t.bias) + first * t.bias_vector;
    return t;
}

template <class T>
void by_rows(const Task& t, const typename Dot<T>::X* x, int64_t begin, int64_t end) {
    switch (t.count) {
        case 1:
            return by_rows<T, 1>(t, x, begin, end);
        case 2:
            return by_rows<T, 2>(t, x, begin, end);
        case 3:
            return by_rows<T, 3>(t, x, begin, end);
        default:
            return by_rows<T, 4>(t, x, begin, end);
    }
}

// Rows that are adjacent: multiples of R terms at a time are added to sums that stay in the cache. So memory is read in
// R streams, each as long as a panel.
constexpr int64_t kPanel = 2048;

template <class T, int R>
void add_terms(const Task& t, const typename Register<T>::Item* x, const T* a, int64_t rows,
               typename Register<T>::Item* sums) {
    using Reg = Register<T>;
    using Wide = Register<typename Reg::Item>;
    using Vec = typename Reg::Vec;
    int64_t i = 0;
    for (; i + Reg::kLanes <= rows; i += Reg::kLanes) {
        Vec sum = Wide::load(sums + i);
        for (int r = 0; r < R; r++) sum = Reg::fma(Reg::load(a + r * t.term + i), Vec{} + x[r], sum);
        std::memcpy(sums + i, &sum, sizeof sum);
    }
    for (; i < rows; i++)
        for (int r = 0; r < R; r++) sums[i] += wide(a[r * t.term + i]) * x[r];
}

template <class T>
void by_terms(const Task& t, const typename Register<T>::Item* x, int64_t begin, int64_t end) {
    alignas(64) typename Register<T>::Item sums[kPanel];
    for (int64_t top = begin; top < end; top += kPanel) {
        const int64_t rows = std::min(kPanel, end - top);
        for (int64_t v = 0; v < t.count; v++) {
            const T* a = static_cast<const T*>(t.matrix) + top;
            const auto* own = x + v * t.terms;
            std::fill(sums, sums + rows, 0);
            int64_t j = 0;
            for (; j + 8 <= t.terms; j += 8) add_terms<T, 8>(t, own + j, a + j * t.term, rows, sums);
            for (; j < t.terms; j++) add_terms<T, 1>(t, own + j, a + j * t.term, rows, sums);
            for (int64_t i = 0; i < rows; i++) finish<T>(t, v, top + i, sums[i]);
        }
    }
}

// The vectors of a task, one after the other, as numbers of X.
template <class X, class T>
std::vector<X> dense(const Task& t) {
    std::vector<X> x(static_cast<size_t>(t.count * t.terms));
    for (int64_t v = 0; v < t.count; v++)
        for (int64_t j = 0; j < t.terms; j++)
            x[static_cast<size_t>(v * t.terms + j)] =
                static_cast<X>(static_cast<const T*>(t.x)[v * t.x_vector + j * t.x_term]);
    return x;
}

template <class T>
void run(const Task& t) {
    if (t.term != 1) {
        const auto x = dense<typename Register<T>::Item, T>(t);
        return parallel_for(t.rows, grain_for(t.terms * t.count),
                            [&](int64_t begin, int64_t end) { by_terms<T>(t, x.data(), begin, end); });
    }
    const auto x = dense<typename Dot<T>::X, T>(t);
    parallel_for(t.rows, grain_for(t.terms * t.count), [&](int64_t begin, int64_t end) {
        // So many rows at a time as stay in the cache until each group of vectors has read them.
        const int64_t step = t.count <= kVectors ? end - begin : std::max<int64_t>(4, (1 << 17) / t.terms / 4 * 4);
        for (; begin < end; begin += step)
            for (int64_t v = 0; v < t.count; v += kVectors)
                by_rows<T>(vectors<T>(t, v), x.data() + v * t.terms, begin, std::min(end, begin + step));
    });
}

}  // namespace

bool matrix_vector_product(const Product& p) {
    if (p.batch != 1) return false;
    Task t;
    if (p.n == 1) {
        t = {p.m, p.k, 1, p.a, p.a_row, p.a_col, p.b, 0, p.b_row, p.c, 0, p.c_row, p.bias, 0, 0, p.alpha, p.beta};
    } else if (p.m <= (is_reduced_float(p.dtype) ? 12 : 4)) {  // widening all of a 16-bit matrix takes longer
        t = {p.n, p.k,     p.m, p.b,    p.b_col, p.b_row, p.a,     p.a_row, p.a_col,
             p.c, p.c_row, 1,   p.bias, 0,       1,       p.alpha, p.beta};
    } else {
        return false;
    }
    // A matrix of one row or column lies adjacent whatever its stride.
    if (t.terms == 1 && t.row != 1) t.term = 1;
    if (t.row != 1 && t.term != 1) return false;
    if (t.term != 1 && t.count > 1) return false;  // would be read once for each
    if (p.dtype == DType::Float32) {
        // The product of few rows holds its sums in registers; that is better until the matrix leaves the cache.
        if (t.term == 1 || t.rows * t.terms < (1 << 17)) return false;
        run<float>(t);
    } else if (p.dtype == DType::Float64) {
        run<double>(t);
    } else if (p.dtype == DType::BFloat16) {
        run<BFloat16>(t);
    } else if (p.dtype == DType::Float16) {
        run<Half>(t);
    } else {
        return false;
    }
    return true;
}

}  // namespace mt
