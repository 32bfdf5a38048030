// Engines of random numbers by PyTorch's names: mt19937 and Philox.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace at {

// The state of a Mersenne twister: how many of its words are left before the next ones are made, and which is next.
constexpr int MERSENNE_STATE_N = 624;
struct mt19937_data_pod {
    uint64_t seed_;
    int left_;
    bool seeded_;
    uint32_t next_;
    std::array<uint32_t, MERSENNE_STATE_N> state_;
};
// Matsumoto and Nishimura's, of 32 bits (1998).
class mt19937 {
  public:
    explicit mt19937(uint64_t seed = 5489) : data_{seed, 1, true, 0, {}} {
        data_.state_[0] = static_cast<uint32_t>(seed);
        for (uint32_t i = 1; i < words; i++) {
            const uint32_t before = data_.state_[i - 1];
            data_.state_[i] = 1812433253 * (before ^ (before >> 30)) + i;
        }
    }
    uint32_t operator()() {
        if (--data_.left_ == 0) renew();
        uint32_t y = data_.state_[data_.next_++];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680;
        y ^= (y << 15) & 0xefc60000;
        return y ^ (y >> 18);
    }
    uint64_t seed() const { return data_.seed_; }
    mt19937_data_pod data() const { return data_; }
    void set_data(const mt19937_data_pod& data) { data_ = data; }
    bool is_valid() const {
        return data_.seeded_ && data_.left_ > 0 && data_.left_ <= MERSENNE_STATE_N && data_.next_ <= words;
    }

  private:
    static constexpr uint32_t words = MERSENNE_STATE_N, distance = 397;
    void renew() {
        auto& s = data_.state_;
        for (uint32_t i = 0; i < words; i++) {
            const uint32_t y = (s[i] & 0x80000000) | (s[(i + 1) % words] & 0x7fffffff);
            s[i] = s[(i + distance) % words] ^ (y >> 1) ^ (y & 1 ? 0x9908b0df : 0);
        }
        data_.left_ = MERSENNE_STATE_N;
        data_.next_ = 0;
    }
    mt19937_data_pod data_;
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
