// Copies, casts, fills, ranges, and rearrangements that copy.
#include "op.h"

using namespace emu;

namespace {

// Elements of one tensor to another of the broadcast shape.
Plan converted(const View& from, const View& to) {
    Shape shape = shape_of(to);
    if (broadcast({&from, &to}) != shape)
        reject("a tensor of shape ", shown(shape_of(from)), " cannot be copied into one of ", shown(shape));
    Kind kind = wider(kind_of(from.dtype), kind_of(to.dtype));
    // Integers wider than float's mantissa keep their value on the way to double.
    if (kind_of(from.dtype) == Kind::I64 && kind == Kind::F64) kind = Kind::F64;
    return {[=] { with_kind(kind, [&](auto c) { store(to, load<decltype(c)>(from, shape)); }); }};
}
Plan Cast(T self, dt dtype, O out) {
    const View &a = need(self, "self"), &b = need(out, "out");
    if (b.dtype != dtype) reject("dtype is ", dtype_name(dtype), ", but the output is of ", dtype_name(b.dtype));
    same_shape(b, shape_of(a), "the output");
    return converted(a, b);
}
// Complex numbers as pairs of real ones.
bool in_pairs(View& v) {
    if (v.dtype != ACL_COMPLEX64 && v.dtype != ACL_COMPLEX128) return false;
    if (v.rank == kMaxRank) reject("complex numbers with ", v.rank, " dimensions, allowed: ", kMaxRank - 1);
    for (int d = 0; d < v.rank; d++) v.strides[d] *= 2;
    v.sizes[v.rank] = 2;
    v.strides[v.rank++] = 1;
    v.offset *= 2;
    v.storage *= 2;
    v.dtype = v.dtype == ACL_COMPLEX64 ? ACL_FLOAT : ACL_DOUBLE;
    return true;
}
Plan InplaceCopy(O self, T src) {
    View from = need(src, "src"), to = need(self, "selfRef");
    bool into = in_pairs(to), out_of = in_pairs(from);
    if (into == out_of) return converted(from, to);
    if (out_of) reject("a copy of ", dtype_name(src->view.dtype), " to ", dtype_name(self->view.dtype));
    View real = to, imaginary = to;  // of a real number's
    real.rank = --imaginary.rank;
    imaginary.offset++;
    Plan copy = converted(from, real);
    return {[=] {
        copy.run();
        store(imaginary, std::vector<double>(static_cast<size_t>(imaginary.numel())));
    }};
}

struct Number {
    double real;
    int64_t whole;
};
Plan filled(const View& to, Number n, bool integer) {
    kind_of(to.dtype);
    return {[=] {
        if (kind_of(to.dtype) == Kind::I64 && integer)
            store(to, std::vector<int64_t>(static_cast<size_t>(to.numel()), n.whole));
        else
            store(to, std::vector<double>(static_cast<size_t>(to.numel()),
                                          integer ? static_cast<double>(n.whole) : n.real));
    }};
}
Plan InplaceZero(O self) {
    View to = need(self, "selfRef");
    in_pairs(to);
    return filled(to, {0, 0}, true);
}
Plan InplaceOne(O self) { return filled(need(self, "selfRef"), {1, 1}, true); }
Plan InplaceFillScalar(O self, S value) {
    need_real(value, "value");
    return filled(need(self, "selfRef"), {value->real, value->integer}, value->is_integer());
}
Plan InplaceFillTensor(O self, T value) {
    if (need(value, "value").numel() != 1) reject("the value has ", value->view.numel(), " elements");
    return converted(value->view, need(self, "selfRef"));
}

template <class Value>
Plan masked(const View& self, const View& mask, Value value) {
    if (mask.dtype != ACL_BOOL) reject("a mask of ", dtype_name(mask.dtype));
    Shape shape = shape_of(self);
    if (broadcast({&self, &mask}) != shape) reject("a mask of shape ", shown(shape_of(mask)), " for ", shown(shape));
    return {[=] {
        with_kind(kind_of(self.dtype), [&](auto c) {
            using C = decltype(c);
            auto x = load<C>(self);
            auto m = load<int64_t>(mask, shape);
            C v = static_cast<C>(value(c));
            if (self.dtype == ACL_BOOL) v = static_cast<C>(value(double()) != 0);
            for (size_t i = 0; i < x.size(); i++)
                if (m[i]) x[i] = v;
            store(self, x);
        });
    }};
}
Plan InplaceMaskedFillScalar(O self, T mask, S value) {
    need_real(value, "value");
    bool integer = value->is_integer();
    double real = value->real;
    int64_t whole = value->integer;
    return masked(need(self, "selfRef"), need(mask, "mask"), [=](auto c) {
        using C = decltype(c);
        return integer ? static_cast<C>(whole) : static_cast<C>(real);
    });
}
Plan InplaceMaskedFillTensor(O self, T mask, T value) {
    View v = need(value, "value");
    if (v.numel() != 1) reject("the value has ", v.numel(), " elements");
    return masked(need(self, "selfRef"), need(mask, "mask"), [v](auto c) { return load<decltype(c)>(v)[0]; });
}

Plan Arange(S start, S end, S step, O out) {
    double a = need_real(start, "start"), e = need_real(end, "end"), s = need_real(step, "step");
    if (s == 0) reject("a step of 0");
    View to = need(out, "out");
    bool whole = start->is_integer() && step->is_integer();
    int64_t ia = start->as_int(), is = step->as_int();
    int64_t n = static_cast<int64_t>(std::ceil((e - a) / s));
    if (to.rank != 1 || to.sizes[0] != std::max<int64_t>(n, 0))
        reject("the output has ", to.numel(), " elements, expected ", n);
    return {[=] {
        size_t count = static_cast<size_t>(to.numel());
        if (whole) {
            std::vector<int64_t> x(count);
            for (size_t i = 0; i < count; i++) x[i] = ia + static_cast<int64_t>(i) * is;
            store(to, x);
        } else {
            std::vector<double> x(count);
            for (size_t i = 0; i < count; i++) x[i] = a + static_cast<double>(i) * s;
            store(to, x);
        }
    }};
}
Plan Linspace(S start, S end, i64 steps, O out) {
    double a = need_real(start, "start"), e = need_real(end, "end");
    View to = need(out, "out");
    if (to.rank != 1 || to.sizes[0] != steps) reject("the output has ", to.numel(), " elements, expected ", steps);
    return {[=] {
        std::vector<double> x(static_cast<size_t>(steps));
        double step = steps > 1 ? (e - a) / static_cast<double>(steps - 1) : 0;
        for (int64_t i = 0; i < steps; i++)
            x[static_cast<size_t>(i)] =
                i < steps / 2 ? a + step * static_cast<double>(i) : e - step * static_cast<double>(steps - 1 - i);
        store(to, x);
    }};
}
Plan Eye(i64 n, i64 m, O out) {
    View to = need(out, "out");
    same_shape(to, {n, m}, "the output");
    return {[=] {
        std::vector<int64_t> x(static_cast<size_t>(n * m));
        for (int64_t i = 0; i < std::min(n, m); i++) x[static_cast<size_t>(i * m + i)] = 1;
        store(to, x);
    }};
}
Plan triangle(T self, i64 diagonal, O out, bool lower) {
    const View &a = need(self, "self"), &b = need(out, "out");
    if (a.rank < 2) reject("a tensor of rank ", a.rank, ", at least 2 is needed");
    same_shape(b, shape_of(a), "the output");
    int64_t rows = a.sizes[a.rank - 2], columns = a.sizes[a.rank - 1];
    return {[=] {
        with_kind(kind_of(a.dtype), [&](auto c) {
            auto x = load<decltype(c)>(a);
            for (size_t i = 0; i < x.size(); i++) {
                int64_t column = static_cast<int64_t>(i) % columns, row = static_cast<int64_t>(i) / columns % rows;
                if (lower ? column - row > diagonal : column - row < diagonal) x[i] = 0;
            }
            store(b, x);
        });
    }};
}
Plan Tril(T self, i64 diagonal, O out) { return triangle(self, diagonal, out, true); }
Plan Triu(T self, i64 diagonal, O out) { return triangle(self, diagonal, out, false); }

// The part of `whole` from `start` along `dim`, as a view.
View part(const View& whole, int dim, int64_t start, int64_t size) {
    View v = whole;
    v.offset += start * whole.strides[dim];
    v.sizes[dim] = size;
    return v;
}
Plan Cat(TL tensors, i64 dim, O out) {
    if (!tensors) throw Invalid{kParamNull, "tensors is null"};
    View to = need(out, "out");
    int d = static_cast<int>(wrap(dim, to.rank));
    std::vector<View> from;
    int64_t length = 0;
    for (aclTensor* t : tensors->values) {
        View v = need(t, "a tensor of the list");
        if (v.rank == 1 && v.sizes[0] == 0) continue;  // PyTorch lets such tensors pass
        Shape expected = shape_of(to);
        if (v.rank != to.rank) reject("a tensor of rank ", v.rank, " for an output of rank ", to.rank);
        expected[static_cast<size_t>(d)] = v.sizes[d];
        same_shape(v, expected, "a tensor of the list");
        length += v.sizes[d];
        from.push_back(v);
    }
    if (!from.empty() && length != to.sizes[d]) reject("the output's length is ", to.sizes[d], ", expected ", length);
    return {[=] {
        int64_t at = 0;
        for (const View& v : from) {
            View target = part(to, d, at, v.sizes[d]);
            with_kind(wider(kind_of(v.dtype), kind_of(to.dtype)), [&](auto c) { store(target, load<decltype(c)>(v)); });
            at += v.sizes[d];
        }
    }};
}
Plan Stack(TL tensors, i64 dim, O out) {
    if (!tensors) throw Invalid{kParamNull, "tensors is null"};
    View to = need(out, "out");
    int d = static_cast<int>(wrap(dim, to.rank));
    std::vector<View> from;
    for (aclTensor* t : tensors->values) {
        View v = need(t, "a tensor of the list");
        Shape expected = shape_of(to);
        expected.erase(expected.begin() + d);
        same_shape(v, expected, "a tensor of the list");
        from.push_back(v);
    }
    if (static_cast<int64_t>(from.size()) != to.sizes[d]) reject("the output holds ", to.sizes[d], " tensors");
    return {[=] {
        for (size_t i = 0; i < from.size(); i++) {
            View target = part(to, d, static_cast<int64_t>(i), 1);
            with_kind(wider(kind_of(from[i].dtype), kind_of(to.dtype)),
                      [&](auto c) { store(target, load<decltype(c)>(from[i])); });
        }
    }};
}
Plan Repeat(T self, IA repeats, O out) {
    View a = need(self, "self"), to = need(out, "out");
    if (!repeats) throw Invalid{kParamNull, "repeats is null"};
    const auto& r = repeats->values;
    int rank = static_cast<int>(r.size());
    if (rank < a.rank || to.rank != rank) reject("repeats has ", rank, " numbers for a tensor of rank ", a.rank);
    Shape expected(r.begin(), r.end()), sizes(static_cast<size_t>(rank), 1);
    for (int i = 0; i < a.rank; i++) sizes[static_cast<size_t>(rank - a.rank + i)] = a.sizes[i];
    for (int i = 0; i < rank; i++) expected[static_cast<size_t>(i)] *= sizes[static_cast<size_t>(i)];
    same_shape(to, expected, "the output");
    return {[=] {
        with_kind(kind_of(a.dtype), [&](auto c) {
            auto x = load<decltype(c)>(a);
            std::vector<decltype(c)> y(static_cast<size_t>(to.numel()));
            for (size_t i = 0; i < y.size(); i++) {
                int64_t rest = static_cast<int64_t>(i), at = 0, step = 1;
                for (int d = rank - 1; d >= 0; d--) {
                    int64_t index = rest % to.sizes[d];
                    rest /= to.sizes[d];
                    at += index % sizes[static_cast<size_t>(d)] * step;
                    step *= sizes[static_cast<size_t>(d)];
                }
                y[i] = x[static_cast<size_t>(at)];
            }
            store(to, y);
        });
    }};
}
Plan Flip(T self, IA dims, O out) {
    View a = need(self, "self"), to = need(out, "out");
    if (!dims) throw Invalid{kParamNull, "dims is null"};
    same_shape(to, shape_of(a), "the output");
    for (int64_t d : dims->values) {
        int64_t k = wrap(d, a.rank);
        if (!a.rank) continue;
        a.offset += (a.sizes[k] - 1) * a.strides[k];
        a.strides[k] = -a.strides[k];
    }
    return {[=] { with_kind(kind_of(a.dtype), [&](auto c) { store(to, load<decltype(c)>(a)); }); }};
}
Plan Roll(T self, IA shifts, IA dims, O out) {
    View a = need(self, "x"), to = need(out, "out");
    if (!shifts || !dims) throw Invalid{kParamNull, "shifts or dims is null"};
    same_shape(to, shape_of(a), "the output");
    Shape by(static_cast<size_t>(a.rank), 0);
    std::vector<int64_t> s = shifts->values, d = dims->values;
    bool flat = d.empty();
    if (!flat && s.size() != d.size()) reject(s.size(), " shifts for ", d.size(), " dimensions");
    for (size_t i = 0; i < d.size(); i++) by[static_cast<size_t>(wrap(d[i], a.rank))] += s[i];
    int64_t flat_shift = flat && !s.empty() ? s[0] : 0;
    return {[=] {
        with_kind(kind_of(a.dtype), [&](auto c) {
            auto x = load<decltype(c)>(a);
            std::vector<decltype(c)> y(x.size());
            int64_t n = static_cast<int64_t>(x.size());
            for (int64_t i = 0; i < n; i++) {
                int64_t to_at = 0, rest = i, step = 1;
                if (flat) {
                    to_at = ((i + flat_shift) % n + n) % n;
                } else {
                    for (int k = a.rank - 1; k >= 0; k--) {
                        int64_t size = a.sizes[k], index = rest % size;
                        rest /= size;
                        to_at += ((index + by[static_cast<size_t>(k)]) % size + size) % size * step;
                        step *= size;
                    }
                }
                y[static_cast<size_t>(to_at)] = x[static_cast<size_t>(i)];
            }
            store(to, y);
        });
    }};
}
Plan ConstantPadNd(T self, IA pad, S value, O out) {
    View a = need(self, "self"), to = need(out, "out");
    if (!pad) throw Invalid{kParamNull, "pad is null"};
    double v = need_real(value, "value");
    Shape expected = shape_of(a);
    size_t pairs = pad->values.size() / 2;
    if (pad->values.size() % 2 || pairs > expected.size()) reject("pad has ", pad->values.size(), " numbers");
    View source = a, target = to;
    for (size_t i = 0; i < pairs; i++) {
        size_t d = expected.size() - 1 - i;
        int64_t before = pad->values[2 * i], after = pad->values[2 * i + 1];
        expected[d] += before + after;
        int64_t cut = std::max<int64_t>(-before, 0), cut_after = std::max<int64_t>(-after, 0);
        source.offset += cut * source.strides[d];
        source.sizes[d] -= cut + cut_after;
        target.offset += std::max<int64_t>(before, 0) * target.strides[d];
    }
    same_shape(to, expected, "the output");
    for (int d = 0; d < a.rank; d++) target.sizes[d] = source.sizes[d];
    if (in_pairs(source) && v != 0) reject("value is ", v, ", allowed: 0 for complex numbers");
    in_pairs(target);
    in_pairs(to);
    return {[=] {
        store(to, std::vector<double>(static_cast<size_t>(to.numel()), v));
        if (target.numel()) with_kind(kind_of(source.dtype), [&](auto c) { store(target, load<decltype(c)>(source)); });
    }};
}
}  // namespace

ACLNN(Cast, T, dt, O)
ACLNN(InplaceCopy, O, T)
ACLNN(InplaceZero, O)
ACLNN(InplaceOne, O)
ACLNN(InplaceFillScalar, O, S)
ACLNN(InplaceFillTensor, O, T)
ACLNN(InplaceMaskedFillScalar, O, T, S)
ACLNN(InplaceMaskedFillTensor, O, T, T)
ACLNN(Arange, S, S, S, O)
ACLNN(Linspace, S, S, i64, O)
ACLNN(Eye, i64, i64, O)
ACLNN(Tril, T, i64, O)
ACLNN(Triu, T, i64, O)
ACLNN(Cat, TL, i64, O)
ACLNN(Stack, TL, i64, O)
ACLNN(Repeat, T, IA, O)
ACLNN(Flip, T, IA, O)
ACLNN(Roll, T, IA, IA, O)
ACLNN(ConstantPadNd, T, IA, S, O)
