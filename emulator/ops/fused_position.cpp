// Rotary position embeddings, in double precision, rounded once.
#include "fused.h"

using namespace emu;

namespace {

// (x1, x2) -> (-x2, x1) of halves or of neighbours: where each element of a row comes from, and its sign.
struct Turn {
    int64_t width;
    bool neighbours;
    int64_t from(int64_t i) const {
        if (neighbours) return i % 2 ? i - 1 : i + 1;
        return i < width / 2 ? i + width / 2 : i - width / 2;
    }
    double sign(int64_t i) const { return (neighbours ? i % 2 == 0 : i < width / 2) ? -1 : 1; }
};
Turn check_turn(const View& x, const char* what, int64_t mode) {
    allow_float(x, what);
    allow_number(mode, "mode", 0, 1);
    allow_rank(x, what, 3, 4);
    int64_t width = x.sizes[x.rank - 1];
    if (width % 2 || width > 896) reject("the last size of ", what, " is ", width, ", allowed: even sizes up to 896");
    return {width, mode == 1};
}
void check_angles(const View& angles, const char* what, const View& x) {
    if (angles.rank != x.rank) reject(what, " has ", angles.rank, " dimensions, allowed: ", x.rank, ", as x has");
    for (int d = 0; d < x.rank; d++)
        if (angles.sizes[d] != x.sizes[d] && (angles.sizes[d] != 1 || d == x.rank - 1))
            reject(what, " has the shape ", shown(shape_of(angles)), ", allowed: that of x, ", shown(shape_of(x)),
                   ", or 1 before the last size");
}
std::vector<double> turned(const std::vector<double>& x, const std::vector<double>& c, const std::vector<double>& s,
                           const Turn& t) {
    std::vector<double> y(x.size());
    for (size_t i = 0; i < x.size(); i++) {
        int64_t k = static_cast<int64_t>(i) % t.width;
        y[i] = c[i] * x[i] + s[i] * t.sign(k) * x[i - at(k) + at(t.from(k))];
    }
    return y;
}

Plan RotaryPositionEmbedding(T input, T cos, T sin, i64 mode, O out) {
    View x = need(input, "x"), c = need(cos, "cos"), s = need(sin, "sin"), y = need(out, "out");
    Turn t = check_turn(x, "x", mode);
    check_angles(c, "cos", x);
    check_angles(s, "sin", x);
    allow_like(c, "cos", x, "x");
    allow_like(s, "sin", x, "x");
    same_shape(y, shape_of(x), "out");
    return {[=] { store(y, turned(load<double>(x), load<double>(c, shape_of(x)), load<double>(s, shape_of(x)), t)); }};
}
// Sums what was spread over the sizes of 1.
void put_summed(const View& to, const std::vector<double>& x, const Shape& shape) {
    std::vector<double> sums(at(to.numel()));
    for (size_t i = 0; i < x.size(); i++) {
        int64_t rest = static_cast<int64_t>(i), place = 0, step = 1;
        for (int d = to.rank - 1; d >= 0; d--) {
            int64_t here = rest % shape[at(d)];
            rest /= shape[at(d)];
            if (to.sizes[d] != 1) place += here * step;
            step *= to.sizes[d];
        }
        sums[at(place)] += x[i];
    }
    store(to, sums);
}
Plan RotaryPositionEmbeddingGrad(T grad, T cos, T sin, T input, i64 mode, O dx, O dcos, O dsin) {
    View g = need(grad, "dy"), c = need(cos, "cos"), s = need(sin, "sin"), to = need(dx, "dxOut");
    Turn t = check_turn(g, "dy", mode);
    check_angles(c, "cos", g);
    check_angles(s, "sin", g);
    same_shape(to, shape_of(g), "dxOut");
    Maybe x(input), by_cos(dcos), by_sin(dsin);
    if (x.given) same_shape(x.view, shape_of(g), "x");
    return {[=] {
        auto up = load<double>(g), cs = load<double>(c, shape_of(g)), sn = load<double>(s, shape_of(g));
        std::vector<double> made(up.size()), a(up.size()), b(up.size());
        auto v = x.values(0, 0);
        for (size_t i = 0; i < up.size(); i++) {
            int64_t k = static_cast<int64_t>(i) % t.width;
            size_t other = i - at(k) + at(t.from(k));
            made[i] += cs[i] * up[i];
            made[other] += sn[i] * t.sign(k) * up[i];
            if (!x.given) continue;
            a[i] = up[i] * v[i];
            b[i] = up[i] * t.sign(k) * v[other];
        }
        store(to, made);
        if (!x.given) return;
        if (by_cos.given) put_summed(by_cos.view, a, shape_of(g));
        if (by_sin.given) put_summed(by_sin.view, b, shape_of(g));
    }};
}
Plan InterleaveRope(T input, T cos, T sin, O out) {
    View x = need(input, "x"), c = need(cos, "cos"), s = need(sin, "sin"), y = need(out, "out");
    allow(x, "x", {ACL_FLOAT16, ACL_BF16});
    allow_like(c, "cos", x, "x");
    allow_like(s, "sin", x, "x");
    if (x.rank != 4 || x.sizes[3] != 64) reject("x has the shape ", shown(shape_of(x)), ", allowed: (B, N, S, 64)");
    for (const View* angles : {&c, &s})
        if (angles->rank != 4 || angles->sizes[1] != 1 || angles->sizes[3] != 64)
            reject("cos and sin have the shape ", shown(shape_of(*angles)), ", allowed: (B, 1, S or 1, 64)");
    same_shape(y, shape_of(x), "out");
    return {[=] {
        auto v = load<double>(x);
        std::vector<double> halved(v.size());
        for (size_t i = 0; i < v.size(); i++)
            halved[i] = v[i / 64 * 64 + (i % 64 < 32 ? i % 64 * 2 : (i % 64 - 32) * 2 + 1)];
        store(y, turned(halved, load<double>(c, shape_of(x)), load<double>(s, shape_of(x)), {64, false}));
    }};
}

// Query and key in place; the layouts differ in where the heads stand, for which the angles have a 1.
Plan ApplyRotaryPosEmbV2(O query, O key, T cos, T sin, i64 layout, str mode) {
    View q = need(query, "queryRef"), k = need(key, "keyRef"), c = need(cos, "cos"), s = need(sin, "sin");
    allow_number(layout, "layout", 1, 4);
    std::string how = text_or(mode, "half");
    if (how != "half" && how != "interleave") reject("rotaryMode is '", how, "', allowed: half, interleave");
    int rank = layout == 4 ? 3 : 4;
    for (auto& [x, what] : {std::pair{q, "queryRef"}, {k, "keyRef"}}) {
        allow_float(x, what);
        allow_like(x, what, q, "queryRef");
        allow_rank(x, what, rank, rank);
        int64_t width = x.sizes[rank - 1];
        if (width % 2 || width > 896)
            reject("the last size of ", what, " is ", width, ", allowed: even sizes up to 896");
        for (auto& [angles, name] : {std::pair{c, "cos"}, {s, "sin"}}) {
            allow_like(angles, name, q, "queryRef");
            check_angles(angles, name, x);
        }
    }
    return {[=] {
        for (const View* x : {&q, &k}) {
            Turn t{x->sizes[x->rank - 1], how == "interleave"};
            store(*x, turned(load<double>(*x), load<double>(c, shape_of(*x)), load<double>(s, shape_of(*x)), t));
        }
    }};
}

}  // namespace

ACLNN(ApplyRotaryPosEmbV2, O, O, T, T, i64, str)
ACLNN(RotaryPositionEmbedding, T, T, T, i64, O)
ACLNN(RotaryPositionEmbeddingGrad, T, T, T, T, i64, O, O, O)
ACLNN(InterleaveRope, T, T, T, O)
