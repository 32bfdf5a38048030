// Random numbers in bulk, in vectors: uniform, normal, Bernoulli.
#include <cmath>
#include <limits>

#include "core/cpp_names.h"
#include "core/generator.h"
#include "core/overlap.h"
#include "cpu/box_muller.h"
#include "cpu/memory_order.h"

namespace mt {
namespace {

constexpr int64_t kBlock = Mt19937::kWords;

// Runs `produce` with the generator's engine held; large fills let other threads run.
template <class T, class Produce>
void fill_random(Tensor& out, Generator& g, Produce&& produce) {
    GeneratorLock lock(g);
    NoGil nogil(out.numel() > 4 * kGrain);
    fill_in_memory_order<T>(out, [&](T* p, int64_t n) { produce(lock.engine(), p, n); });
}

// ---- uniform ----

void uniform_into(Tensor& out, Generator& g, double from, double to) {
    visit(FloatTypes{}, out.dtype, "check_uniform_bounds", [&]<class T>() {
        using Acc = opmath_t<T>;
        // One rounding for the product and the sum, as PyTorch's kernels have on every processor of the last ten years.
        Acc low = static_cast<Acc>(from), width = static_cast<Acc>(to) - low;
        // What rounds up to the end of the half-open range becomes its beginning.
        const T first = T(low), end = T(static_cast<Acc>(to));
        if constexpr (std::is_same_v<T, double>) {
            fill_random<T>(out, g, [=](Mt19937& e, T* p, int64_t n) {
                uniform_doubles(e, p, n);
                if (low != 0 || width != 1)
                    for (int64_t i = 0; i < n; i++) {
                        T value = std::fma(p[i], width, low);
                        p[i] = value == end ? first : value;
                    }
            });
        } else {
            fill_random<T>(out, g, [=](Mt19937& e, T* p, int64_t n) {
                uint32_t words[kBlock];
                for (int64_t i = 0; i < n; i += kBlock) {
                    int64_t k = std::min(kBlock, n - i);
                    random_words(e, words, k);
                    for (int64_t j = 0; j < k; j++) {
                        T value = T(std::fma(uniform_float_of(words[j]), width, low));
                        p[i + j] = static_cast<Acc>(value) == static_cast<Acc>(end) ? first : value;
                    }
                }
            });
        }
    });
}

// A complex tensor seen as twice as many real numbers.
TensorRef as_pairs(const Tensor& t) {
    Dims sizes(t.sizes()), strides;
    for (int64_t s : t.strides()) strides.push_back(s * 2);
    sizes.push_back(2);
    strides.push_back(1);
    return from_storage(t.storage, t.offset * 2, sizes, strides, to_real(t.dtype));
}

double largest_of(DType floating) {
    switch (floating) {
        case DType::Float16:
            return 65504;
        case DType::BFloat16:
            return 0x1.fep127;
        case DType::Float32:
            return static_cast<double>(std::numeric_limits<float>::max());
        default:
            return std::numeric_limits<double>::max();
    }
}

Tensor& uniform_inplace(Tensor& self, double from, double to, Generator& g) {
    check_overlap(self);
    const DType real = to_real(self.dtype);
    MT_CHECK_AS(NotImplemented, is_floating(real), "\"check_uniform_bounds\" not implemented for '",
                dtype_class_name(self.dtype), "'");
    const double largest = largest_of(real);
    MT_CHECK(std::fabs(from) <= largest, "from is out of bounds for ", dtype_cpp_name(real));
    MT_CHECK(std::fabs(to) <= largest, "to is out of bounds for ", dtype_cpp_name(real));
    MT_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
    MT_CHECK(to - from <= largest, "uniform_ expects to-from <= std::numeric_limits<", dtype_class_name(real),
             ">::max(), but found to=", to, " and from=", from, " which result in to-from to exceed the limit");
    if (is_complex(self.dtype)) {
        TensorRef pairs = as_pairs(self);
        uniform_into(*pairs, g, from, to);
    } else {
        uniform_into(self, g, from, to);
    }
    return self;
}

void rand_into(Tensor& out, Generator& g) {
    if (is_complex(out.dtype)) {
        TensorRef pairs = as_pairs(out);
        return uniform_into(*pairs, g, 0, 1);
    }
    uniform_into(out, g, 0, 1);
}

// ---- normal ----

template <class T>
void normal_block(Mt19937& e, T* p, T mean, T std) {
    if constexpr (std::is_same_v<T, double>)
        uniform_doubles(e, p, 16);
    else
        uniform_floats(e, p, 16);
    box_muller_16(p, mean, std);
}

// n >= 16 numbers: sixteen at a time, a rest below sixteen redraws the last sixteen.
template <class T>
void normal_many(Mt19937& e, T* p, int64_t n, T mean, T std) {
    if constexpr (std::is_same_v<T, double>)
        uniform_doubles(e, p, n);
    else
        uniform_floats(e, p, n);
    int64_t blocks = n / 16;
    parallel_for(blocks, kGrain / 64, [=](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; b++) box_muller_16(p + 16 * b, mean, std);
    });
    if (n % 16) normal_block(e, p + n - 16, mean, std);
}

template <class T>
void normal_many_reduced(Mt19937& e, T* p, int64_t n, float mean, float std) {
    float block[16];
    auto put = [&](int64_t at) {
        normal_block(e, block, mean, std);
        for (int j = 0; j < 16; j++) p[at + j] = T(block[j]);
    };
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) put(i);
    if (i < n) put(n - 16);
}

void normal_into(Tensor& out, Generator& g, double mean, double std) {
    visit(FloatTypes{}, out.dtype, "normal_kernel_cpu", [&]<class T>() {
        GeneratorLock lock(g);
        int64_t n = out.numel();
        if (n >= 16 && out.is_contiguous()) {
            NoGil nogil(n > kGrain);
            if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
                normal_many(g.engine, out.data<T>(), n, static_cast<T>(mean), static_cast<T>(std));
            else
                normal_many_reduced(g.engine, out.data<T>(), n, static_cast<float>(mean), static_cast<float>(std));
            return;
        }
        fill_in_memory_order<T>(out, [&](T* p, int64_t k) {
            for (int64_t i = 0; i < k; i++) p[i] = T(static_cast<opmath_t<T>>(next_normal(g) * std + mean));
        });
    });
}

void normal_any(Tensor& out, Generator& g, double mean, double std) {
    MT_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
    if (!is_complex(out.dtype)) return normal_into(out, g, mean, std);
    // The variance is shared by both parts; the mean is that of each, as PyTorch's.
    TensorRef pairs = as_pairs(out);
    normal_into(*pairs, g, 0, std / std::sqrt(2.0));
    if (mean == 0) return;
    visit(PlainFloatTypes{}, pairs->dtype, "normal_", [&]<class T>() {
        StridedWalk<1> walk(pairs->sizes(), {pairs->strides()});
        T* p = pairs->data<T>();
        walk.run([&](const auto& at, int64_t k, const auto& steps) {
            for (int64_t i = 0; i < k; i++) p[at[0] + i * steps[0]] += static_cast<T>(mean);
        });
    });
}

Tensor& normal_inplace(Tensor& self, double mean, double std, Generator& generator) {
    check_overlap(self);
    normal_any(self, generator, mean, std);
    return self;
}

void rand_cpu(Out out, RestUnread) { rand_into(out, default_generator()); }
void rand_generator_cpu(Out out, Unread size_or_self, Generator& generator, RestUnread) { rand_into(out, generator); }

void randn_cpu(Out out, RestUnread) { normal_any(out, default_generator(), 0, 1); }
void randn_generator_cpu(Out out, Unread size_or_self, Generator& generator, RestUnread) {
    normal_any(out, generator, 0, 1);
}

// normal.float_float(mean, std, size, *, generator, ...)
void normal_sized_cpu(Out out, double mean, double std, IntSpan size, Generator& generator, std::optional<DType> dtype,
                      Unread layout, std::optional<Device> device, std::optional<bool> pin_memory) {
    normal_any(out, generator, mean, std);
}

// ---- Bernoulli ----

using BernoulliTypes = Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, Bool>;

void check_probability(double p, const char* op) {
    MT_CHECK(p >= 0 && p <= 1, op, " expects p to be in [0, 1], but got p=", p);
}

void bernoulli_number(Tensor& out, Generator& g, double p) {
    check_probability(p, "bernoulli_");
    visit(BernoulliTypes{}, out.dtype, "bernoulli_scalar_cpu_", [&]<class T>() {
        fill_random<T>(out, g, [=](Mt19937& e, T* to, int64_t n) {
            uint64_t words[kBlock], threshold = bernoulli_threshold(p);
            for (int64_t i = 0; i < n; i += kBlock) {
                int64_t k = std::min(kBlock, n - i);
                random_words64(e, words, k);
                for (int64_t j = 0; j < k; j++) to[i + j] = (words[j] & kUniformMask53) < threshold ? T(1) : T(0);
            }
        });
    });
}

// Element by element as the tensor lies in memory; a float probability takes one word, a double one two.
void bernoulli_tensor(Tensor& out, const Tensor& p, Generator& g) {
    MT_CHECK_AS(NotImplemented, is_floating(p.dtype), "\"bernoulli_tensor_cpu_p_\" not implemented for '",
                dtype_class_name(p.dtype), "'");
    bool wide = p.dtype == DType::Float64;
    TensorRef probability = contiguous(p, wide ? DType::Float64 : DType::Float32);
    int64_t lead = out.dim() - p.dim();
    MT_CHECK(lead >= 0, "the probabilities have more dimensions than the tensor to fill");
    for (int64_t d = 0; d < p.dim(); d++) {
        MT_CHECK(p.size(d) == out.size(lead + d) || p.size(d) == 1, "The expanded size of the tensor (",
                 out.size(lead + d), ") must match the existing size (", p.size(d), ") at non-singleton dimension ",
                 lead + d, ".  Target sizes: ", out.sizes(), ".  Tensor sizes: ", p.sizes());
    }
    const Dims strides = broadcast_strides(*probability, out.dim()), order = memory_order(out);
    const Dims sizes = in_order(out.sizes(), order), steps = in_order(out.strides(), order),
               from = in_order(strides, order);
    GeneratorLock lock(g);
    StridedWalk<2> walk(sizes, {IntSpan(steps), IntSpan(from)});
    visit(BernoulliTypes{}, out.dtype, "bernoulli_tensor_cpu_self_", [&]<class T>() {
        T* to = out.data<T>();
        walk.run([&](const auto& at, int64_t n, const auto& steps) {
            for (int64_t i = 0; i < n; i++) {
                int64_t k = at[1] + i * steps[1];
                double chance =
                    wide ? probability->data<double>()[k] : static_cast<double>(probability->data<float>()[k]);
                MT_CHECK(chance >= 0 && chance <= 1, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
                bool hit =
                    wide ? uniform_double(g.engine) < chance : uniform_float(g.engine) < static_cast<float>(chance);
                to[at[0] + i * steps[0]] = hit ? T(1) : T(0);
            }
        });
    });
}

Tensor& bernoulli_inplace(Tensor& self, double p, Generator& generator) {
    check_overlap(self);
    bernoulli_number(self, generator, p);
    return self;
}
Tensor& bernoulli_tensor_inplace(Tensor& self, const Tensor& p, Generator& generator) {
    check_overlap(self);
    bernoulli_tensor(self, p, generator);
    return self;
}
void bernoulli_cpu(Out out, const Tensor& self, Generator& generator) { bernoulli_tensor(out, self, generator); }
void bernoulli_p_cpu(Out out, const Tensor& self, double p, Generator& generator) {
    bernoulli_number(out, generator, p);
}

KERNELS
{
    direct<uniform_inplace>("uniform_");
    structured<rand_cpu>("rand");
    structured<rand_generator_cpu>("rand.generator");
    structured<rand_cpu>("rand_like");
    structured<rand_generator_cpu>("rand_like.generator");
    direct<normal_inplace>("normal_");
    structured<randn_cpu>("randn");
    structured<randn_generator_cpu>("randn.generator");
    structured<randn_cpu>("randn_like");
    structured<randn_generator_cpu>("randn_like.generator");
    structured<normal_sized_cpu>("normal.float_float");
    direct<bernoulli_inplace>("bernoulli_.float");
    direct<bernoulli_tensor_inplace>("bernoulli_.Tensor");
    structured<bernoulli_cpu>("bernoulli");
    structured<bernoulli_p_cpu>("bernoulli.p");
}

}  // namespace
}  // namespace mt
