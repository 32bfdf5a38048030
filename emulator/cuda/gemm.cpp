#include "gemm.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace emu {
namespace {

float from_half(uint16_t h) {
    uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, rest = h & 1023;
    uint32_t bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | rest << 13;
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | rest << 13;
    } else {
        float value = std::ldexp(static_cast<float>(rest), -24);
        return sign ? -value : value;
    }
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
}

uint16_t to_half(double value) {  // rounded once, to even
    uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    double a = std::fabs(value);
    if (std::isnan(a)) return sign | 0x7e00;
    if (a >= 65520) return sign | 0x7c00;
    if (a < 6.103515625e-05) return sign | static_cast<uint16_t>(std::nearbyint(a * 16777216.0));
    int exponent;
    double fraction = std::frexp(a, &exponent);                            // 0.5 to 1
    auto rest = static_cast<uint32_t>(std::nearbyint(fraction * 2048.0));  // 1024 to 2048, where it carries
    return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 14) << 10) + rest - 1024));
}

float from_bfloat(uint16_t b) {
    uint32_t bits = uint32_t(b) << 16;
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
}

uint16_t to_bfloat(double value) {
    auto f = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    if (f != f) return 0x7fc0;
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float shortened(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
    std::memcpy(&value, &bits, 4);
    return value;
}

template <Type type>
inline void get(const void* data, int64_t i, double& re, double& im) {
    im = 0;
    if constexpr (type == Type::half) re = from_half(static_cast<const uint16_t*>(data)[i]);
    if constexpr (type == Type::bfloat) re = from_bfloat(static_cast<const uint16_t*>(data)[i]);
    if constexpr (type == Type::single) re = static_cast<const float*>(data)[i];
    if constexpr (type == Type::short_single) re = shortened(static_cast<const float*>(data)[i]);
    if constexpr (type == Type::real) re = static_cast<const double*>(data)[i];
    if constexpr (type == Type::byte) re = static_cast<const int8_t*>(data)[i];
    if constexpr (type == Type::integer) re = static_cast<const int32_t*>(data)[i];
    if constexpr (type == Type::complex_single) {
        re = static_cast<const float*>(data)[2 * i];
        im = static_cast<const float*>(data)[2 * i + 1];
    }
    if constexpr (type == Type::complex_double) {
        re = static_cast<const double*>(data)[2 * i];
        im = static_cast<const double*>(data)[2 * i + 1];
    }
}

template <class F>
auto with_type(Type type, F f) {
    switch (type) {
        case Type::half:
            return f.template operator()<Type::half>();
        case Type::bfloat:
            return f.template operator()<Type::bfloat>();
        case Type::single:
            return f.template operator()<Type::single>();
        case Type::short_single:
            return f.template operator()<Type::short_single>();
        case Type::real:
            return f.template operator()<Type::real>();
        case Type::byte:
            return f.template operator()<Type::byte>();
        case Type::integer:
            return f.template operator()<Type::integer>();
        case Type::complex_single:
            return f.template operator()<Type::complex_single>();
        default:
            return f.template operator()<Type::complex_double>();
    }
}

constexpr int64_t kRows = 8, kColumns = 4, kBlock = 64, kDepth = 256;

// Tiles of `tile` rows of op(matrix), one after the other; in each, for every depth, the rows. What is missing is zero.
// `rows_first`: element (row, depth) lies at row + depth * leading, otherwise at depth + row * leading.
template <int64_t tile>
void pack(const Matrix& x, bool rows_first, int64_t row, int64_t rows, int64_t depth, int64_t depths, double* re,
          double* im) {
    with_type(x.type, [&]<Type type>() {
        double sign = x.conjugated ? -1 : 1;
        for (int64_t i0 = 0; i0 < rows; i0 += tile)
            for (int64_t p = 0; p < depths; p++)
                for (int64_t i = i0; i < i0 + tile; i++, re++) {
                    double r = 0, c = 0;
                    if (i < rows)
                        get<type>(
                            x.data,
                            rows_first ? (row + i) + (depth + p) * x.leading : (depth + p) + (row + i) * x.leading, r,
                            c);
                    *re = r;
                    if (im) *im++ = sign * c;
                }
    });
}

// A tile of c += a b.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "arch=haswell", "default")))
#endif
void multiply_tile(int64_t depths, const double* a, const double* b, double sign, double* c) {
    double sum[kColumns][kRows] = {};
    for (int64_t p = 0; p < depths; p++, a += kRows, b += kColumns)
        for (int64_t j = 0; j < kColumns; j++)
            for (int64_t i = 0; i < kRows; i++) sum[j][i] += a[i] * b[j];
    for (int64_t j = 0; j < kColumns; j++)
        for (int64_t i = 0; i < kRows; i++) c[j * kRows + i] += sign * sum[j][i];
}

}  // namespace

void store(void* data, Type type, int64_t i, Complex v) {
    switch (type) {
        case Type::half:
            static_cast<uint16_t*>(data)[i] = to_half(v.re);
            break;
        case Type::bfloat:
            static_cast<uint16_t*>(data)[i] = to_bfloat(v.re);
            break;
        case Type::single:
        case Type::short_single:
            static_cast<float*>(data)[i] = static_cast<float>(v.re);
            break;
        case Type::real:
            static_cast<double*>(data)[i] = v.re;
            break;
        case Type::byte:
            static_cast<int8_t*>(data)[i] = static_cast<int8_t>(v.re);
            break;
        case Type::integer:
            static_cast<int32_t*>(data)[i] = static_cast<int32_t>(static_cast<int64_t>(v.re));
            break;
        case Type::complex_single:
            static_cast<float*>(data)[2 * i] = static_cast<float>(v.re);
            static_cast<float*>(data)[2 * i + 1] = static_cast<float>(v.im);
            break;
        case Type::complex_double:
            static_cast<double*>(data)[2 * i] = v.re;
            static_cast<double*>(data)[2 * i + 1] = v.im;
            break;
    }
}

bool is_complex(Type type) { return type == Type::complex_single || type == Type::complex_double; }

Complex load(const void* data, Type type, int64_t index) {
    Complex v;
    with_type(type, [&]<Type t>() { get<t>(data, index, v.re, v.im); });
    return v;
}

void gemm(int64_t m, int64_t n, int64_t k, Complex alpha, const Matrix& a, const Matrix& b, Complex beta,
          const Matrix& c, const Finish* finish) {
    bool complex = is_complex(c.type);
    constexpr int64_t area = kBlock * kBlock, panel = kBlock * kDepth;
    std::vector<double> space(static_cast<size_t>((complex ? 2 : 1) * (2 * panel + area)));
    double *a_re = space.data(), *b_re = a_re + panel, *c_re = b_re + panel;
    double *a_im = complex ? c_re + area : nullptr, *b_im = complex ? a_im + panel : nullptr;
    double* c_im = complex ? b_im + panel : nullptr;
    for (int64_t j = 0; j < n; j += kBlock)
        for (int64_t i = 0; i < m; i += kBlock) {
            int64_t columns = std::min(kBlock, n - j), rows = std::min(kBlock, m - i);
            std::memset(c_re, 0, area * sizeof(double));
            if (complex) std::memset(c_im, 0, area * sizeof(double));
            for (int64_t p = 0; p < k; p += kDepth) {
                int64_t depths = std::min(kDepth, k - p);
                pack<kRows>(a, !a.transposed, i, rows, p, depths, a_re, a_im);
                pack<kColumns>(b, b.transposed, j, columns, p, depths, b_re, b_im);
                for (int64_t jt = 0; jt < columns; jt += kColumns)
                    for (int64_t it = 0; it < rows; it += kRows) {
                        int64_t at = jt * kBlock + it * kColumns, pa = it * depths, pb = jt * depths;
                        multiply_tile(depths, a_re + pa, b_re + pb, 1, c_re + at);
                        if (!complex) continue;
                        multiply_tile(depths, a_im + pa, b_im + pb, -1, c_re + at);
                        multiply_tile(depths, a_re + pa, b_im + pb, 1, c_im + at);
                        multiply_tile(depths, a_im + pa, b_re + pb, 1, c_im + at);
                    }
            }
            for (int64_t jj = 0; jj < columns; jj++)
                for (int64_t ii = 0; ii < rows; ii++) {
                    int64_t at = jj / kColumns * kColumns * kBlock + ii / kRows * kRows * kColumns +
                                 jj % kColumns * kRows + ii % kRows;
                    int64_t place = (i + ii) + (j + jj) * c.leading;
                    Complex sum{c_re[at], complex ? c_im[at] : 0};
                    Complex r{alpha.re * sum.re, 0};
                    if (complex) r = {alpha.re * sum.re - alpha.im * sum.im, alpha.re * sum.im + alpha.im * sum.re};
                    if (beta.re != 0 || beta.im != 0) {
                        Complex old = load(c.data, c.type, place);
                        r.re += complex ? beta.re * old.re - beta.im * old.im : beta.re * old.re;
                        if (complex) r.im += beta.re * old.im + beta.im * old.re;
                    }
                    if (finish) r.re = (*finish)(r.re, i + ii);
                    store(c.data, c.type, place, r);
                }
        }
}

}  // namespace emu
