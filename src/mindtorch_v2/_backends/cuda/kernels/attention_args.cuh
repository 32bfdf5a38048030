// What kernels of attention are given, and which keys a query sees. The words: IN and MASK (element types), D and DV (features of keys
// and of values), CAUSAL, HAS_MASK, DROPOUT (`kept` says which weights stay).
#pragma once

typedef math_of<IN>::type T;

// A tensor [batch, head, position], or one with features besides, which lie next to each other.
template <class E>
struct Placed {
    E* at;
    int64_t batch, head, position;
    DEVICE E* of(int64_t b, int64_t h) const { return at + b * batch + h * head; }
};

struct Args {
    int64_t heads, key_heads, queries, keys;
    double scale, keep_scale;
    Placed<const IN> q, k, v;
    const MASK* mask;
    int64_t mask_stride[4];
    const b8* kept;
    Placed<IN> out;
    Placed<T> lse;
    Placed<const IN> grad;
    Placed<T> delta;  // of each query the sum of grad * out
    Placed<IN> by_q, by_k, by_v;
};

struct Place {
    int64_t b, h, key_h;
};
DEVICE Place place_of(const Args& a, int64_t head) {
    const int64_t h = head % a.heads;
    return Place{head / a.heads, h, h / (a.heads / a.key_heads)};
}
template <class Index>
DEVICE bool sees(const Args& a, Index query, Index key) {
    return query < static_cast<Index>(a.queries) && key < static_cast<Index>(a.keys) && (!CAUSAL || key <= query);
}
// What the mask adds to a score.
DEVICE T masked(const Args& a, const Place& p, int64_t query, int64_t key) {
    if (!HAS_MASK) return T(0);
    const MASK m = a.mask[p.b * a.mask_stride[0] + p.h * a.mask_stride[1] + query * a.mask_stride[2] + key * a.mask_stride[3]];
    return same<MASK, b8>::value ? (to<bool>(m) ? T(0) : lowest<T>()) : to<T>(m);
}
// The factor of dropout for a weight.
DEVICE T keep(const Args& a, const Place& p, int64_t query, int64_t key) {
    if (!DROPOUT) return T(1);
    return a.kept[((p.b * a.heads + p.h) * a.queries + query) * a.keys + key] ? T(a.keep_scale) : T(0);
}
