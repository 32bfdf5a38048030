// What an emulated operator is written with.
//
//     Plan Add(T self, T other, S alpha, O out) { ... check, return what to run ... }
//     ACLNN(Add, T, T, S, O)
//
// makes aclnnAddGetWorkspaceSize and aclnnAdd. The function is the first phase: it sees descriptors, never data, and
// throws what is wrong with them. The plan that it returns runs on the stream.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>

#include "../descriptors/descriptors.h"

namespace emu {

using T = const aclTensor*;
using O = aclTensor*;
using TL = const aclTensorList*;
using OL = aclTensorList*;
using S = const aclScalar*;
using IA = const aclIntArray*;
using BA = const aclBoolArray*;
using i64 = int64_t;
using u64 = uint64_t;
using i32 = int32_t;
using i8 = int8_t;
using f64 = double;
using f32 = float;
using str = const char*;
using dt = aclDataType;

struct Plan {
    std::function<void()> run;
    uint64_t workspace = 0;
};
struct Invalid {
    int code;
    std::string why;
};
[[noreturn]] void reject_for(std::initializer_list<Part> why);
template <class... A>
[[noreturn]] void reject(const A&... why) {
    reject_for({Part(why)...});
}

using Shape = std::vector<int64_t>;
inline Shape shape_of(const View& v) { return Shape(v.sizes, v.sizes + v.rank); }
std::string shown(const Shape& s);
int64_t product(const Shape& s);

// The tensor of an argument that must be there.
const View& need(T t, const char* what);
inline bool given(T t) { return t != nullptr; }
double need_real(S s, const char* what);
int64_t wrap(int64_t dim, int64_t rank);
void same_shape(const View& a, const Shape& expected, const char* what);

enum class Kind { I64, F32, F64 };  // what a computation is done in
Kind kind_of(aclDataType t);
inline Kind wider(Kind a, Kind b) { return a > b ? a : b; }
inline bool is_float(aclDataType t) { return kind_of(t) != Kind::I64; }

// Elements in row-major order, converted; broadcast to a shape if one is given.
template <class C>
std::vector<C> load(const View& v);
template <class C>
std::vector<C> load(const View& v, const Shape& shape);
// Writes elements in row-major order, converted as the device does: rounded to nearest even, integers cut.
template <class C>
void store(const View& v, const C* from);
template <class C>
void store(const View& v, const std::vector<C>& from) {
    store(v, from.data());
}
inline float load_number(const View& v) { return load<float>(v)[0]; }

// Runs f(C()) with the type of a kind.
template <class F>
void with_kind(Kind k, F f) {
    if (k == Kind::F32)
        f(float());
    else if (k == Kind::F64)
        f(double());
    else
        f(int64_t());
}
template <class F>
void with_float(Kind k, F f) {
    if (k == Kind::F64)
        f(double());
    else
        f(float());
}

Shape broadcast(std::initializer_list<const View*> views);

// ---- registration ----

struct Touched {
    aclOpExecutor* executor;
    const char* name;
    void add(T t);
    void add(O t) { add(static_cast<T>(t)); }
    void add(TL list);
    void add(OL list) { add(static_cast<TL>(list)); }
    void add(const aclScalar* s);
    template <class X>
    void add(const X&) {}
};

// Notes what a call touches and plans it: `make` knows the arguments.
using MakePlan = Plan (*)(const void* make, Touched& touched);
aclnnStatus plan_call(const char* name, MakePlan plan, const void* make, uint64_t* workspace, aclOpExecutor** executor);

template <class... A>
aclnnStatus first_phase(const char* name, Plan (*plan)(A...), uint64_t* workspace, aclOpExecutor** executor, A... a) {
    auto make = [=](Touched& touched) {
        (touched.add(a), ...);
        return plan(a...);
    };
    MakePlan call = [](const void* m, Touched& touched) { return (*static_cast<const decltype(make)*>(m))(touched); };
    return plan_call(name, call, &make, workspace, executor);
}

// The code letters of a C type, as the signature tables write them.
template <class X>
const char* code_of();
struct Signature {
    Signature(const char* name, std::initializer_list<const char*> codes);
};
template <class... A>
Signature signature(const char* name, Plan (*)(A...)) {
    return Signature(name, {code_of<A>()...});
}

#define EMU_P1(a) a a0
#define EMU_P2(a, b) EMU_P1(a), b a1
#define EMU_P3(a, b, c) EMU_P2(a, b), c a2
#define EMU_P4(a, b, c, d) EMU_P3(a, b, c), d a3
#define EMU_P5(a, b, c, d, e) EMU_P4(a, b, c, d), e a4
#define EMU_P6(a, b, c, d, e, f) EMU_P5(a, b, c, d, e), f a5
#define EMU_P7(a, b, c, d, e, f, g) EMU_P6(a, b, c, d, e, f), g a6
#define EMU_P8(a, b, c, d, e, f, g, h) EMU_P7(a, b, c, d, e, f, g), h a7
#define EMU_P9(a, b, c, d, e, f, g, h, i) EMU_P8(a, b, c, d, e, f, g, h), i a8
#define EMU_P10(a, b, c, d, e, f, g, h, i, j) EMU_P9(a, b, c, d, e, f, g, h, i), j a9
#define EMU_P11(a, b, c, d, e, f, g, h, i, j, k) EMU_P10(a, b, c, d, e, f, g, h, i, j), k a10
#define EMU_P12(a, b, c, d, e, f, g, h, i, j, k, l) EMU_P11(a, b, c, d, e, f, g, h, i, j, k), l a11
#define EMU_P13(a, b, c, d, e, f, g, h, i, j, k, l, m) EMU_P12(a, b, c, d, e, f, g, h, i, j, k, l), m a12
#define EMU_P14(a, b, c, d, e, f, g, h, i, j, k, l, m, n) EMU_P13(a, b, c, d, e, f, g, h, i, j, k, l, m), n a13
#define EMU_P15(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) EMU_P14(a, b, c, d, e, f, g, h, i, j, k, l, m, n), o a14
#define EMU_A1 a0
#define EMU_A2 EMU_A1, a1
#define EMU_A3 EMU_A2, a2
#define EMU_A4 EMU_A3, a3
#define EMU_A5 EMU_A4, a4
#define EMU_A6 EMU_A5, a5
#define EMU_A7 EMU_A6, a6
#define EMU_A8 EMU_A7, a7
#define EMU_A9 EMU_A8, a8
#define EMU_A10 EMU_A9, a9
#define EMU_A11 EMU_A10, a10
#define EMU_A12 EMU_A11, a11
#define EMU_A13 EMU_A12, a12
#define EMU_A14 EMU_A13, a13
#define EMU_A15 EMU_A14, a14
#define EMU_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, count, ...) count
#define EMU_COUNT(...) EMU_COUNT_(__VA_ARGS__, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
#define EMU_JOIN_(a, b) a##b
#define EMU_JOIN(a, b) EMU_JOIN_(a, b)

#define ACLNN(Op, ...) ACLNN_AS(Op, Op, __VA_ARGS__)
// The operator aclnn<Op>, planned by another function.
#define ACLNN_AS(Op, plan, ...)                                                                                  \
    static const ::emu::Signature signature_##Op =                                                               \
        ::emu::signature("aclnn" #Op, static_cast<Plan (*)(__VA_ARGS__)>(plan));                                 \
    EMU_API aclnnStatus aclnn##Op##GetWorkspaceSize(EMU_JOIN(EMU_P, EMU_COUNT(__VA_ARGS__))(__VA_ARGS__),        \
                                                    uint64_t* workspace, aclOpExecutor** executor) {             \
        return ::emu::first_phase("aclnn" #Op, static_cast<Plan (*)(__VA_ARGS__)>(plan), workspace, executor,    \
                                  EMU_JOIN(EMU_A, EMU_COUNT(__VA_ARGS__)));                                      \
    }                                                                                                            \
    EMU_API aclnnStatus aclnn##Op(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) { \
        return ::emu::launch("aclnn" #Op, workspace, size, executor, stream);                                    \
    }

}  // namespace emu
