// Products of few rows with weights of few bits: the weight is read once, in its own form, and decoded in registers.
// With many rows the weight is decoded a piece at a time for a library's product.
#include "packed_weight.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/typed_kernel.h"
#include "gemm.h"
#include "narrow.h"

namespace mt {
namespace {

using simd::kLanes;
using simd::Vec;

constexpr int64_t kFewRows = 16;     // of x: up to here the weight is decoded once for each four of them
constexpr int64_t kAhead = 4096;     // bytes: what memory is asked for before it is read
constexpr int64_t kPieceRows = 128;  // of a weight that is decoded for a product

// Rows of x as float, and the sums of their parts.
struct Vectors {
    int64_t count, terms, parts;
    std::vector<float> x, sums;
    Vectors(const Tensor& t, int64_t terms, int64_t part, bool with_sums)
        : count(t.numel() / std::max<int64_t>(1, terms)), terms(terms), parts(terms / part) {
        x.resize(static_cast<size_t>(count * terms));
        visit(Types<float, BFloat16, Half>{}, t.dtype, "packed product",
              [&]<class T>() { widen(t.data<T>(), x.data(), count * terms); });
        if (!with_sums) return;
        sums.resize(static_cast<size_t>(count * parts));
        for (int64_t p = 0; p < count * parts; p++) {
            float s = 0;
            for (int64_t i = 0; i < part; i++) s += x[static_cast<size_t>(p * part + i)];
            sums[static_cast<size_t>(p)] = s;
        }
    }
};

// The sums of one row of the weight with V vectors.
template <int V, class F>
void one_row(const F& weight, const Vectors& in, int64_t first, int64_t row, float* to) {
    constexpr int kRegisters = F::kPart / kLanes, kParts = F::kParts;
    // Adding up takes as long as some products: several sums at a time, of short blocks from several of them.
    constexpr int kSums = V == 1 ? 4 : 2, kBlocks = kParts == 1 ? 4 : 1;
    const float* x = in.x.data() + first * in.terms;
    const float* sums = F::kOffset ? in.sums.data() + first * in.parts : nullptr;
    Vec all[V][kSums] = {};
    float offsets[V][kBlocks * kParts] = {};
    auto block = [&](int64_t b, auto which) {
        constexpr int kWhich = decltype(which)::value;
        const auto* from = weight.at(row, b);
        for (int64_t ahead = 0; ahead < weight.at(0, 1) - weight.at(0, 0); ahead += 64)
            __builtin_prefetch(from + kAhead + ahead);
        const packed::Scales<kParts> s = weight.scales(row, b, from);
        auto part = [&](auto number) {
            constexpr int k = decltype(number)::value, own = (kWhich + k) % kSums;
            Vec q[kRegisters];
            weight.template part<k>(from, q);
            for (int v = 0; v < V; v++) {
                const float* at = x + v * in.terms + (b * kParts + k) * F::kPart;
                if constexpr (F::kScaled) {
                    Vec sum = q[0] * simd::load(at);
                    for (int i = 1; i < kRegisters; i++) sum = simd::fma(q[i], simd::load(at + i * kLanes), sum);
                    all[v][own] = simd::fma(simd::splat(s.scale[k]), sum, all[v][own]);
                } else {
                    for (int i = 0; i < kRegisters; i++)
                        all[v][(own + i) % kSums] =
                            simd::fma(q[i], simd::load(at + i * kLanes), all[v][(own + i) % kSums]);
                }
            }
        };
        [&]<int... k>(std::integer_sequence<int, k...>) {
            (part(std::integral_constant<int, k>()), ...);
        }(std::make_integer_sequence<int, kParts>());
        if constexpr (F::kOffset)
            for (int v = 0; v < V; v++)
                for (int k = 0; k < kParts; k++)
                    offsets[v][kWhich * kParts + k] += s.offset[k] * sums[v * in.parts + b * kParts + k];
    };
    const int64_t blocks = in.parts / kParts;
    int64_t b = 0;
    for (; b + kBlocks <= blocks; b += kBlocks)
        [&]<int... k>(std::integer_sequence<int, k...>) {
            (block(b + k, std::integral_constant<int, k>()), ...);
        }(std::make_integer_sequence<int, kBlocks>());
    for (; b < blocks; b++) block(b, std::integral_constant<int, 0>());
    for (int v = 0; v < V; v++) {
        Vec sum = all[v][0];
        for (int s = 1; s < kSums; s++) sum += all[v][s];
        float offset = 0;
        for (float o : offsets[v]) offset += o;
        to[v] = simd::sum(sum) + offset;
    }
}

template <class F>
void rows_of(const F& weight, const Vectors& in, int64_t first, int64_t count, int64_t row, float* to) {
    switch (count) {
        case 1:
            return one_row<1>(weight, in, first, row, to);
        case 2:
            return one_row<2>(weight, in, first, row, to);
        case 3:
            return one_row<3>(weight, in, first, row, to);
        default:
            return one_row<4>(weight, in, first, row, to);
    }
}

template <class F>
void decode_row(const F& weight, int64_t row, int64_t parts, float* to) {
    for (int64_t b = 0; b < parts / F::kParts; b++) {
        const auto* from = weight.at(row, b);
        const packed::Scales<F::kParts> s = weight.scales(row, b, from);
        [&]<int... k>(std::integer_sequence<int, k...>) {
            auto part = [&]<int n>(std::integral_constant<int, n>) {
                Vec q[F::kPart / kLanes];
                weight.template part<n>(from, q);
                for (int i = 0; i < F::kPart / kLanes; i++)
                    simd::store(to + n * F::kPart + i * kLanes,
                                simd::fma(q[i], simd::splat(s.scale[n]), simd::splat(s.offset[n])));
            };
            (part(std::integral_constant<int, k>()), ...);
        }(std::make_integer_sequence<int, F::kParts>());
        to += F::kPart * F::kParts;
    }
}

// y[r][n] = x[r] . weight[n], times scales[n] where there are any; y is contiguous.
template <class F>
void multiply(Tensor& y, const Tensor& given_x, int64_t rows, int64_t terms, const F& weight, const float* scales) {
    TensorRef x = contiguous(given_x);
    const int64_t count = x->numel() / std::max<int64_t>(1, terms), parts = terms / F::kPart;
    if (y.numel() == 0) return;
    if (count <= kFewRows) {
        const Vectors in(*x, terms, F::kPart, F::kOffset);
        visit(Types<float, BFloat16, Half>{}, y.dtype, "packed product", [&]<class T>() {
            T* to = y.data<T>();
            parallel_for(rows, grain_for(terms), [&](int64_t begin, int64_t end) {
                // So many rows at a time as stay in the cache until each group of vectors has read them.
                const int64_t piece = count <= 4 ? end - begin : std::max<int64_t>(1, (1 << 17) / terms);
                for (int64_t top = begin; top < end; top += piece)
                    for (int64_t first = 0; first < count; first += 4)
                        for (int64_t n = top; n < std::min(end, top + piece); n++) {
                            float sums[4];
                            const int64_t some = std::min<int64_t>(4, count - first);
                            rows_of(weight, in, first, some, n, sums);
                            for (int64_t v = 0; v < some; v++)
                                to[(first + v) * rows + n] = T(scales ? sums[v] * scales[n] : sums[v]);
                        }
            });
        });
        return;
    }
    TensorRef wide = contiguous(*x, DType::Float32), piece = empty({kPieceRows, terms}, DType::Float32);
    TensorRef result = y.dtype == DType::Float32 ? TensorRef::share(&y) : empty(y.sizes(), DType::Float32);
    for (int64_t top = 0; top < rows; top += kPieceRows) {
        const int64_t some = std::min(kPieceRows, rows - top);
        float* decoded = piece->data<float>();
        parallel_for(some, grain_for(terms), [&](int64_t begin, int64_t end) {
            for (int64_t n = begin; n < end; n++) {
                decode_row(weight, top + n, parts, decoded + n * terms);
                if (scales)
                    for (int64_t i = 0; i < terms; i++) decoded[n * terms + i] *= scales[top + n];
            }
        });
        Product p;
        p.dtype = DType::Float32;
        p.m = count, p.n = some, p.k = terms;
        p.a = wide->raw(), p.a_row = terms;
        p.b = decoded, p.b_row = 1, p.b_col = terms;
        p.c = result->data<float>() + top, p.c_row = rows;
        gemm(p, "packed product");
    }
    if (result.get() != &y) copy_into(y, *result);
}

void check_x(const char* name, const Tensor& x, int64_t terms, int64_t part) {
    MT_CHECK(x.dtype == DType::Float32 || is_reduced_float(x.dtype), name,
             " : expect A to be either 32-bit or 16-bit float tensor.");
    MT_CHECK(x.ndim > 0 && x.size(x.ndim - 1) == terms, name, ": the weight has ", terms,
             " columns, but the input's last dimension does not: ", x.sizes());
    MT_CHECK(terms % part == 0, name, ": the number of columns must be a multiple of ", part, ", got ", terms);
}

// ---- PyTorch's int8 and int4 weights ----

void int8_shape(ShapeCall& c, const Tensor& self, const Tensor& mat2, const Tensor& scales) {
    const char* name = "_weight_int8pack_mm_cpu";
    MT_CHECK(self.ndim == 2, name, " : expect A to be 2D tensor.");
    MT_CHECK(mat2.dtype == DType::Int8, name, " : expect B to be int8 tensor.");
    MT_CHECK(mat2.ndim == 2 && mat2.is_contiguous() && mat2.size(1) == self.size(1), name,
             " : expect B.size(1) == ", self.size(1));
    MT_CHECK(scales.ndim == 1 && scales.size(0) == mat2.size(0), name, " : expect scales to be 1d tensor with size ",
             mat2.size(0));
    c.output(0, {self.size(0), mat2.size(0)}, self.dtype);
}
void int8_cpu(Out out, const Tensor& self, const Tensor& mat2, const Tensor& scales) {
    const int64_t terms = mat2.size(1);
    check_x("_weight_int8pack_mm_cpu", self, terms, packed::RowBytes::kPart);
    TensorRef wide = contiguous(scales, DType::Float32);
    multiply(out, self, mat2.size(0), terms, packed::RowBytes{mat2.data<int8_t>(), terms}, wide->data<float>());
}

void pack_int4_shape(ShapeCall& c, const Tensor& self) {
    const char* name = "_convert_weight_to_int4pack_cpu";
    MT_CHECK(self.ndim == 2, name, " : expect weight to be 2D tensor.");
    MT_CHECK(self.dtype == DType::Int32, name, " : expect weight to be kInt.");
    MT_CHECK(self.size(0) % 16 == 0, name, " : expect N to be dividable by 16");
    MT_CHECK(self.size(1) % 32 == 0, name, " : expect K to be dividable by 32, got ", self.sizes());
    c.output(0, {self.size(0), self.size(1) / 2}, DType::UInt8);
}
void pack_int4_cpu(Out out, const Tensor& self, int64_t) {
    TensorRef from = contiguous(self);
    const int32_t* x = from->data<int32_t>();
    uint8_t* to = out->data<uint8_t>();
    for (int64_t g = 0; g < from->numel() / 32; g++, x += 32, to += 16)
        for (int i = 0; i < 16; i++) to[i] = static_cast<uint8_t>((x[i] & 15) | (x[i + 16] & 15) << 4);
}

void int4_shape(ShapeCall& c, const Tensor& self, const Tensor& mat2, int64_t group, const Tensor& scales) {
    const char* name = "_weight_int4pack_mm_cpu";
    MT_CHECK(self.ndim == 2, name, " : expect A to be 2D tensor.");
    MT_CHECK(mat2.dtype == DType::UInt8, name, " : expect B to be uint8 tensor.");
    MT_CHECK(mat2.ndim == 2 && mat2.is_contiguous() && mat2.size(1) * 2 == self.size(1), name,
             " : expect B to have half as many columns as A, got ", mat2.sizes(), " for ", self.sizes());
    MT_CHECK(group == 32 || group == 64 || group == 128 || group == 256, name,
             ": expect qGroupSize to be 32, 64, 128 or 256, got ", group);
    MT_CHECK(scales.ndim == 3 && scales.size(1) == mat2.size(0) && scales.size(2) == 2 &&
                 scales.size(0) * group == self.size(1),
             name, ": expect qScaleAndZeros to be 3d tensor with sizes [", self.size(1) / group, ", ", mat2.size(0),
             ", 2]");
    c.output(0, {self.size(0), mat2.size(0)}, self.dtype);
}
void int4_cpu(Out out, const Tensor& self, const Tensor& mat2, int64_t group, const Tensor& scales) {
    check_x("_weight_int4pack_mm_cpu", self, mat2.size(1) * 2, 32);
    const int64_t rows = mat2.size(0), bytes = mat2.size(1);
    int64_t shift = 0;
    while (32 << shift < group) shift++;
    TensorRef pairs = contiguous(scales);
    visit(Types<float, BFloat16, Half>{}, scales.dtype, "_weight_int4pack_mm_cpu", [&]<class T>() {
        const packed::Groups4<T> weight{mat2.data<uint8_t>(), bytes, rows, shift, pairs->data<T>()};
        multiply(out, self, rows, bytes * 2, weight, nullptr);
    });
}

// ---- blocks of GGUF files ----

template <class First, class... Rest, class F>
bool with_format(std::string_view format, const std::string_view* names, const F& f) {
    if (format == *names) {
        f.template operator()<First>();
        return true;
    }
    if constexpr (sizeof...(Rest) > 0) return with_format<Rest...>(format, names + 1, f);
    return false;
}
template <class F>
void with_format(std::string_view format, const F& f) {
    static constexpr std::string_view names[] = {"Q8_0", "Q4_0", "Q4_K", "Q6_K"};
    MT_CHECK_VALUE((with_format<packed::Q8_0, packed::Q4_0, packed::Q4_K, packed::Q6_K>(format, names, f)),
                   "packed weights: no format is called '", std::string(format),
                   "'; there are Q8_0, Q4_0, Q4_K and Q6_K");
}

int64_t columns_of(const Tensor& packed, std::string_view format) {
    MT_CHECK(packed.ndim == 2 && packed.dtype == DType::UInt8, "packed weights are a matrix of uint8, got ",
             packed.sizes(), " of ", dtype_name(packed.dtype));
    int64_t columns = 0;
    with_format(format, [&]<class F>() {
        MT_CHECK(packed.size(1) % F::kBytes == 0, "rows of ", std::string(format), " are blocks of ", F::kBytes,
                 " bytes; these have ", packed.size(1), " bytes");
        columns = packed.size(1) / F::kBytes * (F::kPart * F::kParts);
    });
    return columns;
}

void linear_packed_shape(ShapeCall& c, const Tensor& self, const Tensor& packed, std::string_view format) {
    const int64_t columns = columns_of(packed, format);
    MT_CHECK(self.ndim > 0 && self.size(self.ndim - 1) == columns, "packed_linear: the weight has ", columns,
             " columns, but the input's sizes are ", self.sizes());
    Dims sizes(self.sizes());
    sizes[self.ndim - 1] = packed.size(0);
    c.output(0, sizes, self.dtype);
}
void linear_packed_cpu(Out out, const Tensor& self, const Tensor& given, std::string_view format) {
    TensorRef weight = contiguous(given);
    const int64_t columns = columns_of(*weight, format);
    with_format(format, [&]<class F>() {
        check_x("packed_linear", self, columns, (F::kPart * F::kParts));
        multiply(out, self, weight->size(0), columns, F{{weight->data<uint8_t>(), weight->size(1)}}, nullptr);
    });
}

void unpack_shape(ShapeCall& c, const Tensor& packed, std::string_view format) {
    c.output(0, {packed.size(0), columns_of(packed, format)}, DType::Float32);
}
void unpack_cpu(Out out, const Tensor& given, std::string_view format) {
    TensorRef packed = contiguous(given);
    const int64_t columns = columns_of(*packed, format);
    float* to = out->data<float>();
    with_format(format, [&]<class F>() {
        const F weight{{packed->data<uint8_t>(), packed->size(1)}};
        parallel_for(packed->size(0), grain_for(columns), [&](int64_t begin, int64_t end) {
            for (int64_t n = begin; n < end; n++) decode_row(weight, n, columns / F::kPart, to + n * columns);
        });
    });
}

}  // namespace

KERNELS
{
    shape<int8_shape>("weight_int8pack_mm");
    structured<int8_cpu>("_weight_int8pack_mm", kContiguousOutputs);
    shape<pack_int4_shape>("int4pack");
    structured<pack_int4_cpu>("_convert_weight_to_int4pack_for_cpu", kContiguousOutputs);
    shape<int4_shape>("weight_int4pack_mm");
    structured<int4_cpu>("_weight_int4pack_mm_for_cpu", kContiguousOutputs);
    shape<linear_packed_shape>("packed_linear");
    structured<linear_packed_cpu>("packed_linear", kContiguousOutputs);
    shape<unpack_shape>("packed_unpack");
    structured<unpack_cpu>("packed_unpack", kContiguousOutputs);
}

}  // namespace mt
