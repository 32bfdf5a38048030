// Random numbers into tensors: uniform, normal, integers, permutations, Bernoulli and the other simple distributions.
#include <cmath>
#include <limits>

#include "core/generator.h"
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
    if (is_complex(out.dtype))
        MT_THROW(NotImplemented, "\"check_uniform_bounds\" not implemented for '", dtype_class_name(out.dtype), "'");
    visit(FloatTypes{}, out.dtype, "check_uniform_bounds", [&]<class T>() {
        using Acc = opmath_t<T>;
        // One rounding for the product and the sum, as PyTorch's kernels have on every processor of the last ten years.
        Acc low = static_cast<Acc>(from), width = static_cast<Acc>(to) - low;
        if constexpr (std::is_same_v<T, double>) {
            fill_random<T>(out, g, [=](Mt19937& e, T* p, int64_t n) {
                uniform_doubles(e, p, n);
                if (low != 0 || width != 1)
                    for (int64_t i = 0; i < n; i++) p[i] = std::fma(p[i], width, low);
            });
        } else {
            fill_random<T>(out, g, [=](Mt19937& e, T* p, int64_t n) {
                uint32_t words[kBlock];
                for (int64_t i = 0; i < n; i += kBlock) {
                    int64_t k = std::min(kBlock, n - i);
                    random_words(e, words, k);
                    for (int64_t j = 0; j < k; j++) p[i + j] = T(std::fma(uniform_float_of(words[j]), width, low));
                }
            });
        }
    });
}

void uniform_inplace(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    double from = c.real(1), to = c.real(2);
    MT_CHECK(is_floating(self.dtype), "\"check_uniform_bounds\" not implemented for '", dtype_class_name(self.dtype),
             "'");
    MT_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
    MT_CHECK(to - from <= (self.dtype == DType::Float64 ? std::numeric_limits<double>::max()
                                                        : double(std::numeric_limits<float>::max())),
             "uniform_ expects to-from <= std::numeric_limits<", dtype_class_name(self.dtype),
             ">::max(), but found to=", to, " and from=", from, " which result in to-from to exceed the limit");
    uniform_into(self, generator_of(c.args[3]), from, to);
    c.ret(0, self);
}

// A complex tensor seen as twice as many real numbers.
TensorRef as_pairs(const Tensor& t) {
    Dims sizes(t.sizes()), strides;
    for (int64_t s : t.strides()) strides.push_back(s * 2);
    sizes.push_back(2);
    strides.push_back(1);
    return from_storage(t.storage, t.offset * 2, sizes, strides, to_real(t.dtype));
}

template <int GeneratorAt>
void rand_cpu(Call& c) {
    Value none;
    Generator& g = generator_of(GeneratorAt < 0 ? none : c.args[GeneratorAt < 0 ? 0 : GeneratorAt]);
    Tensor& out = c.out();
    if (is_complex(out.dtype)) {
        TensorRef pairs = as_pairs(out);
        return uniform_into(*pairs, g, 0, 1);
    }
    uniform_into(out, g, 0, 1);
}

// ---- normal ----

// One at a time: a pair of doubles gives two numbers, the second kept in the generator.
double next_normal(Generator& g) {
    if (g.has_next_double) {
        g.has_next_double = false;
        return g.next_double;
    }
    double u1 = uniform_double(g.engine), u2 = uniform_double(g.engine);
    double radius = std::sqrt(-2.0 * std::log1p(-u2)), theta = 2.0 * 3.14159265358979323846 * u1;
    g.next_double = radius * std::sin(theta);
    g.has_next_double = true;
    return radius * std::cos(theta);
}

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
    // The variance is shared by both parts.
    TensorRef pairs = as_pairs(out);
    normal_into(*pairs, g, 0, std / std::sqrt(2.0));
    if (mean == 0) return;
    visit(ComplexTypes{}, out.dtype, "normal_", [&]<class T>() {
        StridedWalk<1> walk(out.sizes(), {out.strides()});
        T* p = out.data<T>();
        walk.run([&](const auto& at, int64_t k, const auto& steps) {
            for (int64_t i = 0; i < k; i++) p[at[0] + i * steps[0]] += T(static_cast<typename T::value_type>(mean));
        });
    });
}

void normal_inplace(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    normal_any(self, generator_of(c.args[3]), c.real(1), c.real(2));
    c.ret(0, self);
}

template <int GeneratorAt>
void randn_cpu(Call& c) {
    Value none;
    normal_any(c.out(), generator_of(GeneratorAt < 0 ? none : c.args[GeneratorAt < 0 ? 0 : GeneratorAt]), 0, 1);
}

// normal.float_float(mean, std, size, *, generator, ...)
void normal_sized_cpu(Call& c) { normal_any(c.out(), generator_of(c.args[3]), c.real(0), c.real(1)); }

// ---- integers ----

// Of [base, base + range): range 0 stands for 2^64.
template <class T>
void integers_into(Tensor& out, Generator& g, uint64_t range, int64_t base) {
    bool wide = range >= (uint64_t(1) << 28) || range == 0;
    fill_random<T>(out, g, [=](Mt19937& e, T* p, int64_t n) {
        auto put = [=](uint64_t word) {
            int64_t v = static_cast<int64_t>((range ? word % range : word) + static_cast<uint64_t>(base));
            if constexpr (std::is_same_v<T, bool>)
                return v != 0;
            else if constexpr (std::is_integral_v<T>)
                return static_cast<T>(v);
            else
                return T(static_cast<opmath_t<T>>(v));
        };
        for (int64_t i = 0; i < n; i++) p[i] = put(wide ? random_word64(e) : random_word(e));
    });
}

using RandomTypes = Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, bool, uint16_t,
                          uint32_t, uint64_t>;

// The largest whole number up to which a float type holds every one.
int64_t last_exact(DType t) {
    switch (t) {
        case DType::Float64:
            return int64_t(1) << 53;
        case DType::Float32:
            return int64_t(1) << 24;
        case DType::Float16:
            return int64_t(1) << 11;
        case DType::BFloat16:
            return int64_t(1) << 8;
        default:
            return 0;
    }
}

void bounds_of(DType t, double& low, double& high) {
    switch (t) {
        case DType::Bool:
            low = 0;
            high = 1;
            return;
        case DType::UInt8:
        case DType::UInt16:
        case DType::UInt32:
        case DType::UInt64:
            low = 0;
            high = std::ldexp(1.0, static_cast<int>(8 * itemsize(t))) - 1;
            return;
        case DType::Int8:
        case DType::Int16:
        case DType::Int32:
        case DType::Int64:
            high = std::ldexp(1.0, static_cast<int>(8 * itemsize(t)) - 1) - 1;
            low = -high - 1;
            return;
        case DType::Float16:
            high = 65504;
            low = -high;
            return;
        default:
            high = std::numeric_limits<float>::max();
            low = -high;
    }
}

// Bounds are reported with C's names of the types.
const char* c_name(DType t) {
    switch (t) {
        case DType::UInt8:
            return "unsigned char";
        case DType::Int8:
            return "signed char";
        case DType::Int16:
            return "short";
        case DType::Int32:
            return "int";
        case DType::Int64:
            return "long";
        case DType::Float32:
            return "float";
        case DType::Float64:
            return "double";
        default:
            return dtype_name(t);
    }
}

void random_from_to(Tensor& out, Generator& g, int64_t from, int64_t to) {
    MT_CHECK(from < to, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", to);
    double low, high;
    bounds_of(out.dtype, low, high);
    MT_CHECK(static_cast<double>(from) >= low && static_cast<double>(from) <= high, "from is out of bounds for ",
             c_name(out.dtype));
    MT_CHECK(static_cast<double>(to - 1) >= low && static_cast<double>(to - 1) <= high, "to - 1 is out of bounds for ",
             c_name(out.dtype));
    visit(RandomTypes{}, out.dtype, "random_from_to_kernel_cpu",
          [&]<class T>() { integers_into<T>(out, g, static_cast<uint64_t>(to) - static_cast<uint64_t>(from), from); });
}

void random_inplace(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    Generator& g = generator_of(c.args[1]);
    visit(RealBoolTypes{}, self.dtype, "random_kernel_cpu", [&]<class T>() {
        if constexpr (std::is_same_v<T, bool>) {
            integers_into<T>(self, g, 2, 0);
        } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
            // These always take a pair of words.
            uint64_t range = std::is_same_v<T, double> ? (uint64_t(1) << 53) + 1 : uint64_t(1) << 63;
            fill_random<T>(self, g, [=](Mt19937& e, T* p, int64_t n) {
                for (int64_t i = 0; i < n; i++) p[i] = static_cast<T>(random_word64(e) % range);
            });
        } else {
            uint64_t range = last_exact(self.dtype) ? static_cast<uint64_t>(last_exact(self.dtype)) + 1 : 0;
            if constexpr (std::is_integral_v<T>) range = static_cast<uint64_t>(std::numeric_limits<T>::max()) + 1;
            fill_random<T>(self, g, [=](Mt19937& e, T* p, int64_t n) {
                for (int64_t i = 0; i < n; i++) {
                    uint64_t v = random_word(e) % range;
                    if constexpr (std::is_integral_v<T>)
                        p[i] = static_cast<T>(v);
                    else
                        p[i] = T(static_cast<float>(v));
                }
            });
        }
    });
    c.ret(0, self);
}

void random_to_inplace(Call& c) {
    random_from_to(c.mutable_tensor(0), generator_of(c.args[2]), 0, c.integer(1));
    c.ret(0, c.tensor(0));
}

void random_from_inplace(Call& c) {
    Tensor& self = c.mutable_tensor(0);
    Generator& g = generator_of(c.args[3]);
    int64_t from = c.integer(1);
    if (!c.is_none(2)) {
        random_from_to(self, g, from, c.integer(2));
        return c.ret(0, self);
    }
    // Up to the largest number of the type.
    visit(RealBoolTypes{}, self.dtype, "random_from_to_range_calc", [&]<class T>() {
        if constexpr (std::is_same_v<T, int64_t>) {
            uint64_t range = from == INT64_MIN ? 0 : static_cast<uint64_t>(INT64_MAX) - static_cast<uint64_t>(from) + 1;
            integers_into<T>(self, g, range, range ? from : 0);
        } else {
            int64_t last = last_exact(self.dtype);
            if constexpr (std::is_integral_v<T>) last = static_cast<int64_t>(std::numeric_limits<T>::max());
            MT_CHECK(from <= last,
                     "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but "
                     "got from=",
                     from, " > to_inc=", last);
            integers_into<T>(self, g, static_cast<uint64_t>(last - from) + 1, from);
        }
    });
    c.ret(0, self);
}

// randint([low,] high, size, *, [generator,] ...); randint_like(self, [low,] high, *, [generator,] ...)
template <int LowAt, int HighAt, int GeneratorAt>
void randint_cpu(Call& c) {
    Value none;
    Generator& g = generator_of(GeneratorAt < 0 ? none : c.args[GeneratorAt < 0 ? 0 : GeneratorAt]);
    const Tensor* high = c.tensor_or_null(HighAt);
    int64_t to = high ? 0 : c.integer(HighAt);
    if (high) {
        MT_CHECK(high->numel() == 1, "high must be a scalar tensor");
        TensorRef number = contiguous(*high, DType::Int64);
        to = *number->data<int64_t>();
    }
    random_from_to(c.out(), g, LowAt < 0 ? 0 : c.integer(LowAt < 0 ? 0 : LowAt), to);
}

// rule("randperm", "n", "dtype")
void randperm_shape(ShapeCall& c) {
    int64_t n = c.integer(c.param(0));
    MT_CHECK(n >= 0, "n must be non-negative, got", n);
    c.output(0, IntSpan(&n, 1), c.dtype_or(c.param(1), DType::Int64));
}

template <int GeneratorAt>
void randperm_cpu(Call& c) {
    Value none;
    Generator& g = generator_of(GeneratorAt < 0 ? none : c.args[GeneratorAt < 0 ? 0 : GeneratorAt]);
    Tensor& out = c.out();
    int64_t n = out.numel();
    GeneratorLock lock(g);
    visit(RealTypes{}, out.dtype, "randperm", [&]<class T>() {
        T* p = out.data<T>();
        for (int64_t i = 0; i < n; i++) p[i] = T(static_cast<opmath_t<T>>(i));
        // One word cannot choose evenly among very many.
        bool wide = n >= static_cast<int64_t>(UINT32_MAX / 20);
        for (int64_t i = 0; i + 1 < n; i++) {
            uint64_t word = wide ? random_word64(g.engine) : random_word(g.engine);
            int64_t k = i + static_cast<int64_t>(word % static_cast<uint64_t>(n - i));
            std::swap(p[i], p[k]);
        }
    });
}

// ---- Bernoulli ----

void check_probability(double p, const char* op) {
    MT_CHECK(p >= 0 && p <= 1, op, " expects p to be in [0, 1], but got p=", p);
}

void bernoulli_number(Tensor& out, Generator& g, double p) {
    check_probability(p, "bernoulli_");
    visit(AllTypes{}, out.dtype, "bernoulli_scalar_cpu_", [&]<class T>() {
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

// Element by element in row-major order of the broadcast; a float probability takes one word, a double one two.
void bernoulli_tensor(Tensor& out, const Tensor& p, Generator& g) {
    MT_CHECK(is_floating(p.dtype), "bernoulli expects a floating point tensor of probabilities");
    bool wide = p.dtype == DType::Float64;
    TensorRef probability = contiguous(p, wide ? DType::Float64 : DType::Float32);
    Dims strides(out.dim(), 0);
    int64_t lead = out.dim() - p.dim();
    MT_CHECK(lead >= 0, "the probabilities have more dimensions than the tensor to fill");
    for (int64_t d = 0; d < p.dim(); d++) {
        MT_CHECK(p.size(d) == out.size(lead + d) || p.size(d) == 1, "The expanded size of the tensor (",
                 out.size(lead + d), ") must match the existing size (", p.size(d), ") at non-singleton dimension ",
                 lead + d, ".  Target sizes: ", out.sizes(), ".  Tensor sizes: ", p.sizes());
        strides[lead + d] = p.size(d) == 1 ? 0 : probability->stride(d);
    }
    GeneratorLock lock(g);
    StridedWalk<2> walk(out.sizes(), {out.strides(), IntSpan(strides)});
    visit(AllTypes{}, out.dtype, "bernoulli_tensor_cpu_self_", [&]<class T>() {
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

void bernoulli_inplace(Call& c) {
    bernoulli_number(c.mutable_tensor(0), generator_of(c.args[2]), c.real(1));
    c.ret(0, c.tensor(0));
}
void bernoulli_tensor_inplace(Call& c) {
    bernoulli_tensor(c.mutable_tensor(0), c.tensor(1), generator_of(c.args[2]));
    c.ret(0, c.tensor(0));
}
void bernoulli_cpu(Call& c) { bernoulli_tensor(c.out(), c.tensor(0), generator_of(c.args[1])); }
void bernoulli_p_cpu(Call& c) { bernoulli_number(c.out(), generator_of(c.args[2]), c.real(1)); }

// ---- distributions that transform one number at a time ----

template <class Types, class Next>
void fill_from_doubles(Tensor& out, Generator& g, const char* op, Types types, Next&& next) {
    visit(types, out.dtype, op, [&]<class T>() {
        GeneratorLock lock(g);
        fill_in_memory_order<T>(out, [&](T* p, int64_t n) {
            for (int64_t i = 0; i < n; i++) {
                double v = next(g);
                if constexpr (std::is_integral_v<T>)
                    p[i] = static_cast<T>(v);
                else
                    p[i] = T(static_cast<opmath_t<T>>(v));
            }
        });
    });
}

void exponential_inplace(Call& c) {
    double lambda = c.real(1);
    MT_CHECK(lambda > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambda);
    fill_from_doubles(c.mutable_tensor(0), generator_of(c.args[2]), "exponential_", FloatTypes{},
                      [=](Generator& g) { return -1.0 / lambda * std::log1p(-uniform_double(g.engine)); });
    c.ret(0, c.tensor(0));
}

void geometric_inplace(Call& c) {
    double p = c.real(1);
    MT_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
    fill_from_doubles(c.mutable_tensor(0), generator_of(c.args[2]), "geometric_", RealTypes{},
                      [=](Generator& g) { return std::ceil(std::log(uniform_double(g.engine)) / std::log1p(-p)); });
    c.ret(0, c.tensor(0));
}

void cauchy_inplace(Call& c) {
    double median = c.real(1), sigma = c.real(2);
    MT_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
    fill_from_doubles(c.mutable_tensor(0), generator_of(c.args[3]), "cauchy_", FloatTypes{}, [=](Generator& g) {
        return median + sigma * std::tan(3.14159265358979323846 * (uniform_double(g.engine) - 0.5));
    });
    c.ret(0, c.tensor(0));
}

void log_normal_inplace(Call& c) {
    double mean = c.real(1), std = c.real(2);
    MT_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
    fill_from_doubles(c.mutable_tensor(0), generator_of(c.args[3]), "log_normal_cpu", FloatTypes{},
                      [=](Generator& g) { return std::exp(next_normal(g) * std + mean); });
    c.ret(0, c.tensor(0));
}

KERNELS
{
    direct("uniform_", uniform_inplace);
    structured("rand", rand_cpu<-1>);
    structured("rand.generator", rand_cpu<1>);
    structured("rand_like", rand_cpu<-1>);
    structured("rand_like.generator", rand_cpu<1>);
    direct("normal_", normal_inplace);
    structured("randn", randn_cpu<-1>);
    structured("randn.generator", randn_cpu<1>);
    structured("randn_like", randn_cpu<-1>);
    structured("randn_like.generator", randn_cpu<1>);
    structured("normal.float_float", normal_sized_cpu);
    direct("random_", random_inplace);
    direct("random_.to", random_to_inplace);
    direct("random_.from", random_from_inplace);
    structured("randint", randint_cpu<-1, 0, -1>);
    structured("randint.generator", randint_cpu<-1, 0, 2>);
    structured("randint.low", randint_cpu<0, 1, -1>);
    structured("randint.low_generator", randint_cpu<0, 1, 3>);
    structured("randint_like", randint_cpu<-1, 1, -1>);
    structured("randint_like.generator", randint_cpu<-1, 1, 2>);
    structured("randint_like.Tensor", randint_cpu<-1, 1, -1>);
    structured("randint_like.Tensor_generator", randint_cpu<-1, 1, 2>);
    structured("randint_like.low_dtype", randint_cpu<1, 2, -1>);
    structured("randint_like.low_generator_dtype", randint_cpu<1, 2, 3>);
    shape("randperm", randperm_shape);
    structured("randperm", randperm_cpu<-1>, kContiguousOutputs);
    structured("randperm.generator", randperm_cpu<1>, kContiguousOutputs);
    direct("bernoulli_.float", bernoulli_inplace);
    direct("bernoulli_.Tensor", bernoulli_tensor_inplace);
    structured("bernoulli", bernoulli_cpu);
    structured("bernoulli.p", bernoulli_p_cpu);
    direct("exponential_", exponential_inplace);
    direct("geometric_", geometric_inplace);
    direct("cauchy_", cauchy_inplace);
    direct("log_normal_", log_normal_inplace);
}

}  // namespace
}  // namespace mt
