// The CPU random number generator: MT19937 in the order in which PyTorch consumes it, one number at a time or in bulk.
//
// Every number is made of 32-bit words of one stream. A float takes one word (its low 24 bits), a double two words
// (first word high, low 53 bits of the pair). Bulk functions give exactly what a loop over the single ones would give.
#pragma once

#include <cmath>
#include <mutex>

#include "kernel.h"

namespace mt {

// PyTorch's engine state: `left` counts the words until the next block, plus one; `next` is the next word's index.
struct Mt19937 {
    static constexpr int kWords = 624;
    static constexpr int kShift = 397;
    uint32_t state[kWords];
    int left = 1;
    uint32_t next = 0;

    void seed(uint64_t value) {
        state[0] = static_cast<uint32_t>(value);
        for (uint32_t j = 1; j < kWords; j++) state[j] = 1812433253u * (state[j - 1] ^ (state[j - 1] >> 30)) + j;
        left = 1;
        next = 0;
    }
};

// Inline code here is private to each shared library: every instruction set gets its own vector loops.
namespace {

inline uint32_t mt19937_twist(uint32_t high, uint32_t low, uint32_t far) {
    uint32_t mixed = (high & 0x80000000u) | (low & 0x7fffffffu);
    return far ^ (mixed >> 1) ^ (-(low & 1u) & 0x9908b0dfu);
}

// The next 624 words of the recurrence, in place.
inline void mt19937_next_block(Mt19937& e) {
    constexpr int n = Mt19937::kWords, m = Mt19937::kShift;
    uint32_t* s = e.state;
    for (int i = 0; i < n - m; i++) s[i] = mt19937_twist(s[i], s[i + 1], s[i + m]);
    // Each word depends on one 227 places before it: far enough for any vector.
#pragma GCC ivdep
    for (int i = n - m; i < n - 1; i++) s[i] = mt19937_twist(s[i], s[i + 1], s[i + m - n]);
    s[n - 1] = mt19937_twist(s[n - 1], s[0], s[m - 1]);
    e.left = n + 1;
    e.next = 0;
}

inline uint32_t mt19937_temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

inline uint32_t random_word(Mt19937& e) {
    if (e.left == 1) mt19937_next_block(e);
    e.left--;
    return mt19937_temper(e.state[e.next++]);
}

inline uint64_t random_word64(Mt19937& e) {
    uint64_t high = random_word(e);
    return high << 32 | random_word(e);
}

// n words.
inline void random_words(Mt19937& e, uint32_t* out, int64_t n) {
    while (n > 0) {
        if (e.left == 1) mt19937_next_block(e);
        int64_t k = std::min<int64_t>(n, e.left - 1);
        const uint32_t* s = e.state + e.next;
        for (int64_t i = 0; i < k; i++) out[i] = mt19937_temper(s[i]);
        e.next += static_cast<uint32_t>(k);
        e.left -= static_cast<int>(k);
        out += k;
        n -= k;
    }
}

// n numbers of 64 bits.
inline void random_words64(Mt19937& e, uint64_t* out, int64_t n) {
    constexpr int64_t block = Mt19937::kWords / 2;
    alignas(64) uint32_t words[2 * block];
    for (int64_t i = 0; i < n; i += block) {
        int64_t k = std::min(block, n - i);
        random_words(e, words, 2 * k);
        for (int64_t j = 0; j < k; j++) out[i + j] = static_cast<uint64_t>(words[2 * j]) << 32 | words[2 * j + 1];
    }
}

inline float uniform_float_of(uint32_t word) {
    return static_cast<float>(static_cast<int32_t>(word & 0xffffffu)) * 0x1p-24f;
}
inline double uniform_double_of(uint64_t word) {
    return static_cast<double>(static_cast<int64_t>(word & ((uint64_t(1) << 53) - 1))) * 0x1p-53;
}
inline float uniform_float(Mt19937& e) { return uniform_float_of(random_word(e)); }
inline double uniform_double(Mt19937& e) { return uniform_double_of(random_word64(e)); }

// n floats of [0, 1), 24 bits each.
inline void uniform_floats(Mt19937& e, float* out, int64_t n) {
    constexpr int64_t block = Mt19937::kWords;
    alignas(64) uint32_t words[block];
    for (int64_t i = 0; i < n; i += block) {
        int64_t k = std::min(block, n - i);
        random_words(e, words, k);
        for (int64_t j = 0; j < k; j++) out[i + j] = uniform_float_of(words[j]);
    }
}

// n doubles of [0, 1), 53 bits each.
inline void uniform_doubles(Mt19937& e, double* out, int64_t n) {
    constexpr int64_t block = Mt19937::kWords;
    alignas(64) uint64_t words[block];
    for (int64_t i = 0; i < n; i += block) {
        int64_t k = std::min(block, n - i);
        random_words64(e, words, k);
        for (int64_t j = 0; j < k; j++) out[i + j] = uniform_double_of(words[j]);
    }
}

// uniform_double() < p, decided on integers: `(word & mask) < bernoulli_threshold(p)`.
constexpr uint64_t kUniformMask53 = (uint64_t(1) << 53) - 1;
inline uint64_t bernoulli_threshold(double p) {
    return p >= 1 ? uint64_t(1) << 53 : static_cast<uint64_t>(std::ceil(p * 0x1p53));
}

// n draws of `uniform_double() < p` as bytes 0 and 1: what bernoulli_(p) and dropout are made of.
inline void bernoulli_bytes(Mt19937& e, double p, uint8_t* out, int64_t n) {
    constexpr int64_t block = Mt19937::kWords;
    alignas(64) uint64_t words[block];
    uint64_t threshold = bernoulli_threshold(p);
    for (int64_t i = 0; i < n; i += block) {
        int64_t k = std::min(block, n - i);
        random_words64(e, words, k);
        for (int64_t j = 0; j < k; j++) out[i + j] = (words[j] & kUniformMask53) < threshold;
    }
}

}  // namespace

// torch.Generator: a Python object, passed to kernels as Value::obj. That of another device than the CPU is a seed and
// an offset, which every draw moves; the device makes the numbers.
struct Generator {
    PyObject_HEAD Device device;
    uint64_t initial_seed;
    uint64_t offset;
    Mt19937 engine;
    // The second number of a Box-Muller pair, kept for the next call that draws one at a time.
    bool has_next_float;
    bool has_next_double;
    float next_float;
    double next_double;
    std::mutex mutex;

    void reseed(uint64_t seed) {
        initial_seed = seed;
        offset = 0;
        engine.seed(seed);
        has_next_float = has_next_double = false;
    }
};

constexpr double kPi = 3.14159265358979323846;

namespace {
// One normal number: a pair of doubles gives two, the second is kept in the generator.
inline double next_normal(Generator& g) {
    if (g.has_next_double) {
        g.has_next_double = false;
        return g.next_double;
    }
    double u1 = uniform_double(g.engine), u2 = uniform_double(g.engine);
    double radius = std::sqrt(-2.0 * std::log1p(-u2)), theta = 2.0 * kPi * u1;
    g.next_double = radius * std::sin(theta);
    g.has_next_double = true;
    return radius * std::cos(theta);
}
}  // namespace

// Holds a generator for one operator. Waits without the GIL, so that a holder that wants it back can have it.
class GeneratorLock {
  public:
    explicit GeneratorLock(Generator& g) : generator_(g) {
        if (!g.mutex.try_lock()) {
            NoGil nogil;
            g.mutex.lock();
        }
    }
    ~GeneratorLock() { generator_.mutex.unlock(); }
    GeneratorLock(const GeneratorLock&) = delete;
    GeneratorLock& operator=(const GeneratorLock&) = delete;
    Mt19937& engine() { return generator_.engine; }

  private:
    Generator& generator_;
};

Generator& default_generator();  // torch.default_generator: seeded with 67280421310721 until reseeded
Generator& generator_of(
    const Value& argument);      // the one given, or the default if None; RuntimeError if not for the CPU
PyTypeObject* generator_type();  // torch._C.Generator; made on first use, needs the GIL
bool generator_check(PyObject* o);
// What makes generators of a device that a program made its own: called with its number.
void set_own_generator_maker(PyObject* maker);

}  // namespace mt
