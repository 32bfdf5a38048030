// The vector forms of elementary functions in double (csrc/cpu/vecmath.h), for builds that have to start on systems
// whose glibc is older than the compiler's: what the system's libmvec has is called, what it lacks is computed an
// element at a time. Nothing here is named by the library's list of needed symbols, so any glibc loads it.
#include <dlfcn.h>

#include <cmath>

namespace {

void* libmvec() {
    static void* library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    return library;
}

template <class F>
F* found(const char* symbol) {
    return libmvec() ? reinterpret_cast<F*>(dlsym(libmvec(), symbol)) : nullptr;
}

template <int kLanes>
struct Lanes {
    typedef double Vec __attribute__((vector_size(8 * kLanes)));
};

}  // namespace

// Who calls a vector function on ARM expects more registers to be left alone than by other functions.
#if defined(__aarch64__)
#define MT_HIDDEN extern "C" __attribute__((visibility("hidden"), aarch64_vector_pcs))
#else
#define MT_HIDDEN extern "C" __attribute__((visibility("hidden")))
#endif
#define MT_ONE(letter, lanes, name)                                                       \
    MT_HIDDEN Lanes<lanes>::Vec _ZGV##letter##N##lanes##v_##name(Lanes<lanes>::Vec x) {   \
        using Vec = Lanes<lanes>::Vec;                                                    \
        static const auto theirs = found<Vec(Vec)>("_ZGV" #letter "N" #lanes "v_" #name); \
        if (theirs) return theirs(x);                                                     \
        for (int i = 0; i < lanes; i++) x[i] = std::name(x[i]);                           \
        return x;                                                                         \
    }
#define MT_TWO(letter, lanes, name)                                                                           \
    MT_HIDDEN Lanes<lanes>::Vec _ZGV##letter##N##lanes##vv_##name(Lanes<lanes>::Vec x, Lanes<lanes>::Vec y) { \
        using Vec = Lanes<lanes>::Vec;                                                                        \
        static const auto theirs = found<Vec(Vec, Vec)>("_ZGV" #letter "N" #lanes "vv_" #name);               \
        if (theirs) return theirs(x, y);                                                                      \
        for (int i = 0; i < lanes; i++) x[i] = std::name(x[i], y[i]);                                         \
        return x;                                                                                             \
    }
#define MT_ALL(letter, lanes)    \
    MT_ONE(letter, lanes, acos)  \
    MT_ONE(letter, lanes, acosh) \
    MT_ONE(letter, lanes, asin)  \
    MT_ONE(letter, lanes, asinh) \
    MT_ONE(letter, lanes, atan)  \
    MT_ONE(letter, lanes, atanh) \
    MT_ONE(letter, lanes, cos)   \
    MT_ONE(letter, lanes, cosh)  \
    MT_ONE(letter, lanes, erf)   \
    MT_ONE(letter, lanes, erfc)  \
    MT_ONE(letter, lanes, exp)   \
    MT_ONE(letter, lanes, exp2)  \
    MT_ONE(letter, lanes, expm1) \
    MT_ONE(letter, lanes, log)   \
    MT_ONE(letter, lanes, log10) \
    MT_ONE(letter, lanes, log1p) \
    MT_ONE(letter, lanes, log2)  \
    MT_ONE(letter, lanes, sin)   \
    MT_ONE(letter, lanes, sinh)  \
    MT_ONE(letter, lanes, tan)   \
    MT_ONE(letter, lanes, tanh)  \
    MT_TWO(letter, lanes, atan2) \
    MT_TWO(letter, lanes, hypot) \
    MT_TWO(letter, lanes, pow)

#if defined(__aarch64__)
MT_ALL(n, 2)
#elif defined(__x86_64__)
MT_ALL(b, 2)
#if defined(__AVX2__)
MT_ALL(d, 4)
#elif defined(__AVX__)
MT_ALL(c, 4)
#endif
#if defined(__AVX512F__)
MT_ALL(e, 8)
#endif
#endif
