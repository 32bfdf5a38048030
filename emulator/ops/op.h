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
bool is_private(aclFormat f);  // whether elements lie in blocks, not in rows

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

// Parameters and arguments of as many types as are given: each step of a list leaves the next one for another scan.
#define EMU_PARENS ()
#define EMU_SCAN(...) EMU_SCAN3(EMU_SCAN3(EMU_SCAN3(EMU_SCAN3(__VA_ARGS__))))
#define EMU_SCAN3(...) EMU_SCAN2(EMU_SCAN2(EMU_SCAN2(EMU_SCAN2(__VA_ARGS__))))
#define EMU_SCAN2(...) EMU_SCAN1(EMU_SCAN1(EMU_SCAN1(EMU_SCAN1(__VA_ARGS__))))
#define EMU_SCAN1(...) __VA_ARGS__
#define EMU_PARAMETERS(...) EMU_SCAN(EMU_PARAMETER(a, __VA_ARGS__))
#define EMU_PARAMETER(name, type, ...) type name __VA_OPT__(, EMU_PARAMETER_AGAIN EMU_PARENS(name##a, __VA_ARGS__))
#define EMU_PARAMETER_AGAIN() EMU_PARAMETER
#define EMU_ARGUMENTS(...) EMU_SCAN(EMU_ARGUMENT(a, __VA_ARGS__))
#define EMU_ARGUMENT(name, type, ...) name __VA_OPT__(, EMU_ARGUMENT_AGAIN EMU_PARENS(name##a, __VA_ARGS__))
#define EMU_ARGUMENT_AGAIN() EMU_ARGUMENT

#define ACLNN(Op, ...) ACLNN_AS(Op, Op, __VA_ARGS__)
// The operator aclnn<Op>, planned by another function.
#define ACLNN_AS(Op, plan, ...)                                                                                  \
    static const ::emu::Signature signature_##Op =                                                               \
        ::emu::signature("aclnn" #Op, static_cast<Plan (*)(__VA_ARGS__)>(plan));                                 \
    EMU_API aclnnStatus aclnn##Op##GetWorkspaceSize(EMU_PARAMETERS(__VA_ARGS__), uint64_t* workspace,            \
                                                    aclOpExecutor** executor) {                                  \
        return ::emu::first_phase("aclnn" #Op, static_cast<Plan (*)(__VA_ARGS__)>(plan), workspace, executor,    \
                                  EMU_ARGUMENTS(__VA_ARGS__));                                                   \
    }                                                                                                            \
    EMU_API aclnnStatus aclnn##Op(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) { \
        return ::emu::launch("aclnn" #Op, workspace, size, executor, stream);                                    \
    }

}  // namespace emu
