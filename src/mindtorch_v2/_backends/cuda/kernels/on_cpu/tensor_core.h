// Tensor cores by all lanes of a warp together, with the fragments that PTX ISA documents; copies that come late or at once.
#pragma once

#include <vector>

// ---- copies to shared memory beside the computation ----

// In every other block they come when they are waited for, in the others at once: a wait that is missing shows in the ones, a buffer
// that is written while it is read in the others.
struct emulated_copy {
    void* to;
    const void* from;
    int bytes;
    bool inside;
    void run() const {
        if (inside)
            memcpy(to, from, bytes);
        else
            memset(to, 0, bytes);
    }
};
struct emulated_copies {
    unsigned long long block = 0;
    std::vector<std::vector<emulated_copy>> groups;
    std::vector<emulated_copy> open;
};
static inline emulated_copies& emulated_copies_of_thread() {
    static thread_local emulated_copies* all = new emulated_copies[1024];  // of this thread of the host, as long as it lives
    emulated_copies& mine = all[emulated_thread()];
    if (mine.block != emulated_now->serial) {
        mine.block = emulated_now->serial;
        mine.groups.clear();
        mine.open.clear();
    }
    return mine;
}

template <int BYTES>
static inline void copy_later(void* to, const void* from, bool inside) {
    static_assert(BYTES == 4 || BYTES == 16, "as cp.async has them");
    if ((uintptr_t)to % BYTES || (uintptr_t)from % BYTES) emulated_now->fail(emulated_now, 716, "cp.async: an address is not aligned");
    const emulated_copy copy = {to, from, BYTES, inside};
    if (emulated_now->serial % 2)
        copy.run();
    else
        emulated_copies_of_thread().open.push_back(copy);
}
static inline void end_copies() {
    emulated_copies& mine = emulated_copies_of_thread();
    mine.groups.push_back(static_cast<std::vector<emulated_copy>&&>(mine.open));
    mine.open.clear();
}
template <int N>
static inline void wait_for_copies() {
    emulated_copies& mine = emulated_copies_of_thread();
    while (mine.groups.size() > N) {
        for (const emulated_copy& copy : mine.groups.front()) copy.run();
        mine.groups.erase(mine.groups.begin());
    }
}

// ---- matrices out of shared memory ----

struct emulated_rows {
    const void* row;
    uint32_t* r;
};
template <bool TRANSPOSED>
static inline void emulated_matrices(void* const* lanes) {
    uint16_t held[32][8];
    for (int i = 0; i < 32; i++) {
        const auto& lane = *(const emulated_rows*)lanes[i];
        if ((uintptr_t)lane.row % 16) emulated_now->fail(emulated_now, 716, "ldmatrix: a row is not aligned to 16 bytes");
        memcpy(held[i], lane.row, 16);
    }
    for (int i = 0; i < 32; i++)
        for (int m = 0; m < 4; m++) {
            const int g = i / 4, t = i % 4;
            const uint16_t low = TRANSPOSED ? held[m * 8 + 2 * t][g] : held[m * 8 + g][2 * t];
            const uint16_t high = TRANSPOSED ? held[m * 8 + 2 * t + 1][g] : held[m * 8 + g][2 * t + 1];
            ((const emulated_rows*)lanes[i])->r[m] = (uint32_t)high << 16 | low;
        }
}
static inline void load_matrices(uint32_t (&r)[4], const void* row) {
    emulated_rows mine = {row, r};
    emulated_together("ldmatrix", &mine, emulated_matrices<false>);
}
static inline void load_transposed(uint32_t (&r)[4], const void* row) {
    emulated_rows mine = {row, r};
    emulated_together("ldmatrix.trans", &mine, emulated_matrices<true>);
}

// ---- products ----

template <class E>
static inline float emulated_half_of(uint32_t both, int which) {
    E e;
    e.bits = (uint16_t)(both >> 16 * which);
    return (float)e;
}
struct emulated_factors {
    float* c;
    const uint32_t* a;
    uint32_t b[2];
};
template <class E>
static inline void emulated_product(void* const* lanes) {
    float a[16][16], b[16][8];
    for (int i = 0; i < 32; i++) {
        const auto& lane = *(const emulated_factors*)lanes[i];
        const int g = i / 4, t = i % 4;
        for (int r = 0; r < 4; r++)
            for (int half = 0; half < 2; half++) {
                a[g + r % 2 * 8][2 * t + half + r / 2 * 8] = emulated_half_of<E>(lane.a[r], half);
                if (r < 2) b[2 * t + half + r * 8][g] = emulated_half_of<E>(lane.b[r], half);
            }
    }
    for (int i = 0; i < 32; i++)
        for (int r = 0; r < 4; r++) {
            const int row = i / 4 + r / 2 * 8, column = i % 4 * 2 + r % 2;
            float sum = 0;
            for (int k = 0; k < 16; k++) sum += a[row][k] * b[k][column];
            ((const emulated_factors*)lanes[i])->c[r] += sum;
        }
}
template <class E>
static inline void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    emulated_factors mine = {c, a, {b0, b1}};
    emulated_together("mma", &mine, emulated_product<E>);
}

template <class E>
static inline uint32_t pair(float first, float second) {
    return (uint32_t)E(second).bits << 16 | E(first).bits;
}
static inline float power_of_2(float x) { return __builtin_exp2f(x); }
