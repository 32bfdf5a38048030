// Atomic operations on memory that other streams' threads may use too.
#pragma once

template <size_t bytes>
struct emulated_word {
    using type = unsigned short;
};
template <>
struct emulated_word<4> {
    using type = unsigned;
};
template <>
struct emulated_word<8> {
    using type = unsigned long long;
};

template <class T, class F>
static inline T emulated_atomic(T* address, F change) {
    using Bits = typename emulated_word<sizeof(T)>::type;
    static_assert(sizeof(Bits) == sizeof(T), "atomic operations are of two, four or eight bytes");
    Bits* place = (Bits*)address;
    Bits seen = __atomic_load_n(place, __ATOMIC_RELAXED), next;
    T old;
    do {
        memcpy(&old, &seen, sizeof(T));
        T made = change(old);
        memcpy(&next, &made, sizeof(T));
    } while (!__atomic_compare_exchange_n(place, &seen, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

// The second argument's type does not take part in deducing T: atomicAdd(float*, 1).
template <class T>
struct emulated_same {
    using type = T;
};
#define EMULATED_ATOMIC(name, expression)                                                 \
    template <class T>                                                                    \
    static inline T name(T* address, typename emulated_same<T>::type value) {             \
        return emulated_atomic(address, [value](T old) -> T { return (T)(expression); }); \
    }                                                                                     \
    template <class T>                                                                    \
    static inline T name##_block(T* address, typename emulated_same<T>::type value) {     \
        return name(address, value);                                                      \
    }                                                                                     \
    template <class T>                                                                    \
    static inline T name##_system(T* address, typename emulated_same<T>::type value) {    \
        return name(address, value);                                                      \
    }
EMULATED_ATOMIC(atomicAdd, old + value)
EMULATED_ATOMIC(atomicSub, old - value)
EMULATED_ATOMIC(atomicExch, ((void)old, value))
EMULATED_ATOMIC(atomicMin, value < old ? value : old)
EMULATED_ATOMIC(atomicMax, value > old ? value : old)
EMULATED_ATOMIC(atomicAnd, old& value)
EMULATED_ATOMIC(atomicOr, old | value)
EMULATED_ATOMIC(atomicXor, old ^ value)
EMULATED_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
EMULATED_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef EMULATED_ATOMIC

template <class T>
static inline T atomicCAS(T* address, typename emulated_same<T>::type compare, typename emulated_same<T>::type value) {
    return emulated_atomic(address, [compare, value](T old) -> T { return old == compare ? value : old; });
}

template <class T>
static inline T __ldg(const T* address) {
    return *address;
}
template <class T>
static inline T __ldcs(const T* address) {
    return *address;
}
template <class T>
static inline T __ldcg(const T* address) {
    return *address;
}
template <class T>
static inline void __stcs(T* address, T value) {
    *address = value;
}
