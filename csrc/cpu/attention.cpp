// Scaled dot product attention, forward and backward, in blocks: the scores of one block of queries against one block
// of keys are all that exists at a time. The softmax runs along (maximum and sum are corrected as keys come in), and
// the backward pass computes the scores again from the saved log of the sum.
//
// Works in float32 (16-bit inputs are widened first) or float64. Key and value heads may be fewer than query heads.
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "core/generator.h"
#include "gemm.h"
#include "openblas.h"
#include "rows.h"
#include "simd.h"

namespace mt {
namespace {

constexpr int64_t kKeyBlock = 512;

struct Heads {  // a (batch, head, position, feature) tensor, features adjacent
    char* data = nullptr;
    int64_t batch = 0, head = 0, position = 0;
    template <class T>
    T* at(int64_t b, int64_t h, int64_t l) const {
        return reinterpret_cast<T*>(data) + b * batch + h * head + l * position;
    }
};

Heads heads_of(const Tensor& t) { return {t.raw(), t.stride(0), t.stride(1), t.stride(2)}; }

struct Attention {
    int64_t batches, heads, key_heads, queries, keys, features, value_features;
    Heads q, k, v, out;
    char* lse = nullptr;      // (batch, query, head)
    char* largest = nullptr;  // the same; where it is asked for, lse gets the sums instead of their logarithms
    Heads mask;               // added to the scores; keys adjacent; null data: none
    double scale;
    bool causal;
    const uint8_t* kept = nullptr;  // (batch, head, query, key): 1 where dropout keeps
    double keep_scale = 1;

    int64_t query_block() const { return keys <= 256 ? 128 : 64; }
    int64_t key_head(int64_t h) const { return h / (heads / key_heads); }
    template <class T>
    T& lse_at(int64_t b, int64_t h, int64_t l) const {
        return reinterpret_cast<T*>(lse)[(b * queries + l) * heads + h];
    }
    template <class T>
    T& largest_at(int64_t b, int64_t h, int64_t l) const {
        return reinterpret_cast<T*>(largest)[(b * queries + l) * heads + h];
    }
    const uint8_t* kept_at(int64_t b, int64_t h, int64_t l) const {
        return kept ? kept + ((b * heads + h) * queries + l) * keys : nullptr;
    }
    // Keys that query l sees, of those in [begin, end).
    int64_t visible(int64_t l, int64_t begin, int64_t end) const {
        return causal ? std::max<int64_t>(0, std::min(end, l + 1) - begin) : end - begin;
    }
};

inline void product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
                    const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
    sgemm_here(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

inline void product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
                    const double* b, int64_t ldb, double beta, double* c, int64_t ldc) {
    openblas::dgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
template <class T>
void prepare_products() {
    if constexpr (std::is_same_v<T, double>)
        openblas::use_threads(1);
    else
        prepare_sgemm();
}

// Adds the mask to n scores; returns the largest.
float add_mask(float* s, const float* mask, int64_t n) {
    using namespace simd;
    const float lowest = -std::numeric_limits<float>::infinity();
    Vec top = splat(lowest);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        Vec x = load(s + i);
        if (mask) store(s + i, x += load(mask + i));
        top = simd::max(x, top);
    }
    float best = max_item(top);
    for (; i < n; i++) {
        if (mask) s[i] += mask[i];
        best = s[i] > best ? s[i] : best;
    }
    return best;
}

double add_mask(double* s, const double* mask, int64_t n) {
    if (mask)
        for (int64_t i = 0; i < n; i++) s[i] += mask[i];
    const double lowest = -std::numeric_limits<double>::infinity();
    constexpr int kLanes = 32;
    double best[kLanes];
    std::fill(best, best + kLanes, lowest);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (int j = 0; j < kLanes; j++) best[j] = s[i + j] > best[j] ? s[i + j] : best[j];
    for (int j = 0; i < n; i++, j++) best[j] = s[i] > best[j] ? s[i] : best[j];
    return *std::max_element(best, best + kLanes);
}

// s = exp(s - top), the sum returned; then dropout on s.
float exponentials(float* s, float top, int64_t n, const uint8_t* kept, float keep_scale) {
    using namespace simd;
    Vec sums{};
    const Vec shift = splat(top);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        Vec p = simd::exp(load(s + i) - shift);
        sums += p;
        store(s + i, p);
    }
    if (i < n) {
        int rest = static_cast<int>(n - i);
        Vec p = simd::exp(load_first(s + i, rest) - shift);
        store_first(s + i, p, rest);
        sums += load_first(s + i, rest);
    }
    if (kept)
        for (int64_t j = 0; j < n; j++) s[j] *= kept[j] ? keep_scale : 0.0f;
    return simd::sum(sums);
}

double exponentials(double* s, double top, int64_t n, const uint8_t* kept, double keep_scale) {
    for (int64_t i = 0; i < n; i++) s[i] = vec::exp(s[i] - top);
    const double sum = lane_sum<double>(n, [=](int64_t i) { return s[i]; });
    if (kept)
        for (int64_t i = 0; i < n; i++) s[i] *= kept[i] ? keep_scale : 0.0;
    return sum;
}

template <class T>
struct Buffer {
    explicit Buffer(int64_t n) : owner(new T[static_cast<size_t>(n) + 16]) {}
    T* data() const { return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(owner.get()) + 63) & ~uintptr_t(63)); }
    std::unique_ptr<T[]> owner;
};

template <class T>
void forward_block(const Attention& a, int64_t b, int64_t h, int64_t first, int64_t rows, T* scores, T* top, T* sums) {
    const T lowest = -std::numeric_limits<T>::infinity();
    const int64_t hk = a.key_head(h);
    const T* q = a.q.at<T>(b, h, first);
    T* out = a.out.at<T>(b, h, first);
    std::fill(top, top + rows, lowest);
    std::fill(sums, sums + rows, T(0));
    const int64_t end = a.causal ? std::min(a.keys, first + rows) : a.keys;
    bool started = false;
    for (int64_t j = 0; j < end; j += kKeyBlock) {
        const int64_t width = std::min(kKeyBlock, end - j);
        product(false, true, rows, width, a.features, T(a.scale), q, a.q.position, a.k.at<T>(b, hk, j), a.k.position,
                T(0), scores, width);
        for (int64_t r = 0; r < rows; r++) {
            T* s = scores + r * width;
            const int64_t seen = a.visible(first + r, j, j + width);
            T best = add_mask(s, a.mask.data ? a.mask.at<T>(b, h, first + r) + j : nullptr, seen);
            best = best > top[r] ? best : top[r];
            if (best == lowest) {
                // Nothing to attend to yet; NaN scores compare false above and still come through.
                bool nan = false;
                for (int64_t i = 0; i < seen; i++) nan |= s[i] != s[i];
                if (!nan) {
                    std::fill(s, s + width, T(0));
                    continue;
                }
                best = 0;
            }
            const uint8_t* kept = a.kept_at(b, h, first + r);
            const T sum = exponentials(s, best, seen, kept ? kept + j : nullptr, T(a.keep_scale));
            std::fill(s + seen, s + width, T(0));
            const T correction = top[r] == lowest ? T(0) : std::exp(top[r] - best);
            sums[r] = sums[r] * correction + sum;
            if (started && correction != T(1)) {
                T* o = out + r * a.out.position;
                for (int64_t i = 0; i < a.value_features; i++) o[i] *= correction;
            }
            top[r] = best;
        }
        product(false, false, rows, a.value_features, width, T(1), scores, width, a.v.at<T>(b, hk, j), a.v.position,
                started ? T(1) : T(0), out, a.out.position);
        started = true;
    }
    for (int64_t r = 0; r < rows; r++) {
        T* o = out + r * a.out.position;
        if (!started) {
            std::fill(o, o + a.value_features, T(0));
        } else {
            const T inverse = sums[r] == T(0) ? T(0) : T(1) / sums[r];
            for (int64_t i = 0; i < a.value_features; i++) o[i] *= inverse;
        }
        if (a.largest) {
            a.largest_at<T>(b, h, first + r) = sums[r] == T(0) ? T(0) : top[r];
            a.lse_at<T>(b, h, first + r) = sums[r];
        } else {
            a.lse_at<T>(b, h, first + r) = sums[r] == T(0) ? T(0) : top[r] + std::log(sums[r]);
        }
    }
}

template <class T>
void forward(const Attention& a) {
    const int64_t block = a.query_block(), blocks = (a.queries + block - 1) / block;
    const int64_t work = std::max<int64_t>(1, std::min(block, a.queries) * a.keys * (a.features + 8));
    prepare_products<T>();
    parallel_for(a.batches * a.heads * blocks, std::max<int64_t>(1, (1 << 16) / work), [&](int64_t begin, int64_t end) {
        Buffer<T> scores(block * std::min(a.keys, kKeyBlock)), top(block), sums(block);
        for (int64_t i = begin; i < end; i++) {
            const int64_t first = i % blocks * block, head = i / blocks % a.heads, batch = i / blocks / a.heads;
            forward_block<T>(a, batch, head, first, std::min(block, a.queries - first), scores.data(), top.data(),
                             sums.data());
        }
    });
    check_sgemm();
}

struct Gradients {
    Heads out, q, k, v;  // of the output (given), and of the inputs (to fill)
};

// From scores and d(probabilities) of one row to what the products need: s becomes the dropped-out probabilities, d the
// gradient of the scores.
void score_gradients(float* s, float* d, const float* mask, int64_t n, float lse, float dot, const uint8_t* kept,
                     float keep_scale) {
    using namespace simd;
    const Vec shift = splat(lse), minus = splat(dot);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        Vec x = load(s + i);
        if (mask) x += load(mask + i);
        Vec p = simd::exp(x - shift), g = load(d + i);
        if (kept) {
            typedef uint8_t Bytes __attribute__((vector_size(kLanes)));
            Bytes bytes;
            std::memcpy(&bytes, kept + i, sizeof bytes);
            Vec factor = __builtin_convertvector(bytes, Vec) * keep_scale;
            g *= factor;
            store(s + i, p * factor);
        } else {
            store(s + i, p);
        }
        store(d + i, p * (g - minus));
    }
    for (; i < n; i++) {
        Vec x = splat(s[i] + (mask ? mask[i] : 0.0f));
        float p = simd::exp(x - shift)[0], factor = kept ? kept[i] * keep_scale : 1.0f;
        s[i] = p * factor;
        d[i] = p * (d[i] * factor - dot);
    }
}

void score_gradients(double* s, double* d, const double* mask, int64_t n, double lse, double dot, const uint8_t* kept,
                     double keep_scale) {
    if (mask)
        for (int64_t i = 0; i < n; i++) s[i] += mask[i];
    for (int64_t i = 0; i < n; i++) s[i] = vec::exp(s[i] - lse);
    if (!kept) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) d[i] = s[i] * (d[i] - dot);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const double p = s[i], factor = kept[i] * keep_scale;
        s[i] = p * factor;
        d[i] = p * (d[i] * factor - dot);
    }
}

// All that one key head takes part in.
template <class T>
void backward_head(const Attention& a, const Gradients& g, int64_t b, int64_t hk, T* scores, T* slopes, T* dots) {
    const int64_t block = a.query_block(), group = a.heads / a.key_heads;
    for (int64_t j = 0; j < a.keys; j++) {
        T *dk = g.k.at<T>(b, hk, j), *dv = g.v.at<T>(b, hk, j);
        std::fill(dk, dk + a.features, T(0));
        std::fill(dv, dv + a.value_features, T(0));
    }
    for (int64_t h = hk * group; h < (hk + 1) * group; h++)
        for (int64_t first = 0; first < a.queries; first += block) {
            const int64_t rows = std::min(block, a.queries - first);
            const T *q = a.q.at<T>(b, h, first), *go = g.out.at<T>(b, h, first), *out = a.out.at<T>(b, h, first);
            T* dq = g.q.at<T>(b, h, first);
            for (int64_t r = 0; r < rows; r++) {
                T dot = 0;
                const T *x = go + r * g.out.position, *y = out + r * a.out.position;
#pragma omp simd reduction(+ : dot)
                for (int64_t i = 0; i < a.value_features; i++) dot += x[i] * y[i];
                dots[r] = dot;
            }
            const int64_t end = a.causal ? std::min(a.keys, first + rows) : a.keys;
            for (int64_t j = 0; j < end; j += kKeyBlock) {
                const int64_t width = std::min(kKeyBlock, end - j);
                const T *k = a.k.at<T>(b, hk, j), *v = a.v.at<T>(b, hk, j);
                product(false, true, rows, width, a.features, T(a.scale), q, a.q.position, k, a.k.position, T(0),
                        scores, width);
                product(false, true, rows, width, a.value_features, T(1), go, g.out.position, v, a.v.position, T(0),
                        slopes, width);
                for (int64_t r = 0; r < rows; r++) {
                    T *s = scores + r * width, *d = slopes + r * width;
                    const int64_t seen = a.visible(first + r, j, j + width);
                    const uint8_t* kept = a.kept_at(b, h, first + r);
                    score_gradients(s, d, a.mask.data ? a.mask.at<T>(b, h, first + r) + j : nullptr, seen,
                                    a.lse_at<T>(b, h, first + r), dots[r], kept ? kept + j : nullptr, T(a.keep_scale));
                    std::fill(s + seen, s + width, T(0));
                    std::fill(d + seen, d + width, T(0));
                }
                product(true, false, width, a.value_features, rows, T(1), scores, width, go, g.out.position, T(1),
                        g.v.at<T>(b, hk, j), g.v.position);
                product(true, false, width, a.features, rows, T(a.scale), slopes, width, q, a.q.position, T(1),
                        g.k.at<T>(b, hk, j), g.k.position);
                product(false, false, rows, a.features, width, T(a.scale), slopes, width, k, a.k.position,
                        j == 0 ? T(0) : T(1), dq, g.q.position);
            }
            if (end <= 0)
                for (int64_t r = 0; r < rows; r++)
                    std::fill(dq + r * g.q.position, dq + r * g.q.position + a.features, T(0));
        }
}

template <class T>
void backward(const Attention& a, const Gradients& g) {
    const int64_t block = a.query_block();
    prepare_products<T>();
    parallel_for(a.batches * a.key_heads, 1, [&](int64_t begin, int64_t end) {
        const int64_t area = block * std::min(a.keys, kKeyBlock);
        Buffer<T> scores(area), slopes(area), dots(block);
        for (int64_t i = begin; i < end; i++)
            backward_head<T>(a, g, i / a.key_heads, i % a.key_heads, scores.data(), slopes.data(), dots.data());
    });
    check_sgemm();
}

// ---- arguments ----

// Dense strides whose order of dimensions is that of `t`; features innermost, batch outermost.
Dims dense_strides_like(const Tensor& t, IntSpan sizes) {
    int64_t b = sizes[0], h = sizes[1], l = sizes[2], e = sizes[3];
    (void)b;
    if (t.stride(1) < t.stride(2) && t.size(1) > 1) return Dims{l * h * e, e, h * e, 1};
    return Dims{h * l * e, l * e, e, 1};
}

void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v, const char* op) {
    MT_CHECK(q.ndim == 4 && k.ndim == 4 && v.ndim == 4, op, ": Accept only 4 dims inputs shape of {B, H, T, K}");
    if (!is_floating(q.dtype)) unsupported_dtype(op, q.dtype);
    MT_CHECK(q.dtype == k.dtype && q.dtype == v.dtype, op, ": Q/K/V should have the same data type");
    MT_CHECK(q.size(0) == k.size(0) && k.size(0) == v.size(0), op, ": Q/K/V should have the same batch size");
    MT_CHECK(k.size(1) == v.size(1) && k.size(1) > 0 && q.size(1) % k.size(1) == 0, op,
             ": the heads of K and V must divide those of Q");
    MT_CHECK(q.size(3) == k.size(3), op, ": Q/K should have the same head size");
    MT_CHECK(k.size(2) == v.size(2), op, ": K/V should have the same sequence length");
}

// The tensors of one call in the working dtype, kept alive here.
struct Inputs {
    Attention a;
    TensorRef q, k, v, mask;
    DType work;

    Inputs(const Tensor& tq, const Tensor& tk, const Tensor& tv, bool causal, const Tensor* attn_mask,
           std::optional<double> scale, const char* op) {
        check_inputs(tq, tk, tv, op);
        work = tq.dtype == DType::Float64 ? DType::Float64 : DType::Float32;
        q = ready(tq);
        k = ready(tk);
        v = ready(tv);
        a.batches = tq.size(0), a.heads = tq.size(1), a.queries = tq.size(2), a.features = tq.size(3);
        a.key_heads = tk.size(1), a.keys = tk.size(2), a.value_features = tv.size(3);
        a.q = heads_of(*q), a.k = heads_of(*k), a.v = heads_of(*v);
        a.causal = causal;
        a.scale = scale ? *scale : 1.0 / std::sqrt(static_cast<double>(a.features));
        if (attn_mask) set_mask(*attn_mask, op);
    }

    TensorRef ready(const Tensor& t) const {
        if (t.dtype == work && (t.stride(3) == 1 || t.size(3) <= 1) && t.stride(2) >= t.size(3))
            return TensorRef::share(&t);
        if (t.dtype != work && t.stride(3) == 1) {  // keep the order of dimensions
            TensorRef wide = empty_strided(t.sizes(), dense_strides_like(t, t.sizes()), work);
            copy_into(*wide, t);
            return wide;
        }
        return contiguous(t, work);
    }

  private:
    void set_mask(const Tensor& t, const char* op) {
        MT_CHECK(t.ndim >= 1 && t.ndim <= 4, op, ": attn_mask must have 1 to 4 dimensions, got ", t.ndim);
        const int64_t want[4] = {a.batches, a.heads, a.queries, a.keys};
        Dims sizes(4, 1), strides(4, 0);
        for (int64_t i = 0; i < t.ndim; i++) {
            int64_t to = 4 - t.ndim + i;
            MT_CHECK(t.size(i) == want[to] || t.size(i) == 1, "The size of tensor a (", want[to],
                     ") must match the size of tensor b (", t.size(i), ") at non-singleton dimension ", to);
            if (t.size(i) != 1 && t.stride(i) != 0) sizes[to] = t.size(i), strides[to] = t.stride(i);
        }
        sizes[3] = a.keys;
        TensorRef compact = as_strided(t, sizes, strides, t.offset);
        if (t.dtype == DType::Bool) {
            TensorRef source = contiguous(*compact);
            mask = empty(sizes, work);
            const uint8_t* from = source->words<uint8_t>();
            visit(PlainFloatTypes{}, work, op, [&]<class T>() {
                T* to = mask->data<T>();
                const T blocked = -std::numeric_limits<T>::infinity();
                parallel_for(mask->numel(), kGrain, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; i++) to[i] = from[i] ? T(0) : blocked;
                });
            });
        } else if (t.dtype == work && strides[3] == 1) {
            mask = compact;
        } else {
            mask = contiguous(*compact, work);
        }
        a.mask = heads_of(*mask);
        for (int i = 0; i < 3; i++)
            if (sizes[i] == 1) (i == 0 ? a.mask.batch : i == 1 ? a.mask.head : a.mask.position) = 0;
    }
};

constexpr const char* kForward = "scaled_dot_product_attention_flash_attention";

// ---- forward ----

void forward_shape(ShapeCall& c, const Tensor& q, const Tensor& k, const Tensor& v) {
    check_inputs(q, k, v, kForward);
    Dims sizes{q.size(0), q.size(1), q.size(2), v.size(3)};
    c.output_strided(0, sizes, dense_strides_like(q, sizes), q.dtype);
    c.output_strided(1, {q.size(0), q.size(1), q.size(2)}, {q.size(1) * q.size(2), 1, q.size(1)},
                     q.dtype == DType::Float64 ? DType::Float64 : DType::Float32);
}

void run_forward(Inputs& in, Tensor& out, Tensor& lse) {
    TensorRef wide = out.dtype == in.work && (out.stride(3) == 1 || out.size(3) <= 1)
                         ? TensorRef::share(&out)
                         : empty_strided(out.sizes(), dense_strides_like(out, out.sizes()), in.work);
    Dims by_query{in.a.heads * in.a.queries, 1, in.a.heads};
    TensorRef log =
        is_contiguous_as(lse, by_query) ? TensorRef::share(&lse) : empty_strided(lse.sizes(), by_query, lse.dtype);
    in.a.out = heads_of(*wide);
    in.a.lse = log->raw();
    if (in.work == DType::Float64)
        forward<double>(in.a);
    else
        forward<float>(in.a);
    if (wide.get() != &out) copy_into(out, *wide);
    if (log.get() != &lse) copy_into(lse, *log);
}

void forward_cpu(Out out, const Tensor& query, const Tensor& key, const Tensor& value, double dropout_p, bool is_causal,
                 const Tensor* attn_mask, std::optional<double> scale) {
    MT_CHECK(dropout_p == 0.0, kForward, ": Currently do not support dropout > 0");
    Inputs in(query, key, value, is_causal, attn_mask, scale, kForward);
    run_forward(in, out[0], out[1]);
}

// (query, key, value, is_causal, scale) -> (output, largest, total)
void statistics_shape(ShapeCall& c, const Tensor& query, const Tensor& key, const Tensor& value) {
    forward_shape(c, query, key, value);
    const DType work = query.dtype == DType::Float64 ? DType::Float64 : DType::Float32;
    for (int i : {1, 2}) c.output(i, {query.size(0), query.size(1), query.size(2)}, work);
}

void statistics_cpu(Out out, const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal,
                    std::optional<double> scale) {
    Inputs in(query, key, value, is_causal, nullptr, scale, kForward);
    Tensor& largest = out[1];
    Dims by_query{in.a.heads * in.a.queries, 1, in.a.heads};
    TensorRef here = is_contiguous_as(largest, by_query) ? TensorRef::share(&largest)
                                                         : empty_strided(largest.sizes(), by_query, largest.dtype);
    in.a.largest = here->raw();
    run_forward(in, out[0], out[2]);
    if (here.get() != &largest) copy_into(largest, *here);
}

// (query, key, value, dropout_p, is_causal, attn_mask, scale) -> (output, logsumexp, kept)
void dropout_forward_shape(ShapeCall& c, const Tensor& query, const Tensor& key, const Tensor& value) {
    forward_shape(c, query, key, value);
    c.output(2, {query.size(0), query.size(1), query.size(2), key.size(2)}, DType::Bool);
}

void dropout_forward_cpu(Out out, const Tensor& query, const Tensor& key, const Tensor& value, double p, bool is_causal,
                         const Tensor* attn_mask, std::optional<double> scale) {
    Inputs in(query, key, value, is_causal, attn_mask, scale, kForward);
    Tensor& kept = out[2];
    {
        GeneratorLock generator(default_generator());
        NoGil released(kept.numel() > 10000);
        bernoulli_bytes(generator.engine(), 1.0 - p, kept.words<uint8_t>(), kept.numel());
    }
    in.a.kept = kept.words<uint8_t>();
    in.a.keep_scale = p < 1 ? 1.0 / (1.0 - p) : 0.0;
    run_forward(in, out[0], out[1]);
}

// ---- backward ----

// (grad_out, query, key, value, out, logsumexp, ...)
void backward_shape(ShapeCall& c, const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value) {
    int i = 0;
    for (const Tensor* t : {&query, &key, &value})
        c.output_strided(i++, t->sizes(), dense_strides_like(*t, t->sizes()), t->dtype);
}

void run_backward(Inputs& in, Out results, const Tensor& grad_out, const Tensor& attention, const Tensor& given) {
    TensorRef grad = in.ready(grad_out), out = in.ready(attention);
    Dims by_query{in.a.heads * in.a.queries, 1, in.a.heads};
    TensorRef log = TensorRef::share(&given);
    if (!is_contiguous_as(given, by_query)) {
        log = empty_strided(given.sizes(), by_query, given.dtype);
        copy_into(*log, given);
    }
    in.a.out = heads_of(*out);
    in.a.lse = log->raw();
    TensorRef targets[3];
    for (int i = 0; i < 3; i++) {
        Tensor& t = results[i];
        bool direct_write = t.dtype == in.work && (t.stride(3) == 1 || t.size(3) <= 1);
        targets[i] =
            direct_write ? TensorRef::share(&t) : empty_strided(t.sizes(), dense_strides_like(t, t.sizes()), in.work);
    }
    Gradients g{heads_of(*grad), heads_of(*targets[0]), heads_of(*targets[1]), heads_of(*targets[2])};
    if (in.a.keys == 0)
        for (TensorRef& t : targets)
            if (t->numel()) std::memset(t->raw(), 0, static_cast<size_t>(t->numel() * t->itemsize()));
    if (in.work == DType::Float64)
        backward<double>(in.a, g);
    else
        backward<float>(in.a, g);
    for (int i = 0; i < 3; i++)
        if (targets[i].get() != &results[i]) copy_into(results[i], *targets[i]);
}

void backward_cpu(Out results, const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                  const Tensor& out, const Tensor& logsumexp, double dropout_p, bool is_causal, const Tensor* attn_mask,
                  std::optional<double> scale) {
    Inputs in(query, key, value, is_causal, attn_mask, scale, kForward);
    run_backward(in, results, grad_out, out, logsumexp);
}

void dropout_backward_cpu(Out results, const Tensor& grad_out, const Tensor& query, const Tensor& key,
                          const Tensor& value, const Tensor& out, const Tensor& logsumexp, const Tensor& kept_in,
                          double p, bool is_causal, const Tensor* attn_mask, std::optional<double> scale) {
    Inputs in(query, key, value, is_causal, attn_mask, scale, kForward);
    TensorRef kept = contiguous(kept_in);
    in.a.kept = kept->words<uint8_t>();
    in.a.keep_scale = p < 1 ? 1.0 / (1.0 - p) : 0.0;
    run_backward(in, results, grad_out, out, logsumexp);
}

KERNELS
{
    shape<forward_shape>("attention");
    shape<dropout_forward_shape>("attention_dropout");
    shape<statistics_shape>("attention_statistics");
    shape<backward_shape>("attention_backward");
    structured<forward_cpu>("_scaled_dot_product_flash_attention_for_cpu");
    structured<statistics_cpu>("_scaled_dot_product_attention_statistics");
    structured<backward_cpu>("_scaled_dot_product_flash_attention_for_cpu_backward");
    structured<dropout_forward_cpu>("_scaled_dot_product_attention_dropout");
    structured<dropout_backward_cpu>("_scaled_dot_product_attention_dropout_backward");
}

}  // namespace
}  // namespace mt
