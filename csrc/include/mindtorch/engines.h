// Engines of random numbers by PyTorch's names: mt19937 and Philox.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <random>

namespace at {

class mt19937 {
  public:
    explicit mt19937(uint64_t seed = 5489) : seed_(seed), engine_(static_cast<uint32_t>(seed & 0xffffffff)) {}
    uint32_t operator()() { return static_cast<uint32_t>(engine_()); }
    uint64_t seed() const { return seed_; }
    bool is_valid() const { return true; }

  private:
    uint64_t seed_;
    std::mt19937 engine_;
};

// Philox of four words and ten rounds (Salmon and others, 2011): a number for every key and counter.
class philox_engine {
  public:
    explicit philox_engine(uint64_t seed = 67280421310721, uint64_t subsequence = 0, uint64_t offset = 0) {
        reset_state(seed, subsequence);
        incr_n(offset);
    }
    void reset_state(uint64_t seed = 67280421310721, uint64_t subsequence = 0) {
        key_ = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
        counter_ = {0, 0, static_cast<uint32_t>(subsequence), static_cast<uint32_t>(subsequence >> 32)};
        place_ = 0;
    }
    void set_offset(uint64_t offset) {
        counter_[0] = static_cast<uint32_t>(offset);
        counter_[1] = static_cast<uint32_t>(offset >> 32);
    }
    uint64_t get_offset() const { return counter_[0] | static_cast<uint64_t>(counter_[1]) << 32; }

    uint32_t operator()(int32_t rounds = 10) {
        if (place_ == 0) {
            words_ = rounds_of(counter_, key_, rounds);
            incr();
        }
        const uint32_t word = words_[place_];
        place_ = (place_ + 1) & 3;
        return word;
    }
    // Of the normal distribution, by two words.
    float randn(uint32_t rounds) {
        if (place_ == 0) {
            words_ = rounds_of(counter_, key_, static_cast<int32_t>(rounds));
            incr();
        }
        const float u1 = 1 - real(words_[0]), u2 = 1 - real(words_[1]);
        return static_cast<float>(std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * 3.14159265358979323846 * u2));
    }
    void incr_n(uint64_t n) {
        const auto low = static_cast<uint32_t>(n);
        auto high = static_cast<uint32_t>(n >> 32);
        counter_[0] += low;
        if (counter_[0] < low && ++high == 0) carry(2);
        counter_[1] += high;
        if (counter_[1] < high) carry(2);
    }
    void incr() { carry(0); }

  private:
    using Words = std::array<uint32_t, 4>;
    void carry(size_t from) {
        for (size_t i = from; i < 4; i++)
            if (++counter_[i]) return;
    }
    static float real(uint32_t word) { return static_cast<float>(word & 0x7fffffff) * 4.6566127342e-10F; }
    static Words rounds_of(Words c, std::array<uint32_t, 2> k, int32_t rounds) {
        for (int32_t i = 0; i < rounds; i++) {
            const uint64_t first = uint64_t{0xD2511F53} * c[0], second = uint64_t{0xCD9E8D57} * c[2];
            c = {static_cast<uint32_t>(second >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(second),
                 static_cast<uint32_t>(first >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(first)};
            k[0] += 0x9E3779B9;
            k[1] += 0xBB67AE85;
        }
        return c;
    }

    Words counter_{}, words_{};
    std::array<uint32_t, 2> key_{};
    size_t place_ = 0;
};
using Philox4_32 = philox_engine;

}  // namespace at
