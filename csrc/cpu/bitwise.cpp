// Bitwise operators on integers and bool; not, shifts, gcd, lcm.
#include <numeric>

#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

using Bits = Types<int64_t, int32_t, uint8_t, bool>;

void bitwise_and_cpu(Out out, Input self, Input other) {
    pointwise(out, Bits{}, {self, other}, []<class T>(T a, T b) -> T { return a & b; });
}
void bitwise_or_cpu(Out out, Input self, Input other) {
    pointwise(out, Bits{}, {self, other}, []<class T>(T a, T b) -> T { return a | b; });
}
void bitwise_xor_cpu(Out out, Input self, Input other) {
    pointwise(out, Bits{}, {self, other}, []<class T>(T a, T b) -> T { return a ^ b; });
}
// On bytes, of which any but 0 is true: g++ makes no vector code of `!` on bools.
void logical_not_cpu(Out out, const Tensor& self) {
    Operand operands[2] = {{&*out, nullptr, DType::Bool}, {&self, nullptr, DType::Bool}};
    LoopFn loop = [](char* const* p, int64_t n, const void*) {
        char* to = p[0];
        const char* from = p[1];
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) to[i] = from[i] == 0;
    };
    run_pointwise(operands, 2, 1, loop);
}
void bitwise_not_cpu(Out out, const Tensor& self) {
    if (is_bool(self.dtype)) return logical_not_cpu(out, self);
    unary(out, Types<int64_t, int32_t, uint8_t>{}, self, []<class T>(T a) -> T { return ~a; });
}

void check_shift(Input self, Input other, const char* name) {
    DType t = promoted({self, other});
    if (!is_integer(t)) unsupported_dtype(name, t);
}

// Shifting by a negative count or by the width and more empties the number.
void left_shift_cpu(Out out, Input self, Input other) {
    check_shift(self, other, "lshift_cpu");
    pointwise(out, Types<int64_t, int32_t>{}, {self, other}, []<class T>(T a, T b) -> T {
        constexpr T kBits = sizeof(T) * 8;
        bool out = b < 0 || b >= kBits;
        T n = out ? 0 : b;
        return out ? T(0) : static_cast<T>(static_cast<num::unsigned_of<T>>(a) << n);
    });
}
void right_shift_cpu(Out out, Input self, Input other) {
    check_shift(self, other, "rshift_cpu");
    pointwise(out, Types<int64_t, int32_t>{}, {self, other}, []<class T>(T a, T b) -> T {
        constexpr T kLast = sizeof(T) * 8 - 1;
        return a >> (b < 0 || b > kLast ? kLast : b);
    });
}

// Without signs, which the smallest integer has none without.
uint64_t magnitude(int64_t a) { return a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a); }

void gcd_cpu(Out out, const Tensor& self, const Tensor& other) {
    pointwise(out, Types<int64_t>{}, {self, other}, [](int64_t a, int64_t b) -> int64_t {
        return static_cast<int64_t>(std::gcd(magnitude(a), magnitude(b)));
    });
}
void lcm_cpu(Out out, const Tensor& self, const Tensor& other) {
    pointwise(out, Types<int64_t>{}, {self, other}, [](int64_t a, int64_t b) -> int64_t {
        uint64_t g = std::gcd(magnitude(a), magnitude(b));
        return g == 0 ? 0 : static_cast<int64_t>(magnitude(num::mul(static_cast<int64_t>(magnitude(a) / g), b)));
    });
}

KERNELS
{
    structured<bitwise_and_cpu>("bitwise_and", kInputMayAlias);
    structured<left_shift_cpu>("bitwise_left_shift", kInputMayAlias);
    structured<bitwise_not_cpu>("bitwise_not", kInputMayAlias);
    structured<bitwise_or_cpu>("bitwise_or", kInputMayAlias);
    structured<right_shift_cpu>("bitwise_right_shift", kInputMayAlias);
    structured<bitwise_xor_cpu>("bitwise_xor", kInputMayAlias);
    structured<gcd_cpu>("gcd", kInputMayAlias);
    structured<lcm_cpu>("lcm", kInputMayAlias);
    structured<logical_not_cpu>("logical_not", kInputMayAlias);
}

}  // namespace
}  // namespace mt
