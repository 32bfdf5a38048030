// GE operators that move, join and choose elements.
#include <algorithm>

#include "operators.h"

using T = const aclTensor*;
using O = aclTensor*;
using S = const aclScalar*;
using IA = const aclIntArray*;
using TL = const aclTensorList*;

USES(InplaceCopy, O, T)
USES(InplaceFillTensor, O, T)
USES(Cat, TL, int64_t, O)
USES(Gather, T, int64_t, T, O)
USES(IndexSelect, T, int64_t, T, O)
USES(Index, T, TL, O)
USES(IndexPutImpl, O, TL, T, bool, bool)
USES(SearchSorted, T, T, bool, bool, T, O)
USES(Scatter, T, int64_t, T, T, int64_t, O)
USES(ConstantPadNd, T, IA, S, O)
USES(Arange, S, S, S, O)
USES(Tril, T, int64_t, O)
USES(Triu, T, int64_t, O)
USES(Cumsum, T, int64_t, aclDataType, O)

namespace emu::ge {

GE(Reshape) { RUN(InplaceCopy, c.out("y"), c.reshaped(c.in("x"), sizes_of(c.out("y")))); }
GE(BroadcastTo) { RUN(InplaceCopy, c.out("y"), c.in("x")); }
GE(Transpose) {
    T x = c.in("x");
    Shape sizes, strides;
    for (int64_t d : c.host("perm")) {
        sizes.push_back(sizes_of(x).at(static_cast<size_t>(d)));
        strides.push_back(strides_of(x).at(static_cast<size_t>(d)));
    }
    RUN(InplaceCopy, c.out("y"), c.view(x, sizes, strides));
}
GE(StridedSlice) {
    T x = c.in("x");
    Shape begin = c.host("begin"), steps = c.host("strides"), strides = strides_of(x);
    int64_t offset = 0;
    for (size_t d = 0; d < begin.size(); d++) {
        if (begin[d] < 0 || steps[d] <= 0)
            throw text("StridedSlice '", c.op.name, "': from ", begin[d], " by ", steps[d]);
        offset += begin[d] * strides[d];
        strides[d] *= steps[d];
    }
    O y = c.out("y");
    if (y->view.numel()) RUN(InplaceCopy, y, c.view(x, sizes_of(y), strides, offset));
}
GE(ConcatD) {
    O y = c.out("y");
    RUN(Cat, c.list(c.dynamic("x")), c.attr("concat_dim").i, y);
}
GE(SplitV) {
    T x = c.in("x");
    int64_t dim = c.host("split_dim").at(0), at = 0;
    size_t d = static_cast<size_t>(dim < 0 ? dim + x->view.rank : dim);
    for (size_t i = 0; i < c.count(); i++) {
        O y = c.out(i);
        if (y->view.numel()) RUN(InplaceCopy, y, c.view(x, sizes_of(y), strides_of(x), at * strides_of(x).at(d)));
        at += sizes_of(y).at(d);
    }
}
GE(GatherV2) {
    T x = c.in("x"), indices = c.in("indices");
    int64_t axis = c.host("axis").at(0);
    size_t d = static_cast<size_t>(axis < 0 ? axis + x->view.rank : axis);
    Shape flat = sizes_of(x);
    flat.at(d) = indices->view.numel();
    RUN(IndexSelect, x, static_cast<int64_t>(d), c.reshaped(indices, {flat[d]}), c.reshaped(c.out("y"), flat));
}
GE(GatherElements) { RUN(Gather, c.in("x"), c.attr("dim").i, c.in("index"), c.out("y")); }
// The index of each dimension, null where there is none; those behind the last are left out.
static const aclTensorList* indices(Call& c) {
    std::vector<T> given = c.dynamic("indices"), all;
    size_t next = 0;
    for (int64_t taken : c.host("indexed_sizes")) all.push_back(taken ? given.at(next++) : nullptr);
    while (!all.empty() && !all.back()) all.pop_back();
    return c.list(all);
}
GE(Index) { RUN(Index, c.in("x"), indices(c), c.out("y")); }
GE(IndexPutV2) {
    O x = c.out("x");
    RUN(InplaceCopy, x, c.in("x"));
    RUN(IndexPutImpl, x, indices(c), c.in("value"), c.attr("accumulate").b, false);
}
GE(SearchSorted) {
    O out = c.out("out");
    bool small = out->view.dtype == ACL_INT32;
    RUN(SearchSorted, c.in("sorted_sequence"), c.in("values"), small, c.attr("right").b, c.optional("sorter"), out);
}
GE(ScatterElements) {
    const std::string& how = c.attr("reduction").s;
    if (how != "none" && how != "add") throw text("ScatterElements '", c.op.name, "': reduction '", how, "'");
    RUN(Scatter, c.in("data"), c.attr("axis").i, c.in("indices"), c.in("updates"), int64_t(how == "add"), c.out("y"));
}
GE(PadV3) {
    Shape given = c.host("paddings"), pads;
    for (size_t i = given.size(); i >= 2; i -= 2)
        pads.insert(pads.end(), {given[i - 2], given[i - 1]});  // the last dimension first
    if (c.attr("mode").s != "constant") throw text("PadV3 '", c.op.name, "': mode '", c.attr("mode").s, "'");
    double value = c.optional("constant_values") ? c.host_real("constant_values") : 0.0;
    RUN(ConstantPadNd, c.in("x"), c.ints(pads), c.number(value), c.out("y"));
}
GE(Fill) { RUN(InplaceFillTensor, c.out("y"), c.reshaped(c.in("value"), {})); }
GE(Range) {
    bool whole = c.desc_in("start").dtype == ACL_INT64 || c.desc_in("start").dtype == ACL_INT32;
    if (whole) {
        int64_t from = c.host("start").at(0), to = c.host("limit").at(0), by = c.host("delta").at(0);
        RUN(Arange, c.number(from), c.number(to), c.number(by), c.out("y"));
    } else {
        RUN(Arange, c.number(c.host_real("start")), c.number(c.host_real("limit")), c.number(c.host_real("delta")),
            c.out("y"));
    }
}
GE(Tril) { RUN(Tril, c.in("x"), c.attr("diagonal").i, c.out("y")); }
GE(Triu) { RUN(Triu, c.in("x"), c.attr("diagonal").i, c.out("y")); }
GE(Cumsum) {
    if (c.attr("exclusive").b || c.attr("reverse").b) throw text("Cumsum '", c.op.name, "': exclusive or reverse");
    RUN(Cumsum, c.in("x"), c.host("axis").at(0), c.out("y")->view.dtype, c.out("y"));
}

}  // namespace emu::ge
