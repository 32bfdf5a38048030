// GE operators on elements: each is one of ACLNN's.
#include "operators.h"

using T = const aclTensor*;
using O = aclTensor*;
using S = const aclScalar*;

USES(Add, T, T, S, O)
USES(Sub, T, T, S, O)
USES(Adds, T, S, S, O)
USES(Muls, T, S, O)
USES(LeakyRelu, T, S, O)
USES(Softplus, T, S, S, O)
USES(GeluV2, T, int64_t, O)
USES(GeluBackwardV2, T, T, const char*, O)
USES(ThresholdBackward, T, T, S, O)
USES(SWhere, T, T, T, O)
USES(ClampMinTensor, T, T, O)
USES(ClampMaxTensor, T, T, O)
USES(InplaceMaskedFillTensor, O, T, T)
USES(InplaceCopy, O, T)
USES(InplaceZero, O)
USES(InplaceOne, O)
USES(Cast, T, aclDataType, O)
USES(InplaceBernoulli, O, S, int64_t, int64_t)

namespace emu::ge {

#define UNARY(Type, Op) \
    USES(Op, T, O)      \
    GE(Type) { RUN(Op, c.in("x"), c.out(size_t(0))); }
#define BINARY(Type, Op) \
    USES(Op, T, T, O)    \
    GE(Type) { RUN(Op, c.in("x1"), c.in("x2"), c.out(size_t(0))); }
#define GRADIENT(Type, Op, first, second) \
    USES(Op, T, T, O)                     \
    GE(Type) { RUN(Op, c.in(first), c.in(second), c.out(size_t(0))); }

UNARY(Neg, Neg)
UNARY(Abs, Abs)
UNARY(Exp, Exp)
UNARY(Log, Log)
UNARY(Log1p, Log1p)
UNARY(Expm1, Expm1)
UNARY(Sqrt, Sqrt)
UNARY(Rsqrt, Rsqrt)
UNARY(Reciprocal, Reciprocal)
UNARY(Square, Square)
UNARY(Sin, Sin)
UNARY(Cos, Cos)
UNARY(Tanh, Tanh)
UNARY(Sigmoid, Sigmoid)
UNARY(Erf, Erf)
UNARY(Floor, Floor)
UNARY(Ceil, Ceil)
UNARY(Round, Round)
UNARY(Sign, Sign)
UNARY(Relu, Relu)
UNARY(Swish, Silu)
UNARY(LogicalNot, LogicalNot)
UNARY(IsFinite, IsFinite)
BINARY(Mul, Mul)
BINARY(RealDiv, Div)
BINARY(FloorDiv, FloorDivide)
BINARY(FloorMod, RemainderTensorTensor)
BINARY(Pow, PowTensorTensor)
BINARY(Maximum, Maximum)
BINARY(Minimum, Minimum)
BINARY(BitwiseAnd, BitwiseAndTensor)
BINARY(BitwiseOr, BitwiseOrTensor)
BINARY(BitwiseXor, BitwiseXorTensor)
BINARY(Equal, EqTensor)
BINARY(NotEqual, NeTensor)
BINARY(Greater, GtTensor)
BINARY(GreaterEqual, GeTensor)
BINARY(Less, LtTensor)
BINARY(LessEqual, LeTensor)
BINARY(LogicalAnd, LogicalAnd)
BINARY(LogicalOr, LogicalOr)
GRADIENT(TanhGrad, TanhBackward, "dy", "y")
GRADIENT(SigmoidGrad, SigmoidBackward, "dy", "y")
GRADIENT(SwishGrad, SiluBackward, "grad", "x")

GE(Add) { RUN(Add, c.in("x1"), c.in("x2"), c.number(int64_t(1)), c.out("y")); }
GE(Sub) { RUN(Sub, c.in("x1"), c.in("x2"), c.number(int64_t(1)), c.out("y")); }
GE(Adds) { RUN(Adds, c.in("x"), c.number(double(c.attr("value").f)), c.number(int64_t(1)), c.out("y")); }
GE(Muls) { RUN(Muls, c.in("x"), c.number(double(c.attr("value").f)), c.out("y")); }
GE(LeakyRelu) { RUN(LeakyRelu, c.in("x"), c.number(double(c.attr("negative_slope").f)), c.out("y")); }
GE(Softplus) { RUN(Softplus, c.in("x"), c.number(1.0), c.number(20.0), c.out("y")); }
GE(GeluV2) { RUN(GeluV2, c.in("x"), int64_t(c.attr("approximate").s == "tanh"), c.out("y")); }
GE(GeluGradV2) { RUN(GeluBackwardV2, c.in("dy"), c.in("x"), c.attr("approximate").s.c_str(), c.out("z")); }
GE(ReluGrad) { RUN(ThresholdBackward, c.in("gradients"), c.in("features"), c.number(int64_t(0)), c.out("backprops")); }
GE(SelectV2) { RUN(SWhere, c.in("condition"), c.in("then"), c.in("else"), c.out("result")); }
GE(ClipByValueV2) {
    RUN(ClampMinTensor, c.in("x"), c.in("clip_value_min"), c.out("y"));
    RUN(ClampMaxTensor, c.out("y"), c.in("clip_value_max"), c.out("y"));
}
GE(MaskedFill) {
    RUN(InplaceCopy, c.out("y"), c.in("x"));
    RUN(InplaceMaskedFillTensor, c.out("y"), c.in("mask"), c.reshaped(c.in("value"), {}));
}
GE(TensorMove) { RUN(InplaceCopy, c.out("y"), c.in("x")); }
GE(Identity) { RUN(InplaceCopy, c.out("y"), c.in("x")); }
GE(Assign) { RUN(InplaceCopy, c.out("ref"), c.in("value")); }  // the output is the memory of `ref`
GE(ZerosLike) { RUN(InplaceZero, c.out("y")); }
GE(OnesLike) { RUN(InplaceOne, c.out("y")); }
GE(Cast) { RUN(Cast, c.in("x"), c.out("y")->view.dtype, c.out("y")); }
GE(StatelessBernoulli) {
    double p = c.host_real("prob");
    RUN(InplaceBernoulli, c.out("y"), c.number(p), c.host("seed").at(0), c.host("offset").at(0));
}

}  // namespace emu::ge
