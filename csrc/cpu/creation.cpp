// New tensors: constants, ranges, identity, and complex numbers from their parts.
#include <cmath>
#include <limits>

#include "core/kernel.h"
#include "core/number_fits.h"
#include "core/uninitialised.h"
#include "cpu/memory_format.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

void check_sizes(IntSpan sizes) {
    for (int64_t s : sizes) MT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
}

// rule("factory", "size", "dtype"[, "memory_format"]): sizes as given, default dtype
void factory_shape(ShapeCall& c) {
    IntSpan sizes = c.ints(c.param(0));
    if (std::string_view(c.name()) == "zeros")
        for (int64_t s : sizes) MT_CHECK(s >= 0, "zeros: Dimension size must be non-negative.");
    check_sizes(sizes);
    DType dtype = c.dtype_or(c.param(1), default_dtype());
    MemoryFormat format =
        c.param(2) >= 0 ? c.memory_format_or(c.param(2), MemoryFormat::Contiguous) : MemoryFormat::Contiguous;
    check_format_rank(format, sizes.size);
    MT_CHECK(format != MemoryFormat::Preserve, "Unsupported memory format option Preserve");
    if (format != MemoryFormat::Contiguous) return c.output_strided(0, sizes, channels_last_strides(sizes), dtype);
    c.output(0, sizes, dtype);
}

// rule("factory_like", "self", "dtype", "memory_format")
void factory_like_shape(ShapeCall& c) {
    const Tensor& self = c.tensor(c.param(0));
    DType dtype = c.dtype_or(c.param(1), self.dtype);
    MemoryFormat format = c.memory_format_or(c.param(2), MemoryFormat::Preserve);
    check_format_rank(format, self.ndim);
    if (format == MemoryFormat::Preserve) return c.output_like(0, self, dtype);
    if (format == MemoryFormat::Contiguous) return c.output(0, self.sizes(), dtype);
    c.output_strided(0, self.sizes(), channels_last_strides(self.sizes()), dtype);
}

// rule("factory_new", "self", "size", "dtype"): dtype and device of self
void factory_new_shape(ShapeCall& c) {
    IntSpan sizes = c.ints(c.param(1));
    check_sizes(sizes);
    c.output(0, sizes, c.dtype_or(c.param(2), c.tensor(c.param(0)).dtype));
}

// rule("full", "size", "fill_value", "dtype"): the number's own dtype
void full_shape(ShapeCall& c) {
    IntSpan sizes = c.ints(c.param(0));
    check_sizes(sizes);
    c.output(0, sizes, c.dtype_or(c.param(2), c.scalar(c.param(1)).scalar_dtype()));
}

void check_strides(IntSpan sizes, IntSpan strides) {
    check_sizes(sizes);
    MT_CHECK(sizes.size == strides.size, "dimensionality of sizes (", sizes.size,
             ") must match dimensionality of strides (", strides.size, ")");
    for (int64_t s : strides)
        MT_CHECK(s >= 0, "empty_strided(): Negative strides are not supported at the moment, got strides: ", strides);
}
void empty_strided_shape(ShapeCall& c) {
    check_strides(c.ints(0), c.ints(1));
    c.output_strided(0, c.ints(0), c.ints(1), c.dtype_or(2, default_dtype()));
}
void new_empty_strided_shape(ShapeCall& c) {
    check_strides(c.ints(1), c.ints(2));
    c.output_strided(0, c.ints(1), c.ints(2), c.dtype_or(3, c.tensor(0).dtype));
}
void empty_permuted_shape(ShapeCall& c) {
    IntSpan sizes = c.ints(0), order = c.ints(1);
    check_sizes(sizes);
    MT_CHECK(sizes.size == order.size,
             "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = ",
             sizes.size, " is not equal to len(physical_layout) = ", order.size);
    Dims strides(sizes.size, -1);
    int64_t step = 1;
    for (int64_t i = order.size - 1; i >= 0; i--) {
        MT_CHECK(order[i] >= 0 && order[i] < sizes.size, "Dimension out of range (expected to be between 0 and ",
                 sizes.size - 1, ", but got ", order[i], " at index ", i,
                 ").  NB: negative dims not currently supported; file an issue if you want it.");
        MT_CHECK(strides[order[i]] == -1, "Duplicate dim not allowed");
        strides[order[i]] = step;
        step *= std::max<int64_t>(1, sizes[order[i]]);
    }
    c.output_strided(0, sizes, strides, c.dtype_or(2, default_dtype()));
}

void scalar_tensor_shape(ShapeCall& c) { c.output(0, IntSpan(), c.dtype_or(1, default_dtype())); }

// Memory as it was found; with torch.use_deterministic_algorithms(True) a value that shows when it is read.
void uninitialised(Call& c) {
    if (!g_fill_uninitialised) return;
    Tensor& out = c.out();
    const DType dtype = out.dtype;
    if (is_floating(dtype) || is_complex(dtype)) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        fill(out, is_complex(dtype) ? Value::of(c128(nan, 0)) : Value::of(nan));
    } else {
        const bool is_signed =
            dtype == DType::Int8 || dtype == DType::Int16 || dtype == DType::Int32 || dtype == DType::Int64;
        const int unused = 64 - 8 * static_cast<int>(out.itemsize());
        // -1 is the largest number of an unsigned type
        fill(out, Value::of(dtype == DType::Bool ? int64_t(1) : is_signed ? INT64_MAX >> unused : int64_t(-1)));
    }
}
void fill_zero(Call& c) {
    Tensor& out = c.out();
    if (out.is_non_overlapping_and_dense() && out.numel() > 0)
        std::memset(out.raw(), 0, static_cast<size_t>(out.numel() * out.itemsize()));
    else
        fill(out, Value::of(int64_t(0)));
}
void fill_one(Call& c) { fill(c.out(), Value::of(int64_t(1))); }
template <int Position>
void fill_with(Call& c) {
    check_number_fits(c.out().dtype, c.scalar(Position));
    fill(c.out(), c.scalar(Position));
}

// ---- ranges ----

bool all_integral(const Call& c, int from, int to) {
    for (int i = from; i < to; i++)
        if (c.scalar(i).tag == Tag::Double || c.scalar(i).tag == Tag::Complex) return false;
    return true;
}

struct Range {
    Value start = Value::of(int64_t(0)), end, step = Value::of(int64_t(1));
    int dtype_at;
};
// arange(end), arange(start, end), arange(start, end, step)
template <int Numbers>
Range range_of(const Call& c) {
    Range r;
    r.end = c.scalar(Numbers > 1 ? 1 : 0);
    if (Numbers > 1) r.start = c.scalar(0);
    if (Numbers > 2) r.step = c.scalar(2);
    r.dtype_at = Numbers;
    return r;
}

template <int Numbers>
void arange_shape(ShapeCall& c) {
    Range r = range_of<Numbers>(c);
    for (int i = 0; i < Numbers; i++) check_number_fits(DType::Float64, c.scalar(i));
    bool integral = all_integral(c, 0, Numbers);
    DType dtype = c.dtype_or(r.dtype_at, integral ? DType::Int64 : default_dtype());
    double start = r.start.as_double(), end = r.end.as_double(), step = r.step.as_double();
    MT_CHECK(step != 0, "step must be nonzero");
    MT_CHECK(std::isfinite(start) && std::isfinite(end), "unsupported range: ", start, " -> ", end);
    int64_t size;
    if (dtype == DType::Int64 || integral) {
        // In integers: a double cannot tell the largest ones apart.
        int64_t first = r.start.as_int(), last = r.end.as_int(), by = r.step.as_int();
        MT_CHECK(by != 0, "step must be nonzero");
        MT_CHECK((by > 0 && last >= first) || (by < 0 && last <= first),
                 "upper bound and lower bound inconsistent with step sign");
        size = static_cast<int64_t>(
            std::ceil((static_cast<double>(last) - static_cast<double>(first)) / static_cast<double>(by)));
    } else {
        MT_CHECK((step > 0 && end >= start) || (step < 0 && end <= start),
                 "upper bound and lower bound inconsistent with step sign");
        double steps = std::ceil((end - start) / step);
        MT_CHECK(steps >= 0 && steps < 9.2e18, "invalid size, possible overflow?");
        size = static_cast<int64_t>(steps);
    }
    c.output(0, IntSpan(&size, 1), dtype);
}

template <int Numbers>
void arange_cpu(Call& c) {
    Range r = range_of<Numbers>(c);
    Tensor& out = c.out();
    int64_t n = out.numel();
    visit(RealTypes{}, out.dtype, "arange_cpu", [&]<class T>() {
        T* p = out.data<T>();
        if constexpr (std::is_integral_v<T>) {
            int64_t start = r.start.as_int(), step = r.step.as_int();
            parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; i++) p[i] = static_cast<T>(start + i * step);
            });
        } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
            // PyTorch counts in pairs of registers of 32 bytes, from the rounded first number of each; what is left
            // over one by one.
            constexpr int64_t width = 32 / sizeof(T);
            const double start = r.start.as_double(), step = r.step.as_double();
            const int64_t paired = n - n % (2 * width);
            parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; i++) {
                    const int64_t first = i < paired ? i - i % width : i;
                    const double base = std::fma(step, static_cast<double>(first), start);
                    p[i] = first == i ? static_cast<T>(base)
                                      : static_cast<T>(std::fma(step, static_cast<double>(i - first),
                                                                static_cast<double>(static_cast<T>(base))));
                }
            });
        } else {
            double start = r.start.as_double(), step = r.step.as_double();
            parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; i++)
                    p[i] = T(static_cast<opmath_t<T>>(start + static_cast<double>(i) * step));
            });
        }
    });
}

// rule("steps", "start", "end", "steps", "dtype"): `steps` numbers; complex ends give complex numbers
void steps_shape(ShapeCall& c) {
    int64_t steps = c.integer(c.param(2));
    MT_CHECK(steps >= 0, "number of steps must be non-negative");
    bool complex = c.scalar(c.param(0)).tag == Tag::Complex || c.scalar(c.param(1)).tag == Tag::Complex;
    c.output(0, IntSpan(&steps, 1), c.dtype_or(c.param(3), complex ? to_complex(default_dtype()) : default_dtype()));
}

// Calls put(i, value) with the i-th of `steps` evenly spaced numbers: counted from the nearer end, so both ends are
// exact. `fused`: real ones are rounded once, as in PyTorch's linspace and not in its logspace.
template <class T, bool fused, class Put>
void each_step(T start, T end, int64_t steps, Put put) {
    if (steps == 1) return put(0, start);
    T step = (end - start) / static_cast<T>(steps - 1);
    int64_t half = steps / 2;
    parallel_for(steps, kGrain, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; i++) {
            const T at = static_cast<T>(i < half ? i : steps - i - 1);
            if constexpr (fused && std::is_floating_point_v<T>)
                put(i, i < half ? std::fma(step, at, start) : std::fma(-step, at, end));
            else
                put(i, i < half ? start + step * at : end - step * at);
        }
    });
}

void linspace_cpu(Call& c) {
    Tensor& out = c.out();
    int64_t steps = c.integer(2);
    if (steps == 0) return;
    visit(NumberTypes{}, out.dtype, "linspace_cpu", [&]<class T>() {
        T* p = out.data<T>();
        if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
            each_step<T, true>(c.scalar(0).to<T>(), c.scalar(1).to<T>(), steps, [&](int64_t i, T v) { p[i] = v; });
        } else if constexpr (std::is_integral_v<T>) {
            T start = c.scalar(0).to<T>(), end = c.scalar(1).to<T>();
            each_step<double, true>(static_cast<double>(start), static_cast<double>(end), steps,
                                    [&](int64_t i, double v) { p[i] = static_cast<T>(v); });
        } else {
            using Acc = opmath_t<T>;
            Acc start = static_cast<Acc>(c.scalar(0).to<T>()), end = static_cast<Acc>(c.scalar(1).to<T>());
            each_step<Acc, true>(start, end, steps, [&](int64_t i, Acc v) { p[i] = T(v); });
        }
    });
}

void logspace_cpu(Call& c) {
    Tensor& out = c.out();
    int64_t steps = c.integer(2);
    double base = c.real(3);
    if (steps == 0) return;
    visit(NumberTypes{}, out.dtype, "logspace_cpu", [&]<class T>() {
        T* p = out.data<T>();
        if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
            using Real = typename T::value_type;
            each_step<T, false>(c.scalar(0).to<T>(), c.scalar(1).to<T>(), steps,
                                [&](int64_t i, T v) { p[i] = std::pow(T(static_cast<Real>(base)), v); });
        } else if constexpr (std::is_integral_v<T>) {
            double start = static_cast<double>(c.scalar(0).to<T>()), end = static_cast<double>(c.scalar(1).to<T>());
            each_step<double, false>(start, end, steps,
                                     [&](int64_t i, double v) { p[i] = static_cast<T>(std::pow(base, v)); });
        } else {
            using Acc = opmath_t<T>;
            Acc start = static_cast<Acc>(c.scalar(0).to<T>()), end = static_cast<Acc>(c.scalar(1).to<T>());
            each_step<Acc, false>(start, end, steps, [&](int64_t i, Acc v) {
                p[i] = T(static_cast<Acc>(std::pow(static_cast<Acc>(base), v)));
            });
        }
    });
}

// ---- identity ----

// rule("eye", "n", "m" or nothing, "dtype"): the last word is dtype
void eye_shape(ShapeCall& c) {
    int64_t n = c.integer(0), m = c.nparams == 3 ? c.integer(c.param(1)) : n;
    MT_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
    MT_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
    int64_t sizes[2] = {n, m};
    c.output(0, IntSpan(sizes, 2), c.dtype_or(c.param(c.nparams - 1), default_dtype()));
}

void eye_cpu(Call& c) {
    Tensor& out = c.out();
    fill_zero(c);
    int64_t side = std::min(out.size(0), out.size(1));
    int64_t step = out.stride(0) + out.stride(1);
    TensorRef diagonal = as_strided(out, IntSpan(&side, 1), IntSpan(&step, 1), out.offset);
    fill(*diagonal, Value::of(int64_t(1)));
}

// ---- complex numbers from two tensors ----

void complex_pair_shape(ShapeCall& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    bool fits = a.dtype == DType::Float32 || a.dtype == DType::Float64 || a.dtype == DType::Float16;
    MT_CHECK(fits && (b.dtype == DType::Float32 || b.dtype == DType::Float64 || b.dtype == DType::Float16),
             "Expected both inputs to be Half, Float or Double tensors but got ", dtype_class_name(a.dtype), " and ",
             dtype_class_name(b.dtype));
    MT_CHECK(a.dtype == b.dtype, "Expected object of scalar type ", dtype_class_name(a.dtype), " but got scalar type ",
             dtype_class_name(b.dtype), " for second argument");
    c.output(0, broadcast_sizes(a.sizes(), b.sizes()), to_complex(a.dtype));
}

template <bool Polar>
void complex_pair_cpu(Call& c) {
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    Tensor& out = c.out();
    Dims sa = broadcast_strides(a, out.dim()), sb = broadcast_strides(b, out.dim());
    StridedWalk<3> walk(out.sizes(), {out.strides(), IntSpan(sa), IntSpan(sb)});
    visit(PlainFloatTypes{}, a.dtype, c.name(), [&]<class T>() {
        const T *pa = a.data<T>(), *pb = b.data<T>();
        std::complex<T>* po = out.data<std::complex<T>>();
        walk.run_parallel([&](const auto& at, int64_t n, const auto& steps) {
            for (int64_t i = 0; i < n; i++) {
                T x = pa[at[1] + i * steps[1]], y = pb[at[2] + i * steps[2]];
                po[at[0] + i * steps[0]] =
                    Polar ? std::complex<T>(x * std::cos(y), x * std::sin(y)) : std::complex<T>(x, y);
            }
        });
    });
}

KERNELS
{
    shape("factory", factory_shape);
    shape("factory_like", factory_like_shape);
    shape("factory_new", factory_new_shape);
    shape("full", full_shape);
    shape("scalar_tensor", scalar_tensor_shape);
    shape("empty_strided", empty_strided_shape);
    shape("new_empty_strided", new_empty_strided_shape);
    shape("empty_permuted", empty_permuted_shape);
    structured("empty.memory_format", uninitialised);
    structured("empty_like", uninitialised);
    structured("empty_strided", uninitialised);
    structured("empty_permuted", uninitialised);
    structured("new_empty", uninitialised);
    structured("new_empty_strided", uninitialised);
    structured("zeros", fill_zero);
    structured("zeros_like", fill_zero);
    structured("new_zeros", fill_zero);
    structured("ones", fill_one);
    structured("ones_like", fill_one);
    structured("new_ones", fill_one);
    structured("full", fill_with<1>);
    structured("full_like", fill_with<1>);
    structured("new_full", fill_with<2>);
    structured("scalar_tensor", fill_with<0>);
    shape("arange", arange_shape<1>);
    shape("arange.start", arange_shape<2>);
    shape("arange.start_step", arange_shape<3>);
    structured("arange", arange_cpu<1>, kContiguousOutputs);
    structured("arange.start", arange_cpu<2>, kContiguousOutputs);
    structured("arange.start_step", arange_cpu<3>, kContiguousOutputs);
    shape("steps", steps_shape);
    structured("linspace", linspace_cpu, kContiguousOutputs);
    structured("logspace", logspace_cpu, kContiguousOutputs);
    shape("eye", eye_shape);
    structured("eye", eye_cpu);
    structured("eye.m", eye_cpu);
    shape("complex_pair", complex_pair_shape);
    structured("complex", complex_pair_cpu<false>);
    structured("polar", complex_pair_cpu<true>);
}

}  // namespace
}  // namespace mt
