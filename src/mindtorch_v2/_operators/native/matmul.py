"""Matrix products: mm, bmm and what adds to them, dot products, linear, matmul, grouped products."""

from ..table import S, T, aten, conj, op, rule


def _adjoint(x):
    """Conjugate transpose of the last two dimensions."""
    return conj(x.t() if x.dim() == 2 else x.transpose(x.dim() - 2, x.dim() - 1))


def _scaled(x, factor):
    return x if factor == 1 else x * factor


def _addmm_mat1(grad, mat2, alpha):
    return _scaled(aten.mm(grad, _adjoint(mat2)), conj(alpha))


def _addmm_mat2(grad, mat1, alpha):
    return _scaled(aten.mm(_adjoint(mat1), grad), conj(alpha))


def _baddbmm_batch1(grad, batch2, alpha):
    return _scaled(aten.bmm(grad, _adjoint(batch2)), conj(alpha))


def _baddbmm_batch2(grad, batch1, alpha):
    return _scaled(aten.bmm(_adjoint(batch1), grad), conj(alpha))


def _addbmm_batch1(grad, batch1, batch2, alpha):
    wide = grad.unsqueeze(0).expand(batch1.size(0), batch1.size(1), batch2.size(2))
    return _scaled(aten.bmm(wide, _adjoint(batch2)), conj(alpha))


def _addbmm_batch2(grad, batch1, batch2, alpha):
    wide = grad.unsqueeze(0).expand(batch1.size(0), batch1.size(1), batch2.size(2))
    return _scaled(aten.bmm(_adjoint(batch1), wide), conj(alpha))


def _grouped_mm_meta(self, mat2, offs=None, bias=None, out_dtype=None):
    if self.dim() not in (2, 3) or mat2.dim() not in (2, 3):
        raise RuntimeError("mat_a and mat_b have to be 2d or 3d")
    whole = self.dim() == 3 and mat2.dim() == 3
    if whole != (offs is None):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    rows, columns = self.shape[-2], mat2.shape[-1]
    shape: tuple[int, ...]
    if whole:
        shape = (self.shape[0], rows, columns)
    else:  # groups of the common dimension are summed each for itself, else groups of rows or columns stay in their places
        shape = (offs.shape[0], rows, columns) if self.dim() == mat2.dim() else (rows, columns)
    if out_dtype not in (None, self.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    return self.new_empty(shape)


op(
    "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
    "Products of groups of rows (or columns) that end at `offs` with one matrix each.",
    bind="function",
    meta_kernel=_grouped_mm_meta,
    grad={
        "self": lambda grad, mat2, offs: aten._grouped_mm(grad, mat2.transpose(-2, -1), offs),
        "mat2": lambda grad, self, offs: aten._grouped_mm(self.transpose(-2, -1), grad, offs),
    },
    dtypes="float bfloat16 float16",
    samples=[S(T(2, 6, 16), T(2, 16, 8))],
)

op(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "`beta * self` plus the sum over the batch of the products.",
    bind="function method inplace out",
    quiet_out=True,
    out_dtype="self and mat2 must have the same dtype, but got {out} and {result}",
    autocast="lower",
    meta=rule("addbmm"),
    grad={
        "self": lambda grad, beta: _scaled(grad, conj(beta)),
        "batch1": _addbmm_batch1,
        "batch2": _addbmm_batch2,
    },
    samples=[S(T(3, 5), T(2, 3, 4), T(2, 4, 5)), S(T(5), T(2, 3, 4), T(2, 4, 5), beta=0.5, alpha=2)],
    old_order="beta self alpha batch1 batch2, beta self batch1 batch2",
)

op(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "`beta * self + alpha * (mat1 @ mat2)`.",
    bind="function method inplace out",
    out_dtype="exact",
    tags="core",
    autocast="lower",
    meta=rule("addmm"),
    grad={
        "self": lambda grad, beta: _scaled(grad, conj(beta)),
        "mat1": _addmm_mat1,
        "mat2": _addmm_mat2,
    },
    dtypes="floating+complex",
    samples=[S(T(3, 5), T(3, 4), T(4, 5)), S(T(5), T(3, 4), T(4, 5)), S(T(3, 1), T(3, 4), T(4, 5), beta=0.5, alpha=2)],
    old_order="beta self alpha mat1 mat2, beta self mat1 mat2",
)

op(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "`beta * self + alpha * (mat @ vec)`.",
    bind="function method inplace out",
    out_dtype="exact",
    meta=rule("addmv"),
    grad={
        "self": lambda grad, beta: _scaled(grad, conj(beta)),
        "mat": lambda grad, vec, alpha: _scaled(grad.unsqueeze(1) * conj(vec), conj(alpha)),
        "vec": lambda grad, mat, alpha: _scaled(aten.mv(conj(mat.t()), grad), conj(alpha)),
    },
    dtypes="floating+complex",
    samples=[S(T(3), T(3, 4), T(4)), S(T(1), T(3, 4), T(4), beta=0.5, alpha=2)],
    old_order="beta self alpha mat vec, beta self mat vec",
)

op(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "`beta * self + alpha * (batch1 @ batch2)`, matrix by matrix.",
    bind="function method inplace out",
    out_dtype="exact",
    autocast="lower",
    meta=rule("baddbmm"),
    grad={
        "self": lambda grad, beta: _scaled(grad, conj(beta)),
        "batch1": _baddbmm_batch1,
        "batch2": _baddbmm_batch2,
    },
    dtypes="floating+complex",
    samples=[S(T(2, 3, 5), T(2, 3, 4), T(2, 4, 5)), S(T(5), T(2, 3, 4), T(2, 4, 5), beta=0.5, alpha=2)],
    old_order="beta self alpha batch1 batch2, beta self batch1 batch2",
)

op(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    "Products of two batches of matrices.",
    bind="function method out",
    out_dtype="exact",
    tags="core",
    multilinear="self mat2",
    autocast="lower",
    meta=rule("bmm"),
    grad={
        "self": lambda grad, mat2: aten.bmm(grad, _adjoint(mat2)),
        "mat2": lambda grad, self: aten.bmm(_adjoint(self), grad),
    },
    dtypes="floating+complex",
    samples=[S(T(2, 3, 4), T(2, 4, 5)), S(T(0, 3, 4), T(0, 4, 5)), S(T(2, 3, 0), T(2, 0, 5))],
)

op(
    "dot(Tensor self, Tensor tensor) -> Tensor",
    "Inner product of two vectors, nothing conjugated.",
    bind="function method out",
    out_dtype="result dtype {out} does not match input dtype {result}",
    multilinear="self tensor",
    meta=rule("dot"),
    grad={
        "self": lambda grad, tensor: grad * conj(tensor),
        "tensor": lambda grad, self: grad * conj(self),
    },
    dtypes="floating+complex",
    samples=[S(T(4), T(4)), S(T(0), T(0))],
)


def _linear_grad(grad, input, weight, bias_sizes, needs):
    of_columns = not needs[2] or (weight.dim() == 2 and tuple(bias_sizes) == (weight.size(0),))
    grads = aten.linear_backward(input, grad, weight, [needs[0], needs[1], needs[2] and of_columns])
    if of_columns:
        return grads
    rows = (grad.numel() // weight.size(0), weight.size(0)) if weight.dim() == 2 and weight.size(0) else None
    if rows and len(bias_sizes) == 2 and bias_sizes[0] == rows[0]:
        grad = grad.reshape(rows)
    return grads[0], grads[1], aten.sum_to_size(grad, bias_sizes)


op(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    "`input @ weight.T + bias`.",
    bind="nn out",
    out_dtype="exact",
    functional="linear",
    autocast="lower",
    meta=rule("linear"),
    grad={
        ("input", "weight", "bias"): _linear_grad,
    },
    edges="AddmmBackward0: bias input weight, MmBackward0: input weight",
    dtypes="floating+complex",
    samples=[S(T(3, 4), T(5, 4), T(5)), S(T(2, 3, 4), T(5, 4)), S(T(4), T(5, 4), T(5)), S(T(3, 4), T(4), T())],
)


def _linear_backward_grads(grads, self, grad_output, weight, output_mask, needs) -> tuple:
    to_input, to_weight, to_bias = (g if m else None for g, m in zip(grads, output_mask, strict=True))
    matrix = weight if weight.dim() == 2 else weight.unsqueeze(0)
    rows = self.reshape(-1, self.size(-1))
    slopes = grad_output.reshape(-1, matrix.size(0))
    for_input = for_slopes = for_weight = None
    if needs[0] and to_weight is not None:
        for_input = aten.mm(conj(slopes), to_weight.reshape(matrix.shape)).reshape(self.shape)
    if needs[1]:
        parts = []
        if to_input is not None:
            parts.append(aten.mm(to_input.reshape(-1, self.size(-1)), matrix.t()))
        if to_weight is not None:
            parts.append(aten.mm(rows, to_weight.reshape(matrix.shape).t()))
        if to_bias is not None:
            parts.append(to_bias.reshape(1, -1).expand(slopes.shape))
        for_slopes = sum(parts[1:], parts[0]).reshape(grad_output.shape) if parts else None
    if needs[2] and to_input is not None:
        for_weight = aten.mm(conj(slopes).t(), to_input.reshape(-1, self.size(-1))).reshape(weight.shape)
    return for_input, for_slopes, for_weight


op(
    "linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    "Gradients of linear: of its input, weight and bias.",
    bind="generated_out",
    meta=rule("linear_backward"),
    grad={("self", "grad_output", "weight"): _linear_backward_grads},
    samples=[S(T(3, 4), T(3, 5), T(5, 4), [True, True, True])],
)

op(
    "matmul(Tensor self, Tensor other) -> Tensor",
    "Matrix product with broadcast batch dimensions; vectors count as a row on the left and a column on the right.",
    bind="function method out",
    out_dtype="result dtype {out} does not match input dtype {result}",
    multilinear="self other",
    autocast="lower",
    meta=rule("matmul"),
    grad={("self", "other"): lambda grad, self, other, needs: aten.matmul_backward(grad, self, other, list(needs))},
    alias="__matmul__",
    dtypes="floating+complex",
    samples=[
        S(T(4), T(4)),
        S(T(3, 4), T(4)),
        S(T(4), T(4, 5)),
        S(T(3, 4), T(4, 5)),
        S(T(2, 3, 4), T(4, 5)),
        S(T(3, 4), T(2, 4, 5)),
        S(T(2, 1, 3, 4), T(3, 4, 5)),
        S(T(2, 3, 4), T(4)),
    ],
)


def _sum_to(x, like):
    """Sum the dimensions that broadcasting added or widened."""
    while x.dim() > like.dim():
        x = x.sum(0)
    wide = [i for i in range(x.dim()) if like.size(i) == 1 and x.size(i) != 1]
    return x.sum(wide, True) if wide else x


def _left_gradient(grad, other):
    """Gradient of `left @ other` for `left`, in the broadcast shape."""
    if other.dim() == 1:
        return grad.unsqueeze(-1) * conj(other)
    return aten.matmul(grad, _adjoint(other))


def _matmul_backward_grads(grads, grad_output, self, other, mask, needs) -> tuple:
    to_self, to_other = (g if m else None for g, m in zip(grads, mask, strict=True))
    left = self.unsqueeze(0) if self.dim() == 1 else self
    right = other.unsqueeze(1) if other.dim() == 1 else other
    slopes = grad_output.unsqueeze(-1) if other.dim() == 1 else grad_output
    slopes = slopes.unsqueeze(-2) if self.dim() == 1 else slopes
    parts = []
    if to_self is not None:
        parts.append(aten.matmul(to_self.reshape(left.shape), right))
    if to_other is not None:
        parts.append(aten.matmul(left, to_other.reshape(right.shape)))
    for_grad = sum(parts[1:], parts[0]).reshape(grad_output.shape) if needs[0] and parts else None
    for_self = for_other = None
    if needs[1] and to_other is not None:
        for_self = _sum_to(aten.matmul(slopes, _adjoint(to_other.reshape(right.shape))), left).reshape(self.shape)
    if needs[2] and to_self is not None:
        for_other = _sum_to(aten.matmul(_adjoint(to_self.reshape(left.shape)), slopes), right).reshape(other.shape)
    return for_grad, for_self, for_other


op(
    "matmul_backward(Tensor grad_output, Tensor self, Tensor other, bool[2] mask) -> (Tensor, Tensor)",
    "Gradients of matmul for both operands.",
    bind="generated_out",
    meta=rule("matmul_backward"),
    grad={("grad_output", "self", "other"): _matmul_backward_grads},
    samples=[S(T(3, 5), T(3, 4), T(4, 5), [True, True]), S(T(2, 3, 5), T(2, 3, 4), T(4, 5), [True, True])],
)

op(
    "mm(Tensor self, Tensor mat2) -> Tensor",
    "Product of two matrices.",
    bind="function method out",
    out_dtype="exact",
    tags="core",
    multilinear="self mat2",
    autocast="lower",
    meta=rule("mm"),
    grad={
        "self": lambda grad, mat2: aten.mm(grad, _adjoint(mat2)),
        "mat2": lambda grad, self: aten.mm(_adjoint(self), grad),
    },
    dtypes="floating+complex",
    samples=[S(T(3, 4), T(4, 5)), S(T(0, 4), T(4, 5)), S(T(3, 0), T(0, 5)), S(T(20, 30), T(30, 40))],
)

op(
    "mv(Tensor self, Tensor vec) -> Tensor",
    "Product of a matrix and a vector.",
    bind="function method out",
    out_dtype="addmv input tensors must have the same dtype, but got {out}, {result}, and {result}",
    multilinear="self vec",
    meta=rule("mv"),
    grad={
        "self": lambda grad, vec: grad.unsqueeze(1) * conj(vec),
        "vec": lambda grad, self: aten.mv(conj(self.t()), grad),
    },
    dtypes="floating+complex",
    samples=[S(T(3, 4), T(4)), S(T(3, 0), T(0))],
)

op(
    "vdot(Tensor self, Tensor other) -> Tensor",
    "Inner product of two vectors, the first conjugated.",
    bind="function method out",
    out_dtype="result dtype {out} does not match input dtype {result}",
    meta=rule("dot"),
    grad={
        "self": lambda grad, other: conj(grad) * other,
        "other": lambda grad, self: grad * self,
    },
    dtypes="floating+complex",
    samples=[S(T(4), T(4))],
)
