"""Products that are arrangements of the native ones: outer, inner, kron, tensordot, bilinear, powers, chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._core.dtype import DTYPES
from ..._core.warn_once import warn_once
from ..table import S, T, aten, composite, cpp_name

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


@composite(
    "_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False)"
    " -> Tensor",
    "ReLU, or GELU, of `beta * self + alpha * mat1 @ mat2`.",
    bind="function method out",
    out_dtype="exact",
    samples=[S(T(4), T(3, 2), T(2, 4)), S(T(3, 4), T(3, 2), T(2, 4), beta=0.5, alpha=2, use_gelu=True)],
)
def _addmm_activation(self, mat1, mat2, *, beta=1, alpha=1, use_gelu=False):
    product = aten.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return aten.gelu(product) if use_gelu else aten.relu(product)


@composite(
    "_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor",
    "Row i is the sum over k of `coefficients[i, k] * input[k]`.",
    bind="function out",
    samples=[S(T(2, 3), T(4, 2))],
)
def _compute_linear_combination(input, coefficients):
    if coefficients.dim() != 2 or input.dim() == 0 or coefficients.size(1) != input.size(0):
        raise RuntimeError(
            "_compute_linear_combination(): expected coefficients (m, n) and input (n, ...), but got "
            f"{list(coefficients.shape)} and {list(input.shape)}"
        )
    spread = coefficients.reshape([*coefficients.shape, *[1] * (input.dim() - 1)])
    return (spread * input.unsqueeze(0)).sum(1)


@composite(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "`beta * self + alpha * outer(vec1, vec2)`.",
    bind="function method inplace out",
    samples=[S(T(3, 4), T(3), T(4)), S(T(4), T(3), T(4), beta=0.5, alpha=2)],
    old_order="beta self alpha vec1 vec2, beta self vec1 vec2",
    node="AddrBackward0",
)
def addr(self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.dim() != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.dim()}-D")
    product = vec1.unsqueeze(1) * vec2
    for name, number in (("beta", beta), ("alpha", alpha)):
        if isinstance(number, bool) and product.dtype != DTYPES["bool"]:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(number, (float, complex)) and not (product.is_floating_point() or product.is_complex()):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if product.dtype == self.dtype == DTYPES["bool"]:  # sums are or, products and
        alpha, beta = bool(alpha), bool(beta)
    if alpha != 1:
        product = product * alpha
    self = self.expand(product.shape)
    if beta == 0:
        return product
    return product + (self if beta == 1 else self * beta)


@composite(
    "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    "`input1 @ weight[k] @ input2` for each output feature k.",
    bind="function",
    functional="bilinear",
    samples=[S(T(2, 3), T(2, 4), T(5, 3, 4), T(5)), S(T(2, 2, 3), T(2, 2, 4), T(5, 3, 4))],
)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    given = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    dtypes = {name: x.dtype for name, x in given.items() if x is not None}
    if len(set(dtypes.values())) > 1:
        shown = ", ".join(f"{name}: {cpp_name(dtype)}" for name, dtype in dtypes.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {shown}")
    for i in range(input1.dim() - 1):
        if input1.size(i) != input2.size(i):
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {input1.size(i)} and {input2.size(i)}"
            )
    for i, x in ((1, input1), (2, input2)):
        if x.size(-1) != weight.size(i):
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {x.size(-1)} but expected {weight.size(i)}"
            )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.size(0)} but expected {weight.size(0)}"
        )
    outs, first, second = weight.shape
    rows1, rows2 = input1.reshape(-1, first), input2.reshape(-1, second)
    half = rows1.mm(weight.permute(1, 0, 2).reshape(first, outs * second)).view(-1, outs, second)
    result = half.bmm(rows2.unsqueeze(2)).reshape(*input1.shape[:-1], outs)
    return result if bias is None else result + bias


@composite(
    "chain_matmul(Tensor[] matrices) -> Tensor",
    "Product of several matrices in the cheapest order.",
    bind="function out",
    out_dtype="exact",
    samples=[S([T(2, 3), T(3, 4), T(4, 2)])],
)
def chain_matmul(matrices: Sequence[Tensor]) -> Tensor:
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, "
        "which accepts a list of two or more tensors rather than multiple parameters."
    )
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.dim()}, expected 2 instead.")
    return matrices[0].clone() if len(matrices) == 1 else aten.linalg_multi_dot(matrices)


@composite(
    "inner(Tensor self, Tensor other) -> Tensor",
    "Sum product over the last dimension of both.",
    bind="function method out",
    out_dtype="tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with dtype {out}",
    samples=[S(T(3), T(3)), S(T(2, 3), T(4, 5, 3)), S(T(2, 3), T())],
)
def inner(self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    if self.size(-1) != other.size(-1):
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(self.shape)} and {list(other.shape)}"
        )
    return aten.tensordot(self, other, [-1], [-1])


@composite(
    "kron(Tensor self, Tensor other) -> Tensor",
    "Kronecker product.",
    bind="function method out",
    samples=[S(T(2, 3), T(4, 5)), S(T(2, 3), T(2)), S(T(), T(2))],
)
def kron(self: Tensor, other: Tensor) -> Tensor:
    dims = max(self.dim(), other.dim())
    left = [1] * (dims - self.dim()) + list(self.shape)
    right = [1] * (dims - other.dim()) + list(other.shape)
    spread = self.reshape([n for size in left for n in (size, 1)])
    result = spread * other.reshape([n for size in right for n in (1, size)])
    return result.reshape([a * b for a, b in zip(left, right, strict=True)])


@composite(
    "outer(Tensor self, Tensor vec2) -> Tensor",
    "Products of all pairs of items of two vectors.",
    bind="function method out",
    alias="ger",
    samples=[S(T(3), T(4)), S(T(0), T(4))],
)
def outer(self: Tensor, vec2: Tensor) -> Tensor:
    for name, vector in (("self", self), ("vec2", vec2)):
        if vector.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.dim()}-D")
    return self.reshape([self.size(0), 1]) * vec2


@composite(
    "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
    "Sum product over pairs of dimensions.",
    bind="out",
    out_dtype="tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with dtype {out}",
    samples=[S(T(2, 3, 4), T(4, 3, 5), [1, 2], [1, 0]), S(T(2), T(3), [], [])],
)
def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    if self.dtype != other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    first = [d % max(1, self.dim()) for d in dims_self]
    second = [d % max(1, other.dim()) for d in dims_other]
    for a, b in zip(first, second, strict=True):
        if self.size(a) == other.size(b):
            continue
        if self.size(a) == 1:
            other = other.sum(b, True, dtype=other.dtype)
        elif other.size(b) == 1:
            self = self.sum(a, True, dtype=self.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {self.size(a)} in dim {a} "
                f"and second has size {other.size(b)} in dim {b}"
            )
    kept_first = [d for d in range(self.dim()) if d not in first]
    kept_second = [d for d in range(other.dim()) if d not in second]
    common = 1
    for d in first:
        common *= self.size(d)
    shape = [self.size(d) for d in kept_first] + [other.size(d) for d in kept_second]
    rows, columns = 1, 1
    for d in kept_first:
        rows *= self.size(d)
    for d in kept_second:
        columns *= other.size(d)
    left = self.permute(kept_first + first).reshape(rows, common)
    right = other.permute(second + kept_second).reshape(common, columns)
    return left.mm(right).reshape(shape)


def _check_square(x, name) -> None:
    if x.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if x.size(-1) != x.size(-2):
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {x.size(-2)} by {x.size(-1)} matrices"
        )


@composite(
    "linalg_matrix_power(Tensor self, int n) -> Tensor",
    "Integer power of square matrices.",
    bind="linalg",
)
def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    _check_square(self, "linalg.matrix_power")
    if n == 0:
        # Written over the matrices, on which it has a gradient then: zero.
        return aten.copy_(self.clone(), aten.eye(self.size(-1), dtype=self.dtype, device=self.device))
    base = aten.linalg_inv(self) if n < 0 else self
    n = abs(n)
    result: Any = None
    while n:
        if n & 1:
            result = base if result is None else aten.matmul(result, base)
        n >>= 1
        if n:
            base = aten.matmul(base, base)
    return result.clone() if result is self else result


@composite(
    "matrix_power(Tensor self, int n) -> Tensor",
    "Integer power of square matrices.",
    bind="function method out",
    out_dtype="exact",
)
def matrix_power(self: Tensor, n: int) -> Tensor:
    return aten.linalg_matrix_power(self, n)


@composite(
    "linalg_multi_dot(Tensor[] tensors) -> Tensor",
    "Product of several matrices in the cheapest order; the first and last may be vectors.",
    bind="linalg out",
    out_dtype="multi_dot(): expected out tensor to have dtype {result_cpp} but got {out_cpp}",
    samples=[S([T(2, 3), T(3, 4), T(4, 2)])],
)
def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    matrices = list(tensors)
    for i, x in enumerate(matrices):
        ends = i in (0, count - 1)
        if ends and x.dim() not in (1, 2):
            raise RuntimeError(
                f"multi_dot(): the {'last' if i else 'first'} tensor must be 1D or 2D but got {x.dim()}D"
            )
        if x.dim() != 2 and not (ends and x.dim() == 1):
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {x.dim()}D")
        if x.dtype != matrices[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {cpp_name(matrices[0].dtype)} "
                f"and tensor {i} {cpp_name(x.dtype)}"
            )
    shape = []
    if matrices[0].dim() == 1:
        matrices[0] = matrices[0].unsqueeze(0)
    else:
        shape.append(matrices[0].size(0))
    if matrices[-1].dim() == 1:
        matrices[-1] = matrices[-1].unsqueeze(1)
    else:
        shape.append(matrices[-1].size(1))
    for i in range(1, count):
        a, b = matrices[i - 1], matrices[i]
        if a.size(1) != b.size(0):
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(a.shape)} and {list(b.shape)} "
                "cannot be multiplied"
            )
    sizes = [x.size(0) for x in matrices] + [matrices[-1].size(1)]
    cost = [[0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], cut[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return matrices[i]
        k = cut[i][j]
        return aten.mm(product(i, k), product(k + 1, j))

    return product(0, count - 1).reshape(shape)
