// Products of 8-bit whole numbers, with sums of 32 bits.
#pragma once

#include <cstdint>

namespace mt {

// c[i][j] = sum over k of a[i][k] b[j][k]: `m` rows of `a` and `n` rows of `b`, each of `k` numbers; c is dense.
void int8_product(int64_t m, int64_t n, int64_t k, const int8_t* a, const int8_t* b, int32_t* c);
void int8_product(int64_t m, int64_t n, int64_t k, const uint8_t* a, const int8_t* b, int32_t* c);

// The same through oneDNN; false where it has no exact one.
bool onednn_int8_product(int64_t m, int64_t n, int64_t k, const void* a, bool a_is_signed, const int8_t* b, int32_t* c);

}  // namespace mt
