// Operators that go element by element. What is compiled for each of them is the loop over plain arrays only.
#pragma once

#include "op.h"

namespace emu {

// x[i] = f(x[i], y[i], z[i]), on arrays of the kind's type.
struct Loop {
    virtual ~Loop() = default;
    virtual void run(Kind kind, void* x, const void* y, const void* z, int64_t n) const = 0;
};
// The plan of a loop over broadcast inputs, done in the widest kind of inputs and output, and no less than `least`.
Plan elementwise(std::initializer_list<const View*> inputs, const View& out, std::unique_ptr<const Loop> loop,
                 Kind least);

template <int Inputs, class C, class F>
void loop_over(const F& f, C* x, [[maybe_unused]] const C* y, [[maybe_unused]] const C* z, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if constexpr (Inputs == 1)
            x[i] = static_cast<C>(f(x[i]));
        else if constexpr (Inputs == 2)
            x[i] = static_cast<C>(f(x[i], y[i]));
        else
            x[i] = static_cast<C>(f(x[i], y[i], z[i]));
    }
}
template <int Inputs, bool Integers, class F>
struct LoopOf final : Loop {
    explicit LoopOf(F f) : f(std::move(f)) {}
    F f;
    template <class C>
    void go(void* x, const void* y, const void* z, int64_t n) const {
        loop_over<Inputs>(f, static_cast<C*>(x), static_cast<const C*>(y), static_cast<const C*>(z), n);
    }
    void run(Kind kind, void* x, const void* y, const void* z, int64_t n) const override {
        if constexpr (Integers)
            if (kind == Kind::I64) return go<int64_t>(x, y, z, n);
        kind == Kind::F64 ? go<double>(x, y, z, n) : go<float>(x, y, z, n);
    }
};
template <int Inputs, bool Integers, class F>
std::unique_ptr<const Loop> loop_of(F f) {
    return std::unique_ptr<const Loop>(new LoopOf<Inputs, Integers, F>(std::move(f)));
}

template <class F>
Plan unary(const View& a, const View& out, F f, Kind least = Kind::I64) {
    return elementwise({&a}, out, loop_of<1, true>(f), least);
}
// Of functions that integers do not have.
template <class F>
Plan unary_float(const View& a, const View& out, F f) {
    return elementwise({&a}, out, loop_of<1, false>(f), Kind::F32);
}
template <class F>
Plan binary(const View& a, const View& b, const View& out, F f) {
    return elementwise({&a, &b}, out, loop_of<2, true>(f), Kind::I64);
}
template <class F>
Plan binary_float(const View& a, const View& b, const View& out, F f) {
    return elementwise({&a, &b}, out, loop_of<2, false>(f), Kind::F32);
}
template <class F>
Plan ternary(const View& a, const View& b, const View& c, const View& out, F f) {
    return elementwise({&a, &b, &c}, out, loop_of<3, true>(f), Kind::I64);
}
// With a number on the right; a floating number makes integers float.
template <class F>
Plan with_number(const View& a, S number, const View& out, F f) {
    double real = need_real(number, "the number");
    int64_t whole = number->as_int();
    return unary(
        a, out,
        [=](auto x) {
            using C = decltype(x);
            return f(x, std::is_integral_v<C> ? static_cast<C>(whole) : static_cast<C>(real));
        },
        number->is_integer() ? Kind::I64 : Kind::F32);
}

}  // namespace emu
