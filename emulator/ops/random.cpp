// Random numbers: a counter-based stream of (seed, offset). The device's own stream differs, as it does from PyTorch's.
#include "op.h"

#include <algorithm>
#include <numeric>

using namespace emu;

namespace {

struct Stream {
    uint64_t state;
    Stream(int64_t seed, int64_t offset)
        : state(static_cast<uint64_t>(seed) * 0x9e3779b97f4a7c15u +
                static_cast<uint64_t>(offset) * 0xd1342543de82ef95u) {
        next();
    }
    uint64_t next() {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }
};
// Where an operator's numbers begin: numbers of the host, or what device memory holds when it runs, and a number to
// add.
struct Begin {
    int64_t seed = 0, offset = 0;
    View seed_cell, offset_cell;
    bool in_memory = false;

    Begin(int64_t seed, int64_t offset) : seed(seed), offset(offset) {}
    Begin(T seed_tensor, T offset_tensor, int64_t more)
        : offset(more),
          seed_cell(need(seed_tensor, "seedTensor")),
          offset_cell(need(offset_tensor, "offsetTensor")),
          in_memory(true) {
        for (const View* v : {&seed_cell, &offset_cell})
            if (v->dtype != ACL_INT64 || v->numel() != 1)
                reject("seed and offset have to be one int64 each, got ", v->numel(), " ", dtype_name(v->dtype));
    }
    Stream stream() const {
        if (!in_memory) return Stream(seed, offset);
        return Stream(load<int64_t>(seed_cell)[0], load<int64_t>(offset_cell)[0] + offset);
    }
};
template <class F>
Plan drawn(const View& v, Begin begin, F f) {
    return {[=] {
        Stream s = begin.stream();
        std::vector<double> x(static_cast<size_t>(v.numel()));
        for (auto& e : x) e = f(s);
        store(v, x);
    }};
}
void check_probability(double p) {
    if (!(p >= 0 && p <= 1)) reject("a probability of ", p);
}

Plan normal(O self, f32 mean, f32 std, Begin begin) {
    return drawn(need(self, "selfRef"), begin, [=](Stream& s) { return mean + std * s.normal(); });
}
Plan InplaceNormal(O self, f32 mean, f32 std, i64 seed, i64 offset) { return normal(self, mean, std, {seed, offset}); }
Plan InplaceNormalTensor(O self, f32 mean, f32 std, T seed, T offset, i64 more) {
    return normal(self, mean, std, {seed, offset, more});
}
Plan uniform(O self, f64 from, f64 to, Begin begin) {
    View v = need(self, "selfRef");
    if (from > to) reject("from ", from, " to ", to);
    // Rounding to the dtype must not reach the upper end.
    double top = v.dtype == ACL_FLOAT
                     ? static_cast<double>(std::nextafterf(static_cast<float>(to), static_cast<float>(from)))
                     : to;
    return drawn(v, begin,
                 [=](Stream& s) { return std::min(from + (to - from) * s.uniform(), from == to ? to : top); });
}
Plan InplaceUniform(O self, f64 from, f64 to, u64 seed, u64 offset) {
    return uniform(self, from, to, {static_cast<int64_t>(seed), static_cast<int64_t>(offset)});
}
Plan InplaceUniformTensor(O self, f64 from, f64 to, T seed, T offset, u64 more) {
    return uniform(self, from, to, {seed, offset, static_cast<int64_t>(more)});
}
Plan whole(O self, i64 from, i64 to, Begin begin) {
    if (from >= to) reject("from ", from, " to ", to);
    return drawn(need(self, "selfRef"), begin, [=](Stream& s) {
        return static_cast<double>(from + static_cast<int64_t>(s.next() % static_cast<uint64_t>(to - from)));
    });
}
Plan InplaceRandom(O self, i64 from, i64 to, i64 seed, i64 offset) { return whole(self, from, to, {seed, offset}); }
Plan InplaceRandomTensor(O self, i64 from, i64 to, T seed, T offset, i64 more) {
    return whole(self, from, to, {seed, offset, more});
}
Plan InplaceBernoulli(O self, S prob, i64 seed, i64 offset) {
    double p = need_real(prob, "prob");
    check_probability(p);
    return drawn(need(self, "selfRef"), Begin(seed, offset), [=](Stream& s) { return s.uniform() < p; });
}
Plan InplaceBernoulliTensor(O self, T prob, i64 seed, i64 offset) {
    View v = need(self, "selfRef"), p = need(prob, "prob");
    return {[=] {
        Stream s(seed, offset);
        auto x = load<double>(p, shape_of(v));
        for (auto& e : x) e = s.uniform() < e;
        store(v, x);
    }};
}
Plan Randperm(i64 n, i64 seed, i64 offset, O out) {
    View v = need(out, "out");
    same_shape(v, {n}, "the output");
    return {[=] {
        Stream s(seed, offset);
        std::vector<int64_t> x(static_cast<size_t>(n));
        std::iota(x.begin(), x.end(), 0);
        for (size_t i = x.size(); i > 1; i--) std::swap(x[i - 1], x[s.next() % i]);
        store(v, x);
    }};
}
Plan chosen(T self, i64 count, bool replacement, Begin begin, O out) {
    View v = need(self, "self"), o = need(out, "out");
    if (v.rank < 1 || v.rank > 2) reject("probabilities of rank ", v.rank);
    Shape expected = shape_of(v);
    int64_t n = expected.back();
    expected.back() = count;
    same_shape(o, expected, "the output");
    if (!replacement && count > n) reject(count, " samples of ", n, " without replacement");
    return {[=] {
        Stream s = begin.stream();
        auto p = load<double>(v);
        std::vector<int64_t> x;
        for (size_t row = 0; row * static_cast<size_t>(n) < p.size(); row++) {
            double* w = p.data() + row * static_cast<size_t>(n);
            for (int64_t k = 0; k < count; k++) {
                double u = s.uniform() * std::accumulate(w, w + n, 0.0);
                int64_t i = 0;
                while (i + 1 < n && (u -= w[i]) >= 0) i++;
                while (i > 0 && w[i] == 0) i--;
                x.push_back(i);
                if (!replacement) w[i] = 0;
            }
        }
        store(o, x);
    }};
}
Plan Multinomial(T self, i64 count, bool replacement, i64 seed, i64 offset, O out) {
    return chosen(self, count, replacement, {seed, offset}, out);
}
Plan MultinomialTensor(T self, i64 count, bool replacement, T seed, T offset, i64 more, O out) {
    return chosen(self, count, replacement, {seed, offset, more}, out);
}

// ---- dropout: one bit an element, bytes padded to 128 elements ----

int64_t mask_bytes(int64_t n) { return (n + 127) / 128 * 16; }
Plan DropoutGenMask(IA shape, f64 prob, i64 seed, i64 offset, O out) {
    if (!shape) throw Invalid{kParamNull, "shape is null"};
    check_probability(prob);
    View v = need(out, "out");
    if (v.dtype != ACL_UINT8 || v.numel() != mask_bytes(product(shape->values)))
        reject("the mask must be uint8 of ", mask_bytes(product(shape->values)), " elements");
    return drawn(v, Begin(seed, offset), [=](Stream& s) {
        int bits = 0;
        for (int i = 0; i < 8; i++) bits |= (s.uniform() >= prob) << i;
        return bits;
    });
}
Plan DropoutDoMask(T self, T mask, f64 prob, O out) {
    View v = need(self, "self"), m = need(mask, "mask"), o = need(out, "out");
    check_probability(prob);
    same_shape(o, shape_of(v), "the output");
    if (m.dtype != ACL_UINT8 || m.numel() < mask_bytes(v.numel()))
        reject("the mask must be uint8 of ", mask_bytes(v.numel()), " elements");
    return {[=] {
        with_float(kind_of(v.dtype), [&](auto c) {
            using C = decltype(c);
            auto x = load<C>(v);
            auto bits = load<int64_t>(m);
            C scale = prob == 1 ? C(0) : C(1 / (1 - prob));
            for (size_t i = 0; i < x.size(); i++) x[i] = bits[i / 8] >> (i % 8) & 1 ? x[i] * scale : C(0);
            store(o, x);
        });
    }};
}
}  // namespace

ACLNN(InplaceNormal, O, f32, f32, i64, i64)
ACLNN(InplaceUniform, O, f64, f64, u64, u64)
ACLNN(InplaceRandom, O, i64, i64, i64, i64)
ACLNN(InplaceBernoulli, O, S, i64, i64)
ACLNN(InplaceBernoulliTensor, O, T, i64, i64)
ACLNN(Randperm, i64, i64, i64, O)
ACLNN(Multinomial, T, i64, bool, i64, i64, O)
ACLNN(DropoutGenMask, IA, f64, i64, i64, O)
ACLNN(DropoutDoMask, T, T, f64, O)
ACLNN(InplaceNormalTensor, O, f32, f32, T, T, i64)
ACLNN(InplaceUniformTensor, O, f64, f64, T, T, u64)
ACLNN(InplaceRandomTensor, O, i64, i64, T, T, i64)
ACLNN(MultinomialTensor, T, i64, bool, T, T, i64, O)
