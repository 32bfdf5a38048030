// Products of matrices with all numbers as double inside.
#pragma once

#include <cstdint>
#include <functional>

namespace emu {

// short_single: float32 of which the products take 10 bits behind the point, NVIDIA's TF32.
enum class Type { half, bfloat, single, short_single, real, byte, integer, complex_single, complex_double };

struct Matrix {
    void* data = nullptr;
    Type type = Type::single;
    int64_t leading = 0;
    bool transposed = false, conjugated = false;
};

struct Complex {
    double re = 0, im = 0;
};

Complex load(const void* data, Type type, int64_t index);
bool is_complex(Type type);

void store(void* data, Type type, int64_t index, Complex value);

using Finish = std::function<double(double value, int64_t row)>;
// c = alpha op(a) op(b) + beta c, all by columns; with beta 0, c is not read. What is real is finished before it is
// rounded.
void gemm(int64_t m, int64_t n, int64_t k, Complex alpha, const Matrix& a, const Matrix& b, Complex beta,
          const Matrix& c, const Finish* finish = nullptr);

}  // namespace emu
