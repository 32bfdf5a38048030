// Random numbers drawn one after the other: integers, permutations, and distributions that transform one number at a
// time.
#include <cmath>
#include <limits>

#include "core/cpp_names.h"
#include "core/generator.h"
#include "core/number_fits.h"
#include "core/overlap.h"
#include "core/registry.h"
#include "cpu/memory_order.h"

namespace mt {
namespace {

// next(generator) gives V (int64_t or double), which is converted to the tensor's dtype. The numbers are drawn into a
// buffer first, so that the drawing loop is compiled once, not once for each dtype.
template <class V, class List, class Next>
void fill_numbers(Tensor& out, Generator& g, const char* op, List dtypes, Next&& next) {
    auto draw = [&](V* to, int64_t n) __attribute__((noinline)) {
        for (int64_t i = 0; i < n; i++) to[i] = next(g);
    };
    visit(dtypes, out.dtype, op, [&]<class T>() {
        GeneratorLock lock(g);
        NoGil nogil(out.numel() > 4 * kGrain);
        fill_in_memory_order<T>(out, [&](T* p, int64_t n) {
            constexpr int64_t block = 256;
            V numbers[block];
            for (int64_t i = 0; i < n; i += block) {
                int64_t k = std::min(block, n - i);
                draw(numbers, k);
                for (int64_t j = 0; j < k; j++) {
                    if constexpr (std::is_same_v<T, Bool>)
                        p[i + j] = numbers[j] != 0;
                    else if constexpr (std::is_integral_v<T>)
                        p[i + j] = static_cast<T>(numbers[j]);
                    else
                        p[i + j] = T(static_cast<opmath_t<T>>(numbers[j]));
                }
            }
        });
    });
}

// ---- integers ----

using RandomTypes = Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, Bool, uint16_t,
                          uint32_t, uint64_t>;

// Of [base, base + range), from one word or from a pair of them; range 0 stands for 2^64.
void integers_into(Tensor& out, Generator& g, const char* op, uint64_t range, int64_t base, bool wide) {
    auto value = [=](uint64_t word) {
        return static_cast<int64_t>((range ? word % range : word) + static_cast<uint64_t>(base));
    };
    if (wide)
        fill_numbers<int64_t>(out, g, op, RandomTypes{}, [=](Generator& e) { return value(random_word64(e.engine)); });
    else
        fill_numbers<int64_t>(out, g, op, RandomTypes{}, [=](Generator& e) { return value(random_word(e.engine)); });
}

// The bits of a float type's significand; 0 for other types.
int digits_of(DType t) {
    switch (t) {
        case DType::Float64:
            return 53;
        case DType::Float32:
            return 24;
        case DType::Float16:
            return 11;
        case DType::BFloat16:
            return 8;
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

// The largest number that random_() draws: of a float type, the last whole one up to which it holds every one.
int64_t largest(DType t) {
    if (int digits = digits_of(t)) return int64_t(1) << digits;
    double low, high;
    bounds_of(t, low, high);
    return high >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(high);
}

void check_random_dtype(DType t, const char* op) {
    MT_CHECK(!is_complex(t), op, " handles only integral, floating-point and boolean types");
}

int bits_of(int64_t v) { return 64 - __builtin_clzll(static_cast<uint64_t>(v < 0 ? -v : v)); }

// `v` as a number of the float type.
int64_t rounded(int64_t v, DType t) {
    if (t == DType::Float64) return static_cast<int64_t>(static_cast<double>(v));
    float f = static_cast<float>(v);
    if (t == DType::Float16) f = static_cast<float>(Half(f));
    if (t == DType::BFloat16) f = static_cast<float>(BFloat16(f));
    return static_cast<int64_t>(f);
}

void warn_inexact(int64_t bound, const char* which, DType t) {
    int digits = digits_of(t);
    int64_t exact = int64_t(1) << digits;
    if (bound >= -exact && bound <= exact) return;
    std::string text = concat(which, " is out of bounds [-(2^", digits, "), 2^", digits,
                              "]. Due to precision limitations ", dtype_cpp_name(t),
                              " can support discrete uniform distribution only within this range. This warning will "
                              "become an error in version 1.7 release, please fix the code in advance");
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
}

void random_from_to(Tensor& out, Generator& g, int64_t from, int64_t to) {
    MT_CHECK(from < to, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", to);
    check_random_dtype(out.dtype, "check_random_bounds");
    if (int digits = digits_of(out.dtype)) {
        // Bounds that the type cannot hold move inwards, to its next number.
        int64_t first = rounded(from + 1, out.dtype), last = rounded(to - 1, out.dtype);
        if (first < from) from = first + (int64_t(1) << (bits_of(from + 1) - digits));
        if (last >= to) to = last - (int64_t(1) << (bits_of(to - 1) - digits));
        MT_CHECK(from < to,
                 "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from=", from,
                 " >= to=", to);
    }
    double low, high;
    bounds_of(out.dtype, low, high);
    auto check = [&](int64_t bound, const char* which) {
        MT_CHECK(static_cast<double>(bound) >= low && static_cast<double>(bound) <= high, which,
                 " is out of bounds for ", dtype_cpp_name(out.dtype));
        if (digits_of(out.dtype)) warn_inexact(bound, which, out.dtype);
    };
    check(from, "from");
    check(to - 1, "to - 1");
    uint64_t range = static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
    integers_into(out, g, "random_from_to_kernel_cpu", range, from, range >= uint64_t(1) << 28);
}

Tensor& random_inplace(Tensor& self, Generator& generator) {
    check_overlap(self);
    bool wide = self.dtype == DType::Int64 || self.dtype == DType::Float64;  // these always take a pair of words
    visit(RealBoolTypes{}, self.dtype, "random_kernel_cpu", []<class T>() {});
    uint64_t range = static_cast<uint64_t>(largest(self.dtype)) + 1;
    integers_into(self, generator, "random_kernel_cpu", range, 0, wide);
    return self;
}

Tensor& random_to_inplace(Tensor& self, int64_t to, Generator& generator) {
    check_overlap(self);
    random_from_to(self, generator, 0, to);
    return self;
}

// random_(from, None): up to the largest number of the type.
Tensor& random_from_inplace(Tensor& self, int64_t from, std::optional<int64_t> to, Generator& generator) {
    check_overlap(self);
    Generator& g = generator;
    if (!!to) {
        random_from_to(self, g, from, *to);
    } else if (from == INT64_MIN) {
        // All 2^64 numbers, of the types that hold them.
        const char* op = "random_full_64_bits_range_kernel_cpu";
        bool small = self.dtype == DType::UInt8 || self.dtype == DType::Int8 || self.dtype == DType::Int16 ||
                     self.dtype == DType::Int32;
        MT_CHECK(!small, op, " handles only int64, double, float and bfloat16");
        visit(Types<int64_t, float, double, BFloat16>{}, self.dtype, op, []<class T>() {});
        integers_into(self, g, op, 0, 0, true);
    } else {
        check_random_dtype(self.dtype, "random_from_to_impl");
        int64_t last = largest(self.dtype);
        MT_CHECK(self.dtype != DType::UInt64, "to - 1 is out of bounds for ", dtype_cpp_name(self.dtype));
        MT_CHECK(from <= last,
                 "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but "
                 "got from=",
                 from, " > to_inc=", last);
        uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
        integers_into(self, g, "random_from_to_kernel_cpu", range, from, range >= uint64_t(1) << 28);
    }
    return self;
}

int64_t item_of(const Tensor& high) {
    MT_CHECK(high.numel() == 1 && high.is_cpu(), "high must be a scalar tensor and on CPU");
    TensorRef number = contiguous(high, DType::Int64);
    return *number->data<int64_t>();
}

void randint_cpu(Out out, int64_t high, RestUnread) { random_from_to(out, default_generator(), 0, high); }
void randint_generator_cpu(Out out, int64_t high, IntSpan size, Generator& generator, RestUnread) {
    random_from_to(out, generator, 0, high);
}
void randint_low_cpu(Out out, int64_t low, int64_t high, RestUnread) {
    random_from_to(out, default_generator(), low, high);
}
void randint_low_generator_cpu(Out out, int64_t low, int64_t high, IntSpan size, Generator& generator, RestUnread) {
    random_from_to(out, generator, low, high);
}
void randint_like_cpu(Out out, const Tensor& self, int64_t high, RestUnread) {
    random_from_to(out, default_generator(), 0, high);
}
void randint_like_generator_cpu(Out out, const Tensor& self, int64_t high, Generator& generator, RestUnread) {
    random_from_to(out, generator, 0, high);
}
void randint_like_tensor_cpu(Out out, const Tensor& self, const Tensor& high, RestUnread) {
    random_from_to(out, default_generator(), 0, item_of(high));
}
void randint_like_tensor_generator_cpu(Out out, const Tensor& self, const Tensor& high, Generator& generator,
                                       RestUnread) {
    random_from_to(out, generator, 0, item_of(high));
}
void randint_like_low_cpu(Out out, const Tensor& self, int64_t low, int64_t high, RestUnread) {
    random_from_to(out, default_generator(), low, high);
}
void randint_like_low_generator_cpu(Out out, const Tensor& self, int64_t low, int64_t high, Generator& generator,
                                    RestUnread) {
    random_from_to(out, generator, low, high);
}

// rule("randperm", "n", "dtype")
void randperm_shape(ShapeCall& c, int64_t n, std::optional<DType> dtype) {
    MT_CHECK(n >= 0, "n must be non-negative, got", n);
    const bool given = c.op->form == Form::Out;
    c.output(0, IntSpan(&n, 1), given ? c.tensor(c.op->out_index).dtype : dtype.value_or(DType::Int64));
}

// Each number up to n has to be one of the dtype.
void check_permutation(int64_t n, DType dtype) {
    const int64_t most = dtype == DType::Float16   ? (1 << 11) + 1
                         : dtype == DType::Float32 ? (1 << 24) + 1
                         : dtype == DType::Float64 ? (int64_t(1) << 53) + 1
                                                   : n;
    MT_CHECK(n <= most, "n cannot be greater than ",
             dtype == DType::Float32   ? "2^24+1"
             : dtype == DType::Float64 ? "2^53+1"
                                       : std::to_string(most),
             " for ", dtype_class_name(dtype), " type.");
    if (n > 0) check_number_fits(dtype, Value::of(n - 1));
}

void permute_into(Tensor& out, Generator& g) {
    int64_t n = out.numel();
    check_permutation(n, out.dtype);
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
void randperm_cpu(Out out, RestUnread) { permute_into(out, default_generator()); }
void randperm_generator_cpu(Out out, int64_t n, Generator& generator, RestUnread) { permute_into(out, generator); }

// ---- distributions that transform one number at a time ----

Tensor& exponential_inplace(Tensor& self, double lambda, Generator& generator) {
    check_overlap(self);
    MT_CHECK(is_floating(self.dtype),
             "Exponential distribution is a continuous probability distribution. dtype must be a floating point but "
             "you specified ",
             dtype_class_name(self.dtype));
    MT_CHECK(lambda > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambda);
    fill_numbers<double>(self, generator, "exponential_", FloatTypes{},
                         [=](Generator& g) { return -1.0 / lambda * std::log1p(-uniform_double(g.engine)); });
    return self;
}

Tensor& geometric_inplace(Tensor& self, double p, Generator& generator) {
    check_overlap(self);
    MT_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
    fill_numbers<double>(self, generator, "geometric_cpu", RealTypes{},
                         [=](Generator& g) { return std::ceil(std::log(uniform_double(g.engine)) / std::log1p(-p)); });
    return self;
}

Tensor& cauchy_inplace(Tensor& self, double median, double sigma, Generator& generator) {
    check_overlap(self);
    MT_CHECK(is_floating(self.dtype),
             "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
             "specified ",
             dtype_cpp_name(self.dtype));
    MT_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
    fill_numbers<double>(self, generator, "cauchy_", FloatTypes{}, [=](Generator& g) {
        return median + sigma * std::tan(kPi * (uniform_double(g.engine) - 0.5));
    });
    return self;
}

Tensor& log_normal_inplace(Tensor& self, double mean, double std, Generator& generator) {
    check_overlap(self);
    MT_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
    fill_numbers<double>(self, generator, "log_normal_cpu", FloatTypes{},
                         [=](Generator& g) { return std::exp(next_normal(g) * std + mean); });
    return self;
}

KERNELS
{
    direct<random_inplace>("random_");
    direct<random_to_inplace>("random_.to");
    direct<random_from_inplace>("random_.from");
    structured<randint_cpu>("randint");
    structured<randint_generator_cpu>("randint.generator");
    structured<randint_low_cpu>("randint.low");
    structured<randint_low_generator_cpu>("randint.low_generator");
    structured<randint_like_cpu>("randint_like");
    structured<randint_like_generator_cpu>("randint_like.generator");
    structured<randint_like_tensor_cpu>("randint_like.Tensor");
    structured<randint_like_tensor_generator_cpu>("randint_like.Tensor_generator");
    structured<randint_like_low_cpu>("randint_like.low_dtype");
    structured<randint_like_low_generator_cpu>("randint_like.low_generator_dtype");
    shape<randperm_shape>("randperm");
    structured<randperm_cpu>("randperm", kContiguousOutputs);
    structured<randperm_generator_cpu>("randperm.generator", kContiguousOutputs);
    direct<exponential_inplace>("exponential_");
    direct<geometric_inplace>("geometric_");
    direct<cauchy_inplace>("cauchy_");
    direct<log_normal_inplace>("log_normal_");
}

}  // namespace
}  // namespace mt
