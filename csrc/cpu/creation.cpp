// New tensors: constants, ranges, identity, and complex numbers from their parts.
#include <cmath>
#include <limits>

#include "core/number_fits.h"
#include "core/typed_kernel.h"
#include "core/uninitialised.h"
#include "cpu/memory_format.h"
#include "cpu/strided_walk.h"

namespace mt {
namespace {

void check_sizes(IntSpan sizes) {
    for (int64_t s : sizes) MT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
}

// rule("factory", "size", "dtype"[, "memory_format"]): sizes as given, default dtype
void factory_shape(ShapeCall& c, IntSpan sizes, std::optional<DType> given_dtype,
                   std::optional<MemoryFormat> memory_format) {
    if (std::string_view(c.name()) == "zeros")
        for (int64_t s : sizes) MT_CHECK(s >= 0, "zeros: Dimension size must be non-negative.");
    check_sizes(sizes);
    DType dtype = given_dtype.value_or(default_dtype());
    MemoryFormat format = memory_format ? memory_format.value_or(MemoryFormat::Contiguous) : MemoryFormat::Contiguous;
    check_format_rank(format, sizes.size);
    MT_CHECK(format != MemoryFormat::Preserve, "Unsupported memory format option Preserve");
    if (format != MemoryFormat::Contiguous) return c.output_strided(0, sizes, channels_last_strides(sizes), dtype);
    c.output(0, sizes, dtype);
}

// rule("factory_of_integers", "size", "dtype"): int64 if none is given
void factory_of_integers_shape(ShapeCall& c, IntSpan sizes, std::optional<DType> dtype) {
    check_sizes(sizes);
    c.output(0, sizes, dtype.value_or(DType::Int64));
}

// rule("factory_like", "self", "dtype", "memory_format")
void factory_like_shape(ShapeCall& c, const Tensor& self, std::optional<DType> given_dtype,
                        std::optional<MemoryFormat> memory_format) {
    DType dtype = given_dtype.value_or(self.dtype);
    MemoryFormat format = memory_format.value_or(MemoryFormat::Preserve);
    check_format_rank(format, self.ndim);
    if (format == MemoryFormat::Preserve) return c.output_like(0, self, dtype);
    if (format == MemoryFormat::Contiguous) return c.output(0, self.sizes(), dtype);
    c.output_strided(0, self.sizes(), channels_last_strides(self.sizes()), dtype);
}

// rule("factory_new", "self", "size", "dtype"): dtype and device of self
void factory_new_shape(ShapeCall& c, const Tensor& self, IntSpan sizes, std::optional<DType> dtype) {
    check_sizes(sizes);
    c.output(0, sizes, dtype.value_or(self.dtype));
}

// rule("full", "size", "fill_value", "dtype"): the number's own dtype
void full_shape(ShapeCall& c, IntSpan sizes, const Value& number, std::optional<DType> dtype) {
    check_sizes(sizes);
    // Complex numbers are of single precision here under every default dtype but double.
    const DType plain = number.tag != Tag::Complex          ? number.scalar_dtype()
                        : default_dtype() == DType::Float64 ? DType::Complex128
                                                            : DType::Complex64;
    c.output(0, sizes, dtype.value_or(plain));
}

void check_strides(IntSpan sizes, IntSpan strides) {
    check_sizes(sizes);
    MT_CHECK(sizes.size == strides.size, "dimensionality of sizes (", sizes.size,
             ") must match dimensionality of strides (", strides.size, ")");
    for (int64_t s : strides)
        MT_CHECK(s >= 0, "empty_strided(): Negative strides are not supported at the moment, got strides: ", strides);
}
void empty_strided_shape(ShapeCall& c, IntSpan size, IntSpan stride, std::optional<DType> dtype) {
    check_strides(size, stride);
    c.output_strided(0, size, stride, dtype.value_or(default_dtype()));
}
void new_empty_strided_shape(ShapeCall& c, const Tensor& self, IntSpan size, IntSpan stride,
                             std::optional<DType> dtype) {
    check_strides(size, stride);
    c.output_strided(0, size, stride, dtype.value_or(self.dtype));
}
void empty_permuted_shape(ShapeCall& c, IntSpan sizes, IntSpan order, std::optional<DType> dtype) {
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
    c.output_strided(0, sizes, strides, dtype.value_or(default_dtype()));
}

void scalar_tensor_shape(ShapeCall& c, Unread s, std::optional<DType> dtype) {
    c.output(0, IntSpan(), dtype.value_or(default_dtype()));
}

// Memory as it was found; with torch.use_deterministic_algorithms(True) a value that shows when it is read.
void uninitialised(Out out, RestUnread) {
    if (g_fill_uninitialised) fill_unread(*out);
}
void fill_zero(Out out, RestUnread) {
    if (out->is_non_overlapping_and_dense() && out->numel() > 0)
        std::memset(out->raw(), 0, static_cast<size_t>(out->numel() * out->itemsize()));
    else
        fill(out, Value::of(int64_t(0)));
}
void fill_one(Out out, RestUnread) { fill(out, Value::of(int64_t(1))); }
void scalar_tensor_cpu(Out out, const Value& given, RestUnread) {
    Value number = given;
    if (out->numel() == 1)
        number = as_element(out->dtype, number);
    else
        check_number_fits(out->dtype, number);
    fill(out, number);
}
void full_cpu(Out out, Unread size_or_self, const Value& fill_value, RestUnread) {
    scalar_tensor_cpu(out, fill_value, {});
}
void new_full_cpu(Out out, Unread self, Unread size, const Value& fill_value, RestUnread) {
    scalar_tensor_cpu(out, fill_value, {});
}

// ---- ranges ----

struct Range {
    Value start = Value::of(int64_t(0)), end, step = Value::of(int64_t(1));
};
void range_shape(ShapeCall& c, std::initializer_list<Input> given, Range r, std::optional<DType> asked) {
    check_numbers_fit(DType::Float64, given);
    bool integral = std::all_of(given.begin(), given.end(), [](const Input& x) {
        return x.number->tag != Tag::Double && x.number->tag != Tag::Complex;
    });
    DType dtype = asked.value_or(integral ? DType::Int64 : default_dtype());
    double start = r.start.as_double(), end = r.end.as_double(), step = r.step.as_double();
    MT_CHECK(step != 0, "step must be nonzero");
    MT_CHECK(std::isfinite(start) && std::isfinite(end), "unsupported range: ", start, " -> ", end);
    int64_t size;
    if (dtype == DType::Int64 || integral) {
        // In integers: a double cannot tell the largest ones apart.
        int64_t first = r.start.as_int(), last = r.end.as_int(), by = r.step.as_int();
        MT_CHECK_AS(Value, by != 0, "step must be nonzero");
        MT_CHECK((by > 0 && last >= first) || (by < 0 && last <= first),
                 "upper bound and lower bound inconsistent with step sign");
        if (dtype == DType::Int64) {
            const __int128 way = static_cast<__int128>(last) - first, rounding = by > 0 ? by - 1 : by + 1;
            size = static_cast<int64_t>((way + rounding) / by);
            MT_CHECK(size >= 0, "invalid size, possible overflow?");
        } else {
            size = static_cast<int64_t>(
                std::ceil((static_cast<double>(last) - static_cast<double>(first)) / static_cast<double>(by)));
        }
    } else {
        MT_CHECK((step > 0 && end >= start) || (step < 0 && end <= start),
                 "upper bound and lower bound inconsistent with step sign");
        double steps = std::ceil((end - start) / step);
        MT_CHECK(steps >= 0 && steps < 9.2e18, "invalid size, possible overflow?");
        size = static_cast<int64_t>(steps);
    }
    c.output(0, IntSpan(&size, 1), dtype);
}
void arange_shape(ShapeCall& c, const Value& end, std::optional<DType> dtype) {
    range_shape(c, {end}, {.end = end}, dtype);
}
void arange_start_shape(ShapeCall& c, const Value& start, const Value& end, std::optional<DType> dtype) {
    range_shape(c, {start, end}, {.start = start, .end = end}, dtype);
}
void arange_start_step_shape(ShapeCall& c, const Value& start, const Value& end, const Value& step,
                             std::optional<DType> dtype) {
    range_shape(c, {start, end, step}, {start, end, step}, dtype);
}

void count(Tensor& out, const Value& from, const Value& by) {
    int64_t n = out.numel();
    visit(RealTypes{}, out.dtype, "arange_cpu", [&]<class T>() {
        T* p = out.data<T>();
        if constexpr (std::is_integral_v<T>) {
            int64_t start = from.as_int(), step = by.as_int();
            parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; i++) p[i] = static_cast<T>(start + i * step);
            });
        } else {
            // PyTorch counts in pairs of registers of 32 bytes, from the rounded first number of each; what is left
            // over one by one.
            using Acc = std::conditional_t<std::is_same_v<T, opmath_t<T>>, double, opmath_t<T>>;
            const auto stored = [](Acc v) { return T(static_cast<opmath_t<T>>(v)); };
            constexpr int64_t width = 32 / sizeof(T);
            const Acc start = static_cast<Acc>(from.as_double()), step = static_cast<Acc>(by.as_double());
            const int64_t paired = n - n % (2 * width);
            parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; i++) {
                    const int64_t first = i < paired ? i - i % width : i;
                    const T base = stored(std::fma(step, static_cast<Acc>(first), start));
                    p[i] = first == i ? base
                                      : stored(std::fma(step, static_cast<Acc>(i - first),
                                                        static_cast<Acc>(static_cast<opmath_t<T>>(base))));
                }
            });
        }
    });
}
void arange_cpu(Out out, const Value& end, RestUnread) { count(out, Value::of(int64_t(0)), Value::of(int64_t(1))); }
void arange_start_cpu(Out out, const Value& start, const Value& end, RestUnread) {
    count(out, start, Value::of(int64_t(1)));
}
void arange_start_step_cpu(Out out, const Value& start, const Value& end, const Value& step, RestUnread) {
    count(out, start, step);
}

// rule("steps", "start", "end", "steps", "dtype"): `steps` numbers; complex ends give complex numbers
void steps_shape(ShapeCall& c, const Value& start, const Value& end, int64_t steps, std::optional<DType> dtype) {
    MT_CHECK(steps >= 0, "number of steps must be non-negative");
    bool complex = start.tag == Tag::Complex || end.tag == Tag::Complex;
    const DType asked = dtype.value_or(DType::Undefined);
    MT_CHECK(!complex || asked == DType::Undefined || is_complex(asked), "torch.", c.name(),
             "(): inferred dtype c10::complex<", default_dtype() == DType::Float64 ? "double" : "float",
             "> can't be safely cast to passed dtype ", dtype_class_name(asked));
    c.output(0, IntSpan(&steps, 1), dtype.value_or(complex ? to_complex(default_dtype()) : default_dtype()));
}

// Calls put(i, value) with the i-th of `steps` evenly spaced numbers: counted from the nearer end, so both ends are
// exact. `fused`: real ones are rounded once, as in PyTorch's linspace and not in its logspace. In 16-bit floats
// PyTorch rounds after each operation.
template <class T, bool fused, class Stored = T, class Put>
void each_step(T start, T end, int64_t steps, Put put) {
    if (steps == 1) return put(0, start);
    if constexpr (std::is_same_v<Stored, Half> || std::is_same_v<Stored, BFloat16>) {
        const auto rounded = [](float v) { return static_cast<float>(Stored(v)); };
        const float step = rounded(rounded(end - start) / rounded(static_cast<float>(steps - 1)));
        return parallel_for(steps, kGrain, [&](int64_t from, int64_t to) {
            for (int64_t i = from; i < to; i++) {
                const bool near_start = i < steps / 2;
                const float way = rounded(step * rounded(static_cast<float>(near_start ? i : steps - i - 1)));
                put(i, rounded(near_start ? start + way : end - way));
            }
        });
    }
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

void linspace_cpu(Out out, const Value& first, const Value& last, int64_t steps, RestUnread) {
    if (steps == 0) return;
    if (!is_bool(out->dtype)) check_numbers_fit(out->dtype, {first, last});
    visit(NumberTypes{}, out->dtype, "linspace_cpu", [&]<class T>() {
        T* p = out->data<T>();
        if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
            each_step<T, true>(first.to<T>(), last.to<T>(), steps, [&](int64_t i, T v) { p[i] = v; });
        } else if constexpr (std::is_integral_v<T>) {
            T start = first.to<T>(), end = last.to<T>();
            each_step<double, true>(static_cast<double>(start), static_cast<double>(end), steps,
                                    [&](int64_t i, double v) { p[i] = static_cast<T>(v); });
        } else {
            using Acc = opmath_t<T>;
            Acc start = static_cast<Acc>(first.to<T>()), end = static_cast<Acc>(last.to<T>());
            each_step<Acc, true, T>(start, end, steps, [&](int64_t i, Acc v) { p[i] = T(v); });
        }
    });
}

void logspace_cpu(Out out, const Value& first, const Value& last, int64_t steps, double base, RestUnread) {
    if (steps == 0) return;
    if (!is_bool(out->dtype)) check_numbers_fit(out->dtype, {first, last});
    visit(NumberTypes{}, out->dtype, "logspace_cpu", [&]<class T>() {
        T* p = out->data<T>();
        if constexpr (std::is_integral_v<T>) {  // one number begins where it was told to, several at an integer
            if (steps == 1) return void(p[0] = static_cast<T>(std::pow(base, first.as_double())));
        }
        if constexpr (std::is_same_v<T, c64> || std::is_same_v<T, c128>) {
            using Real = typename T::value_type;
            each_step<T, false>(first.to<T>(), last.to<T>(), steps,
                                [&](int64_t i, T v) { p[i] = std::pow(T(static_cast<Real>(base)), v); });
        } else if constexpr (std::is_integral_v<T>) {
            double start = static_cast<double>(first.to<T>()), end = static_cast<double>(last.to<T>());
            each_step<double, false>(start, end, steps,
                                     [&](int64_t i, double v) { p[i] = static_cast<T>(std::pow(base, v)); });
        } else {
            double start = static_cast<double>(first.to<T>()), end = static_cast<double>(last.to<T>());
            each_step<double, false>(
                start, end, steps, [&](int64_t i, double v) { p[i] = T(static_cast<opmath_t<T>>(std::pow(base, v))); });
        }
    });
}

// ---- identity ----

// Words: n, m (-1: as n), dtype.
void eye_shape(ShapeCall& c, int64_t n, std::optional<int64_t> given_m, std::optional<DType> dtype) {
    int64_t m = given_m.value_or(n);
    MT_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
    MT_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
    int64_t sizes[2] = {n, m};
    c.output(0, IntSpan(sizes, 2), dtype.value_or(default_dtype()));
}

void eye_cpu(Out out, RestUnread) {
    fill_zero(out, {});
    int64_t side = std::min(out->size(0), out->size(1));
    int64_t step = out->stride(0) + out->stride(1);
    TensorRef diagonal = as_strided(out, IntSpan(&side, 1), IntSpan(&step, 1), out->offset);
    fill(*diagonal, Value::of(int64_t(1)));
}

// ---- complex numbers from two tensors ----

void complex_pair_shape(ShapeCall& c, const Tensor& a, const Tensor& b) {
    bool fits = a.dtype == DType::Float32 || a.dtype == DType::Float64 || a.dtype == DType::Float16;
    MT_CHECK(fits && (b.dtype == DType::Float32 || b.dtype == DType::Float64 || b.dtype == DType::Float16),
             "Expected both inputs to be Half, Float or Double tensors but got ", dtype_class_name(a.dtype), " and ",
             dtype_class_name(b.dtype));
    MT_CHECK(a.dtype == b.dtype, "Expected object of scalar type ", dtype_class_name(a.dtype), " but got scalar type ",
             dtype_class_name(b.dtype), " for second argument");
    c.output(0, broadcast_sizes(a.sizes(), b.sizes()), to_complex(a.dtype));
}

template <bool Polar>
void complex_pair_cpu(Out out, const Tensor& a, const Tensor& b) {
    Dims sa = broadcast_strides(a, out->dim()), sb = broadcast_strides(b, out->dim());
    StridedWalk<3> walk(out->sizes(), {out->strides(), IntSpan(sa), IntSpan(sb)});
    using Parts = std::conditional_t<Polar, PlainFloatTypes, Types<float, double, Half>>;
    visit(Parts{}, a.dtype, Polar ? "polar_cpu" : "complex_cpu", [&]<class T>() {
        using Wide = std::conditional_t<std::is_same_v<T, Half>, float, T>;
        const T *pa = a.data<T>(), *pb = b.data<T>();
        T* po = reinterpret_cast<T*>(out->raw());  // pairs: complex32 has no type of its own
        walk.run_parallel([&](const auto& at, int64_t n, const auto& steps) {
            for (int64_t i = 0; i < n; i++) {
                Wide x = pa[at[1] + i * steps[1]], y = pb[at[2] + i * steps[2]];
                T* pair = po + 2 * (at[0] + i * steps[0]);
                pair[0] = static_cast<T>(Polar ? x * std::cos(y) : x);
                pair[1] = static_cast<T>(Polar ? x * std::sin(y) : y);
            }
        });
    });
}

KERNELS
{
    shape<factory_shape>("factory");
    shape<factory_of_integers_shape>("factory_of_integers");
    shape<factory_like_shape>("factory_like");
    shape<factory_new_shape>("factory_new");
    shape<full_shape>("full");
    shape<scalar_tensor_shape>("scalar_tensor");
    shape<empty_strided_shape>("empty_strided");
    shape<new_empty_strided_shape>("new_empty_strided");
    shape<empty_permuted_shape>("empty_permuted");
    structured<uninitialised>("empty.memory_format");
    structured<uninitialised>("empty_like");
    structured<uninitialised>("empty_strided");
    structured<uninitialised>("empty_permuted");
    structured<uninitialised>("new_empty");
    structured<uninitialised>("new_empty_strided");
    structured<fill_zero>("zeros");
    structured<fill_zero>("zeros_like");
    structured<fill_zero>("new_zeros");
    structured<fill_one>("ones");
    structured<fill_one>("ones_like");
    structured<fill_one>("new_ones");
    structured<full_cpu>("full");
    structured<full_cpu>("full_like");
    structured<new_full_cpu>("new_full");
    structured<scalar_tensor_cpu>("scalar_tensor");
    shape<arange_shape>("arange");
    shape<arange_start_shape>("arange.start");
    shape<arange_start_step_shape>("arange.start_step");
    structured<arange_cpu>("arange", kContiguousOutputs);
    structured<arange_start_cpu>("arange.start", kContiguousOutputs);
    structured<arange_start_step_cpu>("arange.start_step", kContiguousOutputs);
    shape<steps_shape>("steps");
    structured<linspace_cpu>("linspace", kContiguousOutputs);
    structured<logspace_cpu>("logspace", kContiguousOutputs);
    shape<eye_shape>("eye");
    structured<eye_cpu>("eye");
    structured<eye_cpu>("eye.m");
    shape<complex_pair_shape>("complex_pair");
    structured<complex_pair_cpu<false>>("complex");
    structured<complex_pair_cpu<true>>("polar");
}

}  // namespace
}  // namespace mt
