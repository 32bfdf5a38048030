// Attention of runs of queries to runs of keys, in double precision: what the operators for training and inference
// share.
#pragma once

#include "fused.h"

namespace emu::attention {

// Where the rows of a tensor of heads lie: (batch, head, token) -> the first of `width` elements.
struct Heads {
    int64_t batches = 1, heads = 1, tokens = 0, width = 0;
    int64_t of_batch = 0, of_head = 0, of_token = 0;
    int64_t at(int64_t b, int64_t h, int64_t t) const { return b * of_batch + h * of_head + t * of_token; }
};
Heads heads_of_layout(const View& v, const char* what, const std::string& layout, int64_t heads);

enum Mode { kGiven, kWhole, kCausalTop, kCausalBottom, kBand, kPrefix, kPrefixSmall };
struct Mask {
    bool given = false;
    std::vector<int64_t> values;
    Shape shape;  // (batch, heads, queries, keys), each but the last two perhaps 1
    int64_t mode = kGiven, before = 0, after = 0;
    std::vector<int64_t> prefix;
    // Whether query i of `queries` does not see key j of `keys`.
    bool hides(int64_t batch, int64_t head, int64_t i, int64_t j, int64_t queries, int64_t keys) const;
};
// The mask's checks, before anything is read.
Shape check_mask(const Maybe& mask, int64_t mode, IA prefix, int64_t most);

// Numbers for each score: a shift, or what dropout keeps.
struct Scores {
    bool given = false;
    std::vector<double> values;
    Shape shape;
    double of(int64_t b, int64_t h, int64_t i, int64_t j) const {
        auto place = [&](int d, int64_t n) { return shape[at(d)] == 1 ? 0 : n; };
        return values[at(((place(0, b) * shape[1] + place(1, h)) * shape[2] + place(2, i)) * shape[3] + place(3, j))];
    }
};

// One run of queries against one run of keys; key rows may lie anywhere.
struct Run {
    int64_t batch, q_first, queries, k_first, keys;
    int64_t first_score;  // its place among the bits of a dropout mask
    std::function<int64_t(int64_t head, int64_t token)> key_row, value_row;
};
struct Call {
    int64_t heads, key_heads, width, value_width;
    double scale, keep = 1;
    bool shift_first = false;  // the shift is added before the scale is applied
    Mask mask;
    Scores shift;
    std::vector<uint8_t> kept;  // bits; empty without dropout
    double kept_factor(const Run& r, int64_t h, int64_t i, int64_t j) const {
        if (kept.empty()) return 1;
        int64_t bit = r.first_score + (h * r.queries + i) * r.keys + j;
        return kept[at(bit / 8)] >> (bit % 8) & 1 ? 1 / keep : 0;
    }
    // Scores of query i of a run; those that are hidden are minus infinity.
    void scores(const Run& r, int64_t h, int64_t i, const double* q, const double* keys, std::vector<double>& s) const;
};
// The attention of one query: its result, the largest score (0 where nothing is seen) and the sum (0 then).
void attend(const Call& c, const Run& r, int64_t h, int64_t i, const double* q, const double* keys,
            const double* values, double* out, double* top, double* sum);

}  // namespace emu::attention
