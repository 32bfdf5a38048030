// Products of few rows with weights of few bits: the weight is read once, in its own form, and decoded in registers.
// With many rows the weight is decoded a piece at a time for a library's product.
#include <algorithm>
#include <utility>
#include <vector>

#include "convert.h"
#include "core/typed_kernel.h"
#include "gemm.h"
#include "narrow.h"
#include "packed_bytes.h"
#include "packed_dots.h"
#include "packed_words.h"

namespace mt {
namespace {

using packed::kPart;
using packed::kRegisters;
using packed::Vectors;
using packed::Whole;
using packed::Words;
using simd::kLanes;
using simd::Vec;

constexpr int64_t kFewVectors = 16;  // up to here the weight is decoded in registers, once for kMostVectors of them
constexpr int kMostVectors = 4;
constexpr int64_t kPieceRows = 512;  // of a weight that is decoded for a product

using Sums = float[kMostVectors];

// So many rows of the weight at a time.
template <class In>
constexpr int kRowsAtOnce = 1;

// The sums of `row`, or of it and another, with V vectors from the `first` on.
template <int V, class F, class In>
void sums_of(const F& weight, const In& in, int64_t first, int64_t row, int64_t, Sums* to, int64_t at) {
    packed::one_row<V>(weight, in, first, row, to[0] + at);
}
#if defined(__ARM_FEATURE_DOTPROD)
template <>
constexpr int kRowsAtOnce<packed::DotVectors> = 2;
template <int V, class F>
void sums_of(const F& weight, const packed::DotVectors& in, int64_t first, int64_t row, int64_t other, Sums* to,
             int64_t at) {
    packed::two_rows<V>(weight, in, first, row, other, to[0] + at, to[1] + at);
}
#endif

// The same with `count` vectors, at most kMostVectors.
template <class F, class In>
void rows_of(const F& weight, const In& in, int64_t first, int64_t count, int64_t row, int64_t other, Sums* to) {
    if (count == 4) return sums_of<4>(weight, in, first, row, other, to, 0);
    if (count >= 2) sums_of<2>(weight, in, first, row, other, to, 0);
    if (count % 2) sums_of<1>(weight, in, first + count - 1, row, other, to, count - 1);
}

template <class F>
void decode_row(const F& weight, int64_t row, int64_t terms, float* to) {
    constexpr int kParts = F::kParts, kBlock = kPart * kParts, kScales = kBlock / F::kPer;
    int64_t b = 0;
    for (; b < terms / kBlock; b++) {
        const auto* from = weight.at(row, b);
        const packed::Scales<kScales> s = weight.scales(row, b, from);
        auto part = [&]<int k>(std::integral_constant<int, k>) {
            Words q[kRegisters];
            weight.template part<k>(from, q);
            int16_t whole[kPart];
            std::memcpy(whole, q, sizeof whole);
            for (int i = 0; i < kPart; i += kLanes) {
                Whole narrow;
                std::memcpy(&narrow, whole + i, sizeof narrow);
                const int of = (k * kPart + i) / F::kPer;
                simd::store(to + k * kPart + i,
                            simd::fma(__builtin_convertvector(narrow, Vec), simd::splat(s.scale[of]),
                                      simd::splat(packed::item(s.offset, of))));
            }
        };
        [&]<int... k>(std::integer_sequence<int, k...>) {
            (part(std::integral_constant<int, k>()), ...);
        }(std::make_integer_sequence<int, kParts>());
        to += kBlock;
    }
    if constexpr (kParts == 2 && F::kPer == kPart) {
        if (terms % kBlock == 0) return;
        float scale, offset;
        weight.of_group(row, 2 * b >> weight.shift, &scale, &offset);
        for (int i = 0; i < 32; i++) {
            const int both = weight.at(row, b)[i % 16];
            to[i] = static_cast<float>(i < 16 ? both & 15 : both >> 4) * scale + offset;
        }
    }
}

// The rows [begin, end) of a weight, a tile at a time.
template <class F, class Body>
void each_tile(F weight, int64_t begin, int64_t end, const Body& body) {
    std::vector<float> memory;
    for (int64_t next; begin < end; begin = next) {
        const int64_t first = begin / packed::kTile * packed::kTile;
        next = std::min(end, first + packed::kTile);
        weight.begin(first, memory);
        body(weight, begin, next);
    }
}

// The products with few vectors: `in` is what sums_of() reads of them.
template <class F, class In>
void few(Tensor& y, const Vectors& x, const In& in, int64_t rows, const F& weight, const float* scales) {
    constexpr int64_t kRows = kRowsAtOnce<In>;
    visit(Types<float, BFloat16, Half>{}, y.dtype, "packed product", [&]<class T>() {
        T* to = y.data<T>();
        parallel_for(rows, grain_for(x.terms), [&](int64_t begin, int64_t end) {
            std::vector<float> offsets;
            // A tile stays in the cache until each group of vectors has read it.
            each_tile(weight, begin, end, [&](const F& tile, int64_t top, int64_t bottom) {
                offsets.assign(static_cast<size_t>(x.count * packed::kTile), 0.0f);
                if constexpr (F::kTileOffset)
                    for (int64_t v = 0; v < x.count; v++)
                        tile.add_offsets(x.sums.data() + v * x.parts, x.parts, offsets.data() + v * packed::kTile);
                for (int64_t first = 0; first < x.count; first += kMostVectors)
                    for (int64_t row = top; row < bottom; row += kRows) {
                        Sums found[kRows];
                        const int64_t some = std::min<int64_t>(kMostVectors, x.count - first);
                        rows_of(tile, in, first, some, row, std::min(row + 1, bottom - 1), found);
                        for (int64_t n = row; n < std::min(row + kRows, bottom); n++) {
                            float* sums = found[n - row];
                            for (int64_t v = 0; v < some; v++)
                                sums[v] +=
                                    offsets[static_cast<size_t>((first + v) * packed::kTile + n % packed::kTile)];
                            for (int64_t v = 0; v < some; v += x.each) {
                                const float sum = x.each == 2 ? sums[v] + sums[v + 1] : sums[v];
                                to[(first + v) / x.each * rows + n] = T(scales ? sum * scales[n] : sum);
                            }
                        }
                    }
            });
        });
    });
}

// y[r][n] = x[r] . weight[n], times scales[n] where there are any; y is contiguous.
template <class F>
void multiply(Tensor& y, const Tensor& given_x, int64_t rows, int64_t terms, const F& weight, const float* scales) {
    TensorRef x = contiguous(given_x);
    if (y.numel() == 0) return;
    if (terms == 0) {  // sums of nothing
        std::memset(y.raw(), 0, static_cast<size_t>(y.numel() * y.itemsize()));
        return;
    }
    const int64_t count = x->numel() / terms;
    if (count * Vectors::for_each_row(x->dtype) <= kFewVectors) {
        const Vectors in(*x, terms, F::kPer);
#if defined(__AVX512BW__)
        using How = packed::ByBytes<F>;
        if constexpr (How::kThere)
            if (packed::multiplies_bytes() && terms % How::kChunk == 0)
                return few(y, in, packed::ByteVectors::of<How>(in), rows, weight, scales);
#endif
#if defined(__ARM_FEATURE_DOTPROD)
        return few(y, in, packed::DotVectors(in), rows, weight, scales);
#endif
        return few(y, in, in, rows, weight, scales);
    }
    // bfloat16 as it is where the processor multiplies it: the weight is rounded to it then.
    const DType dtype = y.dtype == DType::BFloat16 && multiplies_bfloat16() ? DType::BFloat16 : DType::Float32;
    TensorRef given = contiguous(*x, dtype), piece = empty({kPieceRows, terms}, dtype);
    // oneDNN is slow where the rows of a result are apart: each piece's result stands by itself first.
    TensorRef result = rows <= kPieceRows && y.dtype == dtype ? TensorRef::share(&y)
                                                              : empty({count, std::min(rows, kPieceRows)}, dtype);
    for (int64_t top = 0; top < rows; top += kPieceRows) {
        const int64_t some = std::min(kPieceRows, rows - top);
        parallel_for(some, grain_for(terms), [&](int64_t begin, int64_t end) {
            std::vector<float> one(static_cast<size_t>(dtype == DType::Float32 ? 0 : terms));
            each_tile(weight, top + begin, top + end, [&](const F& tile, int64_t first, int64_t last) {
                for (int64_t n = first; n < last; n++) {
                    const int64_t at = (n - top) * terms;
                    float* row = dtype == DType::Float32 ? piece->data<float>() + at : one.data();
                    decode_row(tile, n, terms, row);
                    if (scales)
                        for (int64_t i = 0; i < terms; i++) row[i] *= scales[n];
                    if (dtype != DType::Float32) narrow(row, piece->data<BFloat16>() + at, terms);
                }
            });
        });
        Product p;
        p.dtype = dtype;
        p.m = count, p.n = some, p.k = terms;
        p.a = given->raw(), p.a_row = terms;
        p.b = piece->raw(), p.b_row = 1, p.b_col = terms;
        p.c = result->raw(), p.c_row = some;
        gemm(p, "packed product");
        if (result.get() == &y) return;
        for (int64_t r = 0; r < count; r++)
            cast_run(y.raw() + (r * rows + top) * y.itemsize(), y.itemsize(), y.dtype,
                     result->raw() + r * some * itemsize(dtype), itemsize(dtype), dtype, some);
    }
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
    check_x("_weight_int8pack_mm_cpu", self, terms, kPart);
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
    const int64_t columns = from->size(1);
    for (int64_t row = 0; row < from->size(0); row++)
        for (int64_t left = columns; left > 0;) {
            const int64_t half = left >= 64 ? 32 : 16;
            for (int64_t i = 0; i < half; i++) to[i] = static_cast<uint8_t>((x[i] & 15) | (x[i + half] & 15) << 4);
            x += 2 * half, to += half, left -= 2 * half;
        }
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
    auto with = [&]<int kOf>(std::integral_constant<int, kOf>) {
        multiply(out, self, rows, bytes * 2,
                 packed::Groups4<kOf>{mat2.data<uint8_t>(), bytes, rows, shift, pairs.get()}, nullptr);
    };
    if (group == 32)
        with(std::integral_constant<int, 32>());
    else if (group == 64)
        with(std::integral_constant<int, 64>());
    else
        with(std::integral_constant<int, 128>());
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
        columns = packed.size(1) / F::kBytes * (kPart * F::kParts);
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
        check_x("packed_linear", self, columns, (kPart * F::kParts));
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
            for (int64_t n = begin; n < end; n++) decode_row(weight, n, columns, to + n * columns);
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
