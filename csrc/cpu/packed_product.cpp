// Products of few rows with weights of few bits: the weight is read once, in its own form, and decoded in registers.
// With many rows the weight is decoded a piece at a time for a library's product.
#include "packed_weight.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/typed_kernel.h"
#include "gemm.h"
#include "narrow.h"

namespace mt {
namespace {

using packed::Ints;
using packed::kPart;
using packed::kRegisters;
using packed::kWords;
using packed::Words;
using simd::kLanes;
using simd::Vec;

constexpr int64_t kFewRows = 16;     // of x: up to here the weight is decoded once for each four vectors
constexpr int64_t kAhead = 4096;     // bytes: what memory is asked for before it is read
constexpr int64_t kPieceRows = 128;  // of a weight that is decoded for a product
constexpr int kStretch = 256;        // elements of x with one scale

// Rows of x as whole numbers of 16 bits, with a scale for each stretch: one vector for a row of 16-bit floats, which
// have 11 bits at most; for a row of float32 a second one for what the first leaves, so that nothing of 24 bits is
// lost.
struct Vectors {
    int64_t each, count, terms, stretches, parts;  // `each` row is so many vectors
    std::vector<int16_t> whole;
    std::vector<float> scales, sums;  // the sums of parts, of `per` elements

    Vectors(const Tensor& t, int64_t terms_, int64_t per)
        : each(t.dtype == DType::Float32 ? 2 : 1),
          count(t.numel() / std::max<int64_t>(1, terms_) * each),
          terms(terms_),
          stretches((terms + kStretch - 1) / kStretch),
          parts(terms / per) {
        whole.resize(static_cast<size_t>(count * terms));
        scales.resize(static_cast<size_t>(count * stretches));
        sums.resize(static_cast<size_t>(count * parts));
        std::vector<float> x(static_cast<size_t>(terms));
        visit(Types<float, BFloat16, Half>{}, t.dtype, "packed product", [&]<class T>() {
            for (int64_t v = 0; v < count; v += each) {
                widen(t.data<T>() + v / each * terms, x.data(), terms);
                for (int64_t k = 0; k < each; k++) take(x.data(), v + k, per);
            }
        });
    }

  private:
    // Vector v is x in whole numbers; x becomes what is left.
    void take(float* x, int64_t v, int64_t per) {
        int16_t* q = whole.data() + v * terms;
        for (int64_t s = 0; s < stretches; s++) {
            const int64_t begin = s * kStretch, end = std::min<int64_t>(terms, begin + kStretch);
            float most = 0;
            bool finite = true;
            for (int64_t i = begin; i < end; i++) {
                const float size = std::fabs(x[i]);
                most = size > most ? size : most;
                finite &= size <= std::numeric_limits<float>::max();
            }
            const float scale = most / 32767, inverse = most > 1e-30f ? 32767 / most : 0;
            scales[static_cast<size_t>(v * stretches + s)] = finite ? scale : std::numeric_limits<float>::quiet_NaN();
            for (int64_t i = begin; i < end; i++) {
                q[i] = finite ? static_cast<int16_t>(std::nearbyint(x[i] * inverse)) : int16_t(0);
                x[i] -= scale * static_cast<float>(q[i]);
            }
        }
        for (int64_t p = 0; p < parts; p++) {
            int32_t sum = 0;
            for (int64_t i = 0; i < per; i++) sum += q[p * per + i];
            sums[static_cast<size_t>(v * parts + p)] =
                static_cast<float>(sum) * scales[static_cast<size_t>(v * stretches + p * per / kStretch)];
        }
    }
};

// The scales of register r of part k.
template <class F, int k, int kCount>
Vec scales_of(const packed::Scales<kCount>& s, int r) {
    if constexpr (F::kPer == kPart) return packed::repeated(s.scale[k]);
#if defined(__AVX512F__)
    const __m512 first = _mm512_set1_ps(s.scale[2 * k]);
    return Vec(_mm512_mask_mov_ps(first, 0xff00, _mm512_set1_ps(s.scale[2 * k + 1])));
#else
    return packed::repeated(s.scale[2 * k + r * kWords / F::kPer]);
#endif
}

// The sums of one row of the weight with V vectors.
template <int V, class F>
void one_row(const F& weight, const Vectors& in, int64_t first, int64_t row, float* to) {
    constexpr int kParts = F::kParts, kBlock = kPart * kParts, kScales = kBlock / F::kPer, kSums = V == 1 ? 2 : 1,
                  kBlocks = kStretch / kBlock;
    const int16_t* x = in.whole.data() + first * in.terms;
    const float *sums = in.sums.data() + first * in.parts, *scales = in.scales.data() + first * in.stretches;
    Vec all[V] = {};
    typename packed::Scales<kScales>::Numbers offsets[V][kBlocks] = {};
    const int64_t blocks = in.terms / kBlock;
    for (int64_t stretch = 0; stretch < in.stretches; stretch++) {
        Vec sum[V][kSums] = {};
        Ints plain[V] = {};  // of formats without scales, and of blocks with one
        auto block = [&]<int kWhich>(int64_t b, std::integral_constant<int, kWhich>) {
            const auto* from = weight.at(row, b);
            for (int64_t ahead = 0; ahead < weight.at(0, 1) - weight.at(0, 0); ahead += 64)
                __builtin_prefetch(from + kAhead + ahead);
            const packed::Scales<kScales> s = weight.scales(row, b, from);
            auto part = [&]<int k>(std::integral_constant<int, k>) {
                Words q[kRegisters];
                weight.template part<k>(from, q);
                for (int v = 0; v < V; v++) {
                    const int16_t* at = x + v * in.terms + (b * kParts + k) * kPart;
                    if constexpr (!F::kScaled || F::kPer > kPart) {
                        for (int r = 0; r < kRegisters; r++)
                            plain[v] += packed::pairs(q[r], packed::load(at + r * kWords));
                    } else if constexpr (F::kPer == kPart) {
                        Ints whole = packed::pairs(q[0], packed::load(at));
                        for (int r = 1; r < kRegisters; r++)
                            whole += packed::pairs(q[r], packed::load(at + r * kWords));
                        sum[v][k % kSums] =
                            simd::fma(packed::repeated(s.scale[k]), packed::to_float(whole), sum[v][k % kSums]);
                    } else {
                        for (int r = 0; r < kRegisters; r++)
                            sum[v][k % kSums] =
                                simd::fma(scales_of<F, k>(s, r),
                                          packed::to_float(packed::pairs(q[r], packed::load(at + r * kWords))),
                                          sum[v][k % kSums]);
                    }
                }
            };
            [&]<int... k>(std::integer_sequence<int, k...>) {
                (part(std::integral_constant<int, k>()), ...);
            }(std::make_integer_sequence<int, kParts>());
            if constexpr (F::kScaled && F::kPer > kPart)
                for (int v = 0; v < V; v++) {
                    sum[v][kWhich % kSums] =
                        simd::fma(packed::repeated(s.scale[0]), packed::to_float(plain[v]), sum[v][kWhich % kSums]);
                    plain[v] = Ints{};
                }
            if constexpr (F::kOffset)
                for (int v = 0; v < V; v++) {
                    typename packed::Scales<kScales>::Numbers of_x;
                    std::memcpy(&of_x, sums + v * in.parts + b * kScales, sizeof of_x);
                    offsets[v][kWhich] += s.offset * of_x;
                }
        };
        int64_t b = stretch * kBlocks;
        if (b + kBlocks <= blocks) {
            [&]<int... k>(std::integer_sequence<int, k...>) {
                (block(b + k, std::integral_constant<int, k>()), ...);
            }(std::make_integer_sequence<int, kBlocks>());
        } else {
            for (; b < blocks; b++) block(b, std::integral_constant<int, 0>());
        }
        for (int v = 0; v < V; v++) {
            Vec made = F::kScaled ? sum[v][0] : packed::to_float(plain[v]);
            for (int k = 1; k < kSums; k++) made += sum[v][k];
            all[v] = simd::fma(packed::repeated(scales[v * in.stretches + stretch]), made, all[v]);
        }
    }
    for (int v = 0; v < V; v++) {
        float offset = 0;
        for (const auto& of_block : offsets[v])
            for (int k = 0; k < kScales; k++) offset += of_block[k];
        to[v] = simd::sum(all[v]) + offset;
    }
    // What is left of a block: the first part of one of two, whose upper halves are its last 16 elements.
    if constexpr (kParts == 2 && F::kPer == kPart) {
        if (in.terms % kBlock == 0) return;
        float scale, offset;
        weight.of_group(row, 2 * blocks >> weight.shift, &scale, &offset);
        for (int v = 0; v < V; v++) {
            const int16_t* at = x + v * in.terms + blocks * kBlock;
            int32_t whole = 0;
            for (int i = 0; i < 16; i++)
                whole += (weight.at(row, blocks)[i] & 15) * at[i] + (weight.at(row, blocks)[i] >> 4) * at[i + 16];
            to[v] += scale * static_cast<float>(whole) * scales[(v + 1) * in.stretches - 1] +
                     offset * sums[v * in.parts + 2 * blocks];
        }
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
            for (int i = 0; i < kPart; i++)
                to[k * kPart + i] = static_cast<float>(whole[i]) * s.scale[(k * kPart + i) / F::kPer] +
                                    s.offset[(k * kPart + i) / F::kPer];
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

// y[r][n] = x[r] . weight[n], times scales[n] where there are any; y is contiguous.
template <class F>
void multiply(Tensor& y, const Tensor& given_x, int64_t rows, int64_t terms, const F& weight, const float* scales) {
    TensorRef x = contiguous(given_x);
    const int64_t count = x->numel() / std::max<int64_t>(1, terms);
    if (y.numel() == 0) return;
    if (count <= kFewRows) {
        const Vectors in(*x, terms, F::kPer);
        const int64_t most = 4 / in.each;  // rows at a time
        visit(Types<float, BFloat16, Half>{}, y.dtype, "packed product", [&]<class T>() {
            T* to = y.data<T>();
            parallel_for(rows, grain_for(terms), [&](int64_t begin, int64_t end) {
                // So many rows at a time as stay in the cache until each group of vectors has read them.
                const int64_t piece = count <= most ? end - begin : std::max<int64_t>(1, (1 << 17) / terms);
                for (int64_t top = begin; top < end; top += piece)
                    for (int64_t first = 0; first < count; first += most)
                        for (int64_t n = top; n < std::min(end, top + piece); n++) {
                            float sums[4];
                            const int64_t some = std::min<int64_t>(most, count - first);
                            rows_of(weight, in, first * in.each, some * in.each, n, sums);
                            for (int64_t v = 0; v < some; v++) {
                                const float sum = in.each == 2 ? sums[2 * v] + sums[2 * v + 1] : sums[v];
                                to[(first + v) * rows + n] = T(scales ? sum * scales[n] : sum);
                            }
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
                decode_row(weight, top + n, terms, decoded + n * terms);
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
    visit(Types<float, BFloat16, Half>{}, scales.dtype, "_weight_int4pack_mm_cpu", [&]<class T>() {
        auto with = [&]<int kOf>(std::integral_constant<int, kOf>) {
            multiply(out, self, rows, bytes * 2,
                     packed::Groups4<T, kOf>{mat2.data<uint8_t>(), bytes, rows, shift, pairs->data<T>()}, nullptr);
        };
        if (group == 32)
            with(std::integral_constant<int, 32>());
        else if (group == 64)
            with(std::integral_constant<int, 64>());
        else
            with(std::integral_constant<int, 128>());
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
