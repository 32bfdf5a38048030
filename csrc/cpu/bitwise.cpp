// Bitwise operators on integers and bool; not, shifts, gcd, lcm.
#include <numeric>

#include "number.h"
#include "pointwise.h"

namespace mt {
namespace {

using Bits = Types<int64_t, int32_t, uint8_t, bool>;

void bitwise_and_cpu(Call& c) {
    pointwise(c, Bits{}, {0, 1}, []<class T>(T a, T b) -> T { return a & b; });
}
void bitwise_or_cpu(Call& c) {
    pointwise(c, Bits{}, {0, 1}, []<class T>(T a, T b) -> T { return a | b; });
}
void bitwise_xor_cpu(Call& c) {
    pointwise(c, Bits{}, {0, 1}, []<class T>(T a, T b) -> T { return a ^ b; });
}
// On bytes, of which any but 0 is true: g++ makes no vector code of `!` on bools.
void logical_not_cpu(Call& c) {
    Operand operands[2] = {{&c.out(0), nullptr, DType::Bool}, {&c.tensor(0), nullptr, DType::Bool}};
    LoopFn loop = [](char* const* p, int64_t n, const void*) {
        char* to = p[0];
        const char* from = p[1];
#pragma GCC ivdep
        for (int64_t i = 0; i < n; i++) to[i] = from[i] == 0;
    };
    run_pointwise(operands, 2, 1, loop, nullptr);
}
void bitwise_not_cpu(Call& c) {
    if (is_bool(c.tensor(0).dtype)) return logical_not_cpu(c);
    unary(c, Types<int64_t, int32_t, uint8_t>{}, []<class T>(T a) -> T { return ~a; });
}

void check_shift(const Call& c, const char* name) {
    const int args[2] = {0, 1};
    DType t = promoted(c, args, 2);
    if (!is_integer(t)) unsupported_dtype(name, t);
}

// Shifting by a negative count or by the width and more empties the number.
void left_shift_cpu(Call& c) {
    check_shift(c, "lshift_cpu");
    pointwise(c, Types<int64_t, int32_t>{}, {0, 1}, []<class T>(T a, T b) -> T {
        constexpr T kBits = sizeof(T) * 8;
        bool out = b < 0 || b >= kBits;
        T n = out ? 0 : b;
        return out ? T(0) : static_cast<T>(static_cast<num::unsigned_of<T>>(a) << n);
    });
}
void right_shift_cpu(Call& c) {
    check_shift(c, "rshift_cpu");
    pointwise(c, Types<int64_t, int32_t>{}, {0, 1}, []<class T>(T a, T b) -> T {
        constexpr T kLast = sizeof(T) * 8 - 1;
        return a >> (b < 0 || b > kLast ? kLast : b);
    });
}

// Without signs, which the smallest integer has none without.
uint64_t magnitude(int64_t a) { return a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a); }

void gcd_cpu(Call& c) {
    pointwise(c, Types<int64_t>{}, {0, 1}, [](int64_t a, int64_t b) -> int64_t {
        return static_cast<int64_t>(std::gcd(magnitude(a), magnitude(b)));
    });
}
void lcm_cpu(Call& c) {
    pointwise(c, Types<int64_t>{}, {0, 1}, [](int64_t a, int64_t b) -> int64_t {
        uint64_t g = std::gcd(magnitude(a), magnitude(b));
        return g == 0 ? 0 : static_cast<int64_t>(magnitude(num::mul(static_cast<int64_t>(magnitude(a) / g), b)));
    });
}

KERNELS
{
    structured("bitwise_and", bitwise_and_cpu, kInputMayAlias);
    structured("bitwise_left_shift", left_shift_cpu, kInputMayAlias);
    structured("bitwise_not", bitwise_not_cpu, kInputMayAlias);
    structured("bitwise_or", bitwise_or_cpu, kInputMayAlias);
    structured("bitwise_right_shift", right_shift_cpu, kInputMayAlias);
    structured("bitwise_xor", bitwise_xor_cpu, kInputMayAlias);
    structured("gcd", gcd_cpu, kInputMayAlias);
    structured("lcm", lcm_cpu, kInputMayAlias);
    structured("logical_not", logical_not_cpu, kInputMayAlias);
}

}  // namespace
}  // namespace mt
