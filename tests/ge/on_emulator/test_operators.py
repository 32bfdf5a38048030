"""Every converter of PyTorch's operators: the GE graph gives on the emulator what eager gives on the CPU."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F

aten = torch.ops.aten


def r(*shape: int) -> torch.Tensor:
    """Numbers that are neither too near to 0 nor to each other."""
    n = 1
    for size in shape:
        n *= size
    return ((torch.arange(n, dtype=torch.float32) * 0.37 + 0.21) % 1.9 - 0.9).reshape(shape)


def i(*shape: int, below: int = 3) -> torch.Tensor:
    n = 1
    for size in shape:
        n *= size
    return (torch.arange(n) * 7 % below).reshape(shape)


def b(*shape: int) -> torch.Tensor:
    return r(*shape) > 0


Case = tuple[str, Callable[..., Any], tuple[torch.Tensor, ...]]
CASES: list[Case] = [
    *(
        (name, getattr(torch, name), (r(3, 4),))
        for name in ("abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "neg")
    ),
    *(
        (name, getattr(torch, name), (r(3, 4),))
        for name in ("sigmoid", "sign", "sin", "square", "tanh", "relu", "round")
    ),
    *((name, getattr(torch, name), (r(3, 4).abs() + 0.1,)) for name in ("log", "log1p", "reciprocal", "rsqrt", "sqrt")),
    ("silu", F.silu, (r(3, 4),)),
    ("glu", lambda x: (F.glu(x), F.glu(x, 0)), (r(2, 4),)),
    ("gelu", F.gelu, (r(3, 4),)),
    ("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), (r(3, 4),)),
    ("floats of integers", lambda x: (torch.exp(x), x / 2, x + 0.5), (i(4),)),
    ("add", lambda x, y: (x + y, x + 2, 2 - x, torch.add(x, y, alpha=3)), (r(3, 4), r(4))),
    ("sub", lambda x, y: (x - y, torch.sub(x, y, alpha=3), torch.rsub(x, y)), (r(3, 4), r(4))),
    ("mul", lambda x, y: (x * y, x * 2, y * True), (r(3, 4), i(3, 1))),
    ("div", lambda x, y: (x / y, x / 2), (r(3, 4), r(4) + 2)),
    ("floor div", lambda x, y: (x // y, torch.div(x, 2, rounding_mode="floor")), (i(5, below=9), i(5) + 1)),
    ("remainder", lambda x, y: (x % y, x % 2), (i(5, below=9), i(5) + 1)),
    ("pow", lambda x, y: (x**2, x**3, x**y, 2**x), (r(4).abs() + 0.1, r(4))),
    ("extrema", lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), x.clamp(-0.2, 0.3)), (r(3, 4), r(4))),
    ("clamp one side", lambda x: (x.clamp(min=0), x.clamp(max=0.1)), (r(3, 4),)),
    ("compare", lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != 0.21, x > 0), (r(3, 4), r(4))),
    ("compare kinds", lambda x, y: (x == y, x < 0.5, y > x), (i(4), r(4))),
    ("truths", lambda x, y: (x & y, x | y, x ^ y, ~x, x.logical_and(y), x.logical_not()), (b(3, 4), b(4))),
    ("bits", lambda x, y: (x & y, x | y, x ^ y, x & 1), (i(5, below=9), i(5, below=5))),
    ("where", lambda c, x, y: (torch.where(c, x, y), torch.where(c, x, 0.0)), (b(3, 4), r(3, 4), r(4))),
    ("masked_fill", lambda x, m: (x.masked_fill(m, -1), x.masked_fill(m, float("-inf"))), (r(3, 4), b(4))),
    ("tanh grad", aten.tanh_backward.default, (r(3, 4), r(3, 4))),
    ("sigmoid grad", aten.sigmoid_backward.default, (r(3, 4), r(3, 4))),
    ("silu grad", aten.silu_backward.default, (r(3, 4), r(3, 4) * 2)),
    ("glu grad", lambda g, x: aten.glu_backward(g, x, -1), (r(3, 2), r(3, 4) * 2)),
    ("gelu grad", lambda g, x: aten.gelu_backward(g, x, approximate="tanh"), (r(3, 4), r(3, 4) * 2)),
    ("threshold grad", lambda g, x: aten.threshold_backward(g, x, 0), (r(3, 4), r(3, 4) * 2)),
    ("threshold grad elsewhere", lambda g, x: aten.threshold_backward(g, x, 0.5), (r(3, 4), r(3, 4) * 2)),
    ("view", lambda x: (x.view(4, 3), x.reshape(-1), x.unsqueeze(1), x[None].squeeze(0), x.flatten()), (r(3, 4),)),
    ("transpose", lambda x: (x.transpose(0, 2), x.permute(1, 2, 0), x[0].t(), x.mT), (r(2, 3, 4),)),
    ("slices", lambda x: (x[1:, ::2], x[:, -3:-1], x[0], x[:, -1], x.narrow(1, 1, 2), x[3:]), (r(3, 4),)),
    ("expand", lambda x: (x.expand(3, 4), x.expand(2, -1, 4)), (r(3, 1),)),
    ("split", lambda x: (*x.split(2, 1), *x.split([1, 3], -1), *x.unbind(0), *x.chunk(2)), (r(3, 4),)),
    ("cat", lambda x, y: (torch.cat([x, y], 1), torch.cat([x, x.long()]), torch.stack([x, x], -1)), (r(3, 4), r(3, 2))),
    ("pad", lambda x: (F.pad(x, (1, 2)), F.pad(x, (0, 0, 2, 0), value=3.0), F.pad(x, (-1, 1))), (r(3, 4),)),
    ("select grad", lambda g: aten.select_backward(g, [3, 4], 1, -1), (r(3),)),
    ("slice grad", lambda g: aten.slice_backward(g, [5, 4], 0, 1, 3, 1), (r(2, 4),)),
    ("scatter of parts", lambda x, y: (x.slice_scatter(y, 0, 1, 3), x.select_scatter(y[0], 0, 2)), (r(4, 3), r(2, 3))),
    ("gather", lambda x, j: x.gather(1, j), (r(3, 4), i(3, 2))),
    ("index_select", lambda x, j: x.index_select(1, j), (r(3, 4), i(5))),
    ("index", lambda x, j: (x[j], x[:, j], x[j, j], x[j[:, None], j]), (r(4, 4, 2), i(3))),
    ("index apart", lambda x, j: x[j, :, j], (r(4, 4, 3), i(3))),
    ("embedding", lambda w, j: F.embedding(j, w), (r(5, 3), i(2, 3))),
    ("embedding grad", lambda g, j: aten.embedding_dense_backward(g, j, 5, -1, False), (r(2, 3, 4), i(2, 3))),
    ("embedding grad with padding", lambda g, j: aten.embedding_dense_backward(g, j, 5, 1, False), (r(6, 4), i(6))),
    (
        "factories",
        lambda x: (torch.ones_like(x), x.new_zeros(2), x.new_full([2], 7), torch.full_like(x, 0.5)),
        (r(3, 4),),
    ),
    ("ranges", lambda x: (torch.arange(5, device=x.device) + x, torch.arange(1, 6, device=x.device) * x), (r(5),)),
    ("steps", lambda x: torch.arange(4, -1, -1, device=x.device) + x, (i(5),)),
    ("triangles", lambda x: (x.tril(), x.triu(1)), (r(4, 4),)),
    ("casts", lambda x: (x.long(), x.half(), x.bool(), x.double(), x.int()), (r(3, 4) * 4,)),
    ("sums", lambda x: (x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), x.mean(), x.mean(-1)), (r(2, 3, 4),)),
    ("sums of others", lambda x, c: (x.sum(0), c.sum(), x.sum(dtype=torch.float32)), (i(3, 4), b(3, 4))),
    ("largest", lambda x: (x.amax(1), x.amin(0, keepdim=True), x.max(), x.min(), x.argmax(1), x.argmax()), (r(3, 4),)),
    ("any", lambda x: (x.any(), x.any(1), x.all(0), x.all()), (b(3, 4),)),
    ("cumsum", lambda x, j: (x.cumsum(1), j.cumsum(0)), (r(3, 4), i(5))),
    ("mm", lambda x, y: (x @ y, torch.mm(x, y)), (r(3, 4), r(4, 5))),
    ("bmm", lambda x, y: (x @ y, torch.bmm(x, y)), (r(2, 3, 4), r(2, 4, 5))),
    ("matmul", lambda x, y: (x @ y[0, 0], y @ x[0, 0, 0], x @ y[0]), (r(2, 3, 4, 5), r(3, 5, 5))),
    (
        "addmm",
        lambda c, x, y: (torch.addmm(c, x, y), torch.addmm(c, x, y, beta=2, alpha=0.5)),
        (r(5), r(3, 4), r(4, 5)),
    ),
    ("baddbmm", lambda c, x, y: torch.baddbmm(c, x, y, alpha=2), (r(2, 3, 5), r(2, 3, 4), r(2, 4, 5))),
    (
        "linear",
        lambda x, w, c: (F.linear(x, w, c), F.linear(x, w), F.linear(x[0, 0], w, c)),
        (r(2, 3, 4), r(5, 4), r(5)),
    ),
    (
        "linear grad",
        lambda x, g, w: aten.linear_backward(x, g, w, [True, True, True]),
        (r(2, 3, 4), r(2, 3, 5), r(5, 4)),
    ),
    (
        "matmul grad",
        lambda g, x, y: aten.matmul_backward(g, x, y, [True, True]),
        (r(2, 3, 5), r(2, 3, 4), r(4, 5)),
    ),
    ("softmax", lambda x: (x.softmax(-1), x.log_softmax(0), x.softmax(1)), (r(2, 3, 4),)),
    ("closed softmax", lambda x, m: aten._safe_softmax(x.masked_fill(m, float("-inf")), -1), (r(2, 4), r(2, 1) > -0.8)),
    ("softmax grad", lambda g, y: aten._softmax_backward_data(g, y, -1, torch.float32), (r(3, 4), r(3, 4))),
    ("log_softmax grad", lambda g, y: aten._log_softmax_backward_data(g, y, 1, torch.float32), (r(3, 4), r(3, 4))),
    ("layer_norm", lambda x, w, c: aten.native_layer_norm(x, [4], w, c, 1e-5), (r(2, 3, 4), r(4), r(4))),
    ("layer_norm of two", lambda x: aten.native_layer_norm(x, [3, 4], None, None, 1e-5), (r(2, 3, 4),)),
    ("nll", lambda x, t: aten.nll_loss_forward(x, t, None, 1, -100), (r(4, 3), i(4))),
    ("nll each", lambda x, t, w: aten.nll_loss_forward(x, t, w, 0, 1)[0], (r(4, 3), i(4), r(3).abs())),
    (
        "conv",
        lambda x, w, c: (F.conv2d(x, w, c, padding=1), F.conv2d(x, w, stride=2)),
        (r(2, 3, 6, 5), r(4, 3, 3, 3), r(4)),
    ),
    ("mse", lambda x, y: (F.mse_loss(x, y), F.mse_loss(x, y, reduction="none")), (r(3, 4), r(3, 4) * 2)),
    (
        "masked scale",
        lambda x, m: (aten.native_dropout_backward(x, m, 2.0), aten._masked_scale(x, m, 2.0)),
        (r(3, 4), b(3, 4)),
    ),
]


def _listed(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (list, tuple)) else [made]


@pytest.mark.parametrize(("program", "inputs"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_gives_what_eager_gives(program: Callable, inputs: tuple, converted: Callable) -> None:
    given = [each.npu() for each in inputs]
    expected = _listed(program(*inputs))
    found = _listed(converted(program, *given)(*given))
    assert len(found) == len(expected)
    for made, wanted in zip(found, expected, strict=True):
        assert made.device.type == "npu" and made.dtype == wanted.dtype
        torch.testing.assert_close(made.cpu(), wanted, rtol=1e-5, atol=1e-6)


GRADIENTS: list[Case] = [
    ("layer_norm", lambda x, w, c: F.layer_norm(x, (4,), w, c), (r(2, 3, 4), r(4), r(4))),
    ("nll", lambda x, t: F.nll_loss(F.log_softmax(x, 1), t), (r(4, 3), i(4))),
    (
        "cross entropy with ignored",
        lambda x, t: F.cross_entropy(x, t, ignore_index=1, reduction="sum"),
        (r(4, 3), i(4)),
    ),
    ("mse", lambda x, y: F.mse_loss(x, y), (r(3, 4), r(3, 4) * 2)),
    ("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (r(2, 2, 5, 4),) * 3),
    ("embedding", lambda w, j: F.embedding(j, w, padding_idx=0), (r(5, 3), i(2, 3))),
    ("slices", lambda x: x[1:, 0] * x[0, 1:4].sum(), (r(3, 4),)),
    ("linear", lambda x, w, c: F.gelu(F.linear(x, w, c)), (r(2, 3, 4), r(5, 4), r(5))),
    ("conv", lambda x, w, c: F.conv2d(x, w, c, stride=(2, 1), padding=(1, 2)), (r(2, 4, 5, 6), r(6, 4, 3, 2), r(6))),
    ("conv in groups", lambda x, w: F.conv2d(x, w, dilation=2, groups=2), (r(1, 4, 7, 6), r(4, 2, 3, 2))),
    ("activations", lambda x: F.silu(x) + x.sigmoid() * x.tanh() + x.relu() ** 3 + (x * x + 1).rsqrt(), (r(3, 4),)),
]


@pytest.mark.parametrize(("program", "inputs"), [case[1:] for case in GRADIENTS], ids=[case[0] for case in GRADIENTS])
def test_gradients(program: Callable, inputs: tuple, converted: Callable) -> None:
    def gradients(*values: torch.Tensor) -> tuple:
        values = tuple(v.detach().requires_grad_() if v.is_floating_point() else v for v in values)
        made = program(*values)
        weights = torch.arange(made.numel(), device=made.device) * 0.1 + 1
        return torch.autograd.grad((made * weights.view(made.shape)).sum(), [v for v in values if v.requires_grad])

    given = [each.npu() for each in inputs]
    found = converted(gradients, *given)(*given)
    for made, wanted in zip(found, gradients(*inputs), strict=True):
        torch.testing.assert_close(made.cpu(), wanted, rtol=1e-4, atol=1e-5)
