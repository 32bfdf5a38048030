#pragma once
#include <cstdint>

struct LayerNormTiling {
    uint32_t rows;
    uint32_t columns;
    float epsilon;
};
