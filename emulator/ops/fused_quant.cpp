// Rounding to 8 bits, by scales that are given or that each row gets.
#include "fused.h"

using namespace emu;

namespace {

struct Ends {
    double low, high;
};
Ends ends_of(aclDataType t) {
    if (t == ACL_INT8) return {-128, 127};
    if (t == ACL_UINT8) return {0, 255};
    return {-2147483648.0, 2147483647.0};
}

Plan DynamicQuantV2(T input, T smooth, T groups, i64 type, O out, O scales, O offsets) {
    View x = need(input, "x"), y = need(out, "yOut"), s = need(scales, "scaleOut");
    allow_float(x, "x");
    allow_rank(x, "x", 2, 8);
    allow_number(type, "dstType", ACL_INT8, ACL_INT8);
    allow(y, "yOut", {ACL_INT8});
    allow(s, "scaleOut", {ACL_FLOAT});
    same_shape(y, shape_of(x), "yOut");
    int64_t n = x.sizes[x.rank - 1], rows = n ? x.numel() / n : 0;
    Shape expected = shape_of(x);
    expected.pop_back();
    same_shape(s, expected, "scaleOut");
    Maybe factor(smooth), group(groups), offset(offsets);
    if (group.given && !factor.given) reject("groupIndex is given without smoothScales");
    if (factor.given) {
        int64_t experts = group.given ? group.view.numel() : 1;
        allow_count(factor.view, "smoothScales", experts * n);
        if (group.given) allow(group.view, "groupIndex", {ACL_INT32, ACL_INT64});
    }
    return {[=] {
        auto v = load<double>(x);
        auto f = factor.values(n, 1);
        std::vector<int64_t> ends{rows};
        if (group.given) ends = load<int64_t>(group.view);
        std::vector<double> made(at(rows)), shift(at(rows));
        size_t expert = 0;
        for (int64_t i = 0; i < rows; i++) {
            while (expert + 1 < ends.size() && i >= ends[expert]) expert++;
            double *row = v.data() + i * n, high = -HUGE_VAL, low = HUGE_VAL;
            for (int64_t k = 0; k < n; k++) {
                // The product is a float's on the device, and so are what follows from it.
                row[k] = rounded_as(ACL_FLOAT, row[k] * f[expert * at(group.given ? n : 0) + at(k)]);
                high = std::max(high, row[k]);
                low = std::min(low, row[k]);
            }
            double scale = offset.given ? (high - low) / 255 : std::max(std::fabs(high), std::fabs(low)) / 127;
            made[at(i)] = offset.given && scale == 0 ? 1 : scale;
            if (scale == 0) scale = 1;
            scale = rounded_as(ACL_FLOAT, scale);
            if (offset.given) shift[at(i)] = rounded_as(ACL_FLOAT, 127 - rounded_as(ACL_FLOAT, high / scale));
            for (int64_t k = 0; k < n; k++)
                row[k] = whole(rounded_as(ACL_FLOAT, rounded_as(ACL_FLOAT, row[k] / scale) + shift[at(i)]), -128, 127);
        }
        store(y, v);
        store(s, made);
        offset.put(shift);
    }};
}
Plan DynamicQuant(T input, T smooth, O out, O scales) {
    return DynamicQuantV2(input, smooth, nullptr, ACL_INT8, out, scales, nullptr);
}
// A number for each place along an axis, or one for all.
struct Along {
    View view;
    int64_t count, step;
    Along(const View& v, const char* what, const View& x, int64_t axis) : view(v), count(v.numel()), step(1) {
        int64_t d = wrap(axis, x.rank);
        if (count != 1 && count != (x.rank ? x.sizes[d] : 1))
            reject(what, " has ", count, " elements, allowed: 1 or ", x.rank ? x.sizes[d] : 1);
        for (int64_t i = d + 1; i < x.rank; i++) step *= x.sizes[i];
    }
    size_t place(size_t i) const { return i / at(step) % at(count); }
};
Plan AscendQuantV3(T input, T scale, T offset, bool root, str mode, i32 type, i32 axis, O out) {
    View x = need(input, "x"), s = need(scale, "scale"), y = need(out, "y");
    allow_float(x, "x");
    if (root) reject("sqrtMode is true, allowed: false");
    if (text_or(mode, "round") != "round") reject("roundMode is '", mode, "', allowed: round");
    allow_number(type, "dstType", ACL_INT8, ACL_INT8);
    allow(y, "y", {ACL_INT8});
    same_shape(y, shape_of(x), "y");
    Along scales(s, "scale", x, axis);
    Maybe shift(offset);
    if (shift.given) Along(shift.view, "offset", x, axis);
    return {[=] {
        auto v = load<double>(x), f = load<double>(s);
        auto add = shift.values(1, 0);
        for (size_t i = 0; i < v.size(); i++)
            v[i] = whole(rounded_as(ACL_FLOAT, rounded_as(ACL_FLOAT, v[i] * f[scales.place(i)]) +
                                                   add[add.size() == 1 ? 0 : scales.place(i)]),
                         -128, 127);
        store(y, v);
    }};
}
Plan Quantize(T input, T scale, T zero, dt type, i32 axis, O out) {
    View x = need(input, "x"), s = need(scale, "scales"), y = need(out, "out");
    allow_float(x, "x");
    allow(y, "out", {ACL_INT8, ACL_UINT8, ACL_INT32});
    if (y.dtype != type) reject("out is of ", dtype_name(y.dtype), ", allowed: ", dtype_name(type), ", as dtype says");
    same_shape(y, shape_of(x), "out");
    Along scales(s, "scales", x, axis);
    Maybe shift(zero);
    if (shift.given) Along(shift.view, "zeroPoints", x, axis);
    return {[=] {
        auto v = load<double>(x), f = load<double>(s);
        auto add = shift.values(1, 0);
        Ends ends = ends_of(type);
        for (size_t i = 0; i < v.size(); i++)
            v[i] = whole(rounded_as(ACL_FLOAT, rounded_as(ACL_FLOAT, v[i] / f[scales.place(i)]) +
                                                   add[add.size() == 1 ? 0 : scales.place(i)]),
                         ends.low, ends.high);
        store(y, v);
    }};
}

}  // namespace

ACLNN(DynamicQuant, T, T, O, O)
ACLNN(DynamicQuantV2, T, T, T, i64, O, O, O)
ACLNN(AscendQuantV3, T, T, T, bool, str, i32, i32, O)
ACLNN(Quantize, T, T, T, dt, i32, O)
