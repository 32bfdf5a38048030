// GE operators of networks: products, sums, normalisations, losses.
#include <utility>

#include "operators.h"

using T = const aclTensor*;
using O = aclTensor*;
using S = const aclScalar*;
using IA = const aclIntArray*;
using BA = const aclBoolArray*;
using DT = aclDataType;

USES(Matmul, T, T, O, int8_t)
USES(Addmm, T, T, T, S, S, O, int8_t)
USES(Add, T, T, S, O)
USES(ReduceSum, T, IA, bool, DT, O)
USES(Mean, T, IA, bool, DT, O)
USES(Amax, T, IA, bool, O)
USES(Amin, T, IA, bool, O)
USES(All, T, IA, bool, O)
USES(Any, T, IA, bool, O)
USES(ArgMax, T, int64_t, bool, O)
USES(Softmax, T, int64_t, O)
USES(SoftmaxBackward, T, T, int64_t, O)
USES(LogSoftmax, T, int64_t, O)
USES(LogSoftmaxBackward, T, T, int64_t, O)
USES(LayerNorm, T, IA, T, T, double, O, O, O)
USES(LayerNormBackward, T, T, IA, T, T, T, T, BA, O, O, O)
USES(NLLLoss, T, T, T, int64_t, int64_t, O, O)
USES(NLLLossBackward, T, T, T, T, int64_t, int64_t, T, O)
USES(EmbeddingDenseBackward, T, T, uint64_t, uint64_t, bool, O)
USES(InplaceOne, O)
USES(Cast, T, DT, O)
USES(InplaceCopy, O, T)

namespace emu::ge {
namespace {

// The last two dimensions in the other order.
T transposed(Call& c, T t, bool swap) {
    if (!swap) return t;
    Shape sizes = sizes_of(t), strides = strides_of(t);
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
    return c.view(t, sizes, strides);
}

void product(Call& c, const char* first, const char* second) {
    T a = transposed(c, c.in("x1"), c.attr(first).b), b = transposed(c, c.in("x2"), c.attr(second).b);
    O y = c.out("y");
    T bias = c.optional("bias");
    if (bias && a->view.rank == 2) {
        RUN(Addmm, bias, a, b, c.number(int64_t(1)), c.number(int64_t(1)), y, int8_t(1));
        return;
    }
    RUN(Matmul, a, b, y, int8_t(1));
    if (bias) RUN(Add, y, bias, c.number(int64_t(1)), y);
}

int64_t reduction(Call& c) {
    const std::string& how = c.attr("reduction").s;
    if (how != "none" && how != "mean" && how != "sum")
        throw text(c.op.type, " '", c.op.name, "': reduction '", how, "'");
    return how == "none" ? 0 : how == "mean" ? 1 : 2;
}

int64_t axis(Call& c, const char* name) {
    const Shape& axes = c.attr(name).list;
    if (axes.size() != 1) throw text(c.op.type, " '", c.op.name, "': over ", axes.size(), " axes");
    return axes[0];
}

T weights(Call& c, T x) {
    if (T given = c.optional("weight")) return given;
    O ones = c.scratch(x->view.dtype, {sizes_of(x).at(x->view.rank == 1 ? 0 : 1)});
    RUN(InplaceOne, ones);
    return ones;
}

}  // namespace

GE(MatMulV2) { product(c, "transpose_x1", "transpose_x2"); }
GE(BatchMatMulV2) { product(c, "adj_x1", "adj_x2"); }
GE(ReduceSum) {
    RUN(ReduceSum, c.in("x"), c.ints(c.host("axes")), c.attr("keep_dims").b, c.out("y")->view.dtype, c.out("y"));
}
GE(ReduceMean) {
    RUN(Mean, c.in("x"), c.ints(c.host("axes")), c.attr("keep_dims").b, c.out("y")->view.dtype, c.out("y"));
}
GE(ReduceMax) { RUN(Amax, c.in("x"), c.ints(c.host("axes")), c.attr("keep_dims").b, c.out("y")); }
GE(ReduceMin) { RUN(Amin, c.in("x"), c.ints(c.host("axes")), c.attr("keep_dims").b, c.out("y")); }
GE(ReduceAll) { RUN(All, c.in("x"), c.ints(c.host("axes")), c.attr("keep_dims").b, c.out("y")); }
GE(ReduceAny) { RUN(Any, c.in("x"), c.ints(c.host("axes")), c.attr("keep_dims").b, c.out("y")); }
GE(ArgMaxV2) { RUN(ArgMax, c.in("x"), c.host("dimension").at(0), false, c.out("y")); }
GE(SoftmaxV2) { RUN(Softmax, c.in("x"), axis(c, "axes"), c.out("y")); }
GE(SoftmaxGrad) { RUN(SoftmaxBackward, c.in("grad_softmax"), c.in("softmax"), axis(c, "axes"), c.out("grad_x")); }
GE(LogSoftmaxV2) { RUN(LogSoftmax, c.in("logits"), axis(c, "axes"), c.out("logsoftmax")); }
GE(LogSoftmaxGrad) { RUN(LogSoftmaxBackward, c.in("grad"), c.in("x"), axis(c, "axis"), c.out("y")); }
GE(LayerNormV4) {
    RUN(LayerNorm, c.in("x"), c.ints(c.host("normalized_shape")), c.optional("gamma"), c.optional("beta"),
        double(c.attr("epsilon").f), c.out("y"), c.out("mean"), c.out("rstd"));
}
GE(LayerNormGradV3) {
    T gamma = c.in("gamma");
    RUN(LayerNormBackward, c.in("dy"), c.in("x"), c.ints(sizes_of(gamma)), c.in("mean"), c.in("rstd"), gamma, gamma,
        c.flags({true, true, true}), c.out("pd_x"), c.out("pd_gamma"), c.out("pd_beta"));
}
GE(NLLLoss) {
    T x = c.in("x");
    RUN(NLLLoss, x, c.in("target"), weights(c, x), reduction(c), c.attr("ignore_index").i, c.out("y"),
        c.out("total_weight"));
}
GE(NLLLossGrad) {
    T x = c.in("x");
    RUN(NLLLossBackward, c.in("y_grad"), x, c.in("target"), weights(c, x), reduction(c), c.attr("ignore_index").i,
        c.in("total_weight"), c.out("x_grad"));
}
GE(EmbeddingDenseGrad) {
    int64_t padding = c.attr("padding_idx").i;
    RUN(EmbeddingDenseBackward, c.in("grad"), c.in("indices"), uint64_t(c.attr("num_weights").i),
        padding < 0 ? ~uint64_t(0) : uint64_t(padding), c.attr("scale_grad_by_freq").b, c.out("y"));
}

}  // namespace emu::ge
