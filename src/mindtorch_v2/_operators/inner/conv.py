"""Convolutions by the names of PyTorch's kernels for the host: all are `convolution`, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..table import S, T, aten, composite
from .gradients import by_recording

if TYPE_CHECKING:
    from ..._tensor import Tensor

_FOUND = "expected scalar type {result} but found {out}"


def _check_kernel(weight, kernel_size, spatial) -> None:
    if weight.dim() == spatial + 2 and list(weight.shape[2:]) != list(kernel_size):
        raise RuntimeError(f"weight has a kernel of {list(weight.shape[2:])}, but kernel_size is {list(kernel_size)}")


def _check_elements(self, weight, spatial) -> None:
    for x, least, what in ((weight, 2, "weight"), (self, spatial + 1, "input")):
        if not x.numel():
            text = f"non-empty {least}D or {spatial + 2}D {what} tensor expected"
            raise RuntimeError(f"{text}, but got: {list(x.shape)}")


def _batched(self, spatial, function) -> Any:
    """`function` of a batch; a single sample is a batch of one."""
    return function(self) if self.dim() == spatial + 2 else function(self.unsqueeze(0)).squeeze(0)


def _slow(name, spatial, dilated=False, transposed=False, defaults=True, **words) -> None:
    def ints(name: str, value: int) -> str:
        given = f"=[{', '.join([str(value)] * spatial)}]" if defaults else ""
        return f", SymInt[{spatial}] {name}{given}"

    bias = ", Tensor? bias=None" if defaults else ", Tensor? bias"
    more = (ints("output_padding", 0) if transposed else "") + (ints("dilation", 1) if dilated or transposed else "")
    count = (2, 3, 2)
    kernel = [2] * spatial
    tail = [*([[0] * spatial] if transposed else []), *([[1] * spatial] if dilated or transposed else [])]

    @composite(
        f"{name}(Tensor self, Tensor weight, SymInt[{spatial}] kernel_size{bias}{ints('stride', 1)}{ints('padding', 0)}"
        f"{more}) -> Tensor",
        "`convolution` by the name of a kernel for the host" + (", transposed." if transposed else "."),
        samples=[
            S(T(*count[:2], *([4] * spatial)), T(3, 3, *kernel), kernel, T(3), [1] * spatial, [0] * spatial, *tail),
            S(T(*count[:2], *([4] * spatial)), T(3, 3, *kernel), kernel, None, [2] * spatial, [1] * spatial, *tail),
        ],
        **words,
    )
    def slow(
        self: Tensor,
        weight: Tensor,
        kernel_size: Sequence[int],
        bias: Tensor | None = None,
        stride: Sequence[int] = (1,) * spatial,
        padding: Sequence[int] = (0,) * spatial,
        *rest: Sequence[int],
    ) -> Tensor:
        output_padding = list(rest[0]) if transposed and rest else [0] * spatial
        dilation = list(rest[-1]) if len(rest) > transposed else [1] * spatial
        _check_kernel(weight, kernel_size, spatial)
        if transposed:
            _check_elements(self, weight, spatial)
        return _batched(
            self,
            spatial,
            lambda x: aten.convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, 1),
        )


for _d in (2, 3):
    _slow(f"slow_conv_dilated{_d}d", _d, dilated=True, bind="nn generated_out")
    _slow(f"slow_conv_transpose{_d}d", _d, transposed=True, bind="nn out", out_dtype="exact" if _d == 2 else _FOUND)
_slow("slow_conv3d", 3, bind="nn out", out_dtype=_FOUND)
_slow("slow_conv3d_forward", 3, defaults=False, bind="out", out_overload="output output", out_dtype=_FOUND)
_slow("_slow_conv2d_forward", 2, defaults=False, bind="out", out_overload="output output", out_dtype=_FOUND)


@composite(
    "_slow_conv2d_backward.output_mask(Tensor grad_output, Tensor self, Tensor weight, SymInt[2] kernel_size,"
    " SymInt[2] stride, SymInt[2] padding, bool[3] output_mask) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)",
    "The gradients of `thnn_conv2d` that `output_mask` names.",
    bind="generated_out",
    samples=[
        S(
            T(2, 3, 3, 3, grad=False),
            T(2, 3, 4, 4, grad=False),
            T(3, 3, 2, 2, grad=False),
            [2, 2],
            [1, 1],
            [0, 0],
            [True, True, True],
        )
    ],
)
def _slow_conv2d_backward(grad_output, self, weight, kernel_size, stride, padding, output_mask):
    return aten.convolution_backward(
        grad_output, self, weight, [weight.size(0)], stride, padding, [1, 1], False, [0, 0], 1, output_mask
    )


@composite(
    "_slow_conv2d_backward.grad_input(Tensor grad_output, Tensor self, Tensor weight, SymInt[2] kernel_size,"
    " SymInt[2] stride, SymInt[2] padding, *, Tensor(a!) grad_input, Tensor(b!) grad_weight, Tensor(c!) grad_bias)"
    " -> (Tensor(a!), Tensor(b!), Tensor(c!))",
    "The gradients of `thnn_conv2d`, into three tensors.",
    explicit=True,
)
def _slow_conv2d_backward_out(
    grad_output, self, weight, kernel_size, stride, padding, *, grad_input, grad_weight, grad_bias
):
    made = aten._slow_conv2d_backward(grad_output, self, weight, kernel_size, stride, padding, [True] * 3)
    for out, value in zip((grad_input, grad_weight, grad_bias), made, strict=True):
        aten.copy_(aten.resize_(out, value.shape), value)
    return grad_input, grad_weight, grad_bias


_CONVOLUTION = (
    "Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled"
)


@composite(
    f"_convolution.deprecated({_CONVOLUTION}) -> Tensor",
    "`_convolution` with the arguments that programs of older versions give.",
)
def _convolution_deprecated(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, benchmark, deterministic, cudnn_enabled
):  # fmt: skip
    return aten.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


@composite(
    "_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation,"
    " SymInt groups) -> Tensor",
    "`convolution` whose padding is 'same' or 'valid'.",
    bind="function",
    samples=[
        S(T(2, 3, 5), T(2, 3, 2), T(2), [1], "same", [1], 1),
        S(T(2, 3, 4, 4), T(2, 3, 2, 3), None, [1, 2], "valid", [1, 1], 1),
    ],
)
def _convolution_mode(input, weight, bias, stride, padding, dilation, groups):
    spatial = weight.dim() - 2
    return getattr(aten, f"conv{spatial}d")(input, weight, bias, stride, padding, dilation, groups)


@composite(
    "conv_tbc_backward(Tensor self, Tensor input, Tensor weight, Tensor bias, int pad) -> (Tensor, Tensor, Tensor)",
    "The gradients of `conv_tbc`; `self` is that of its result.",
    samples=[
        S(T(5, 2, 4, grad=False), T(4, 2, 3, grad=False), T(2, 3, 4, grad=False), T(4, grad=False), 1),
    ],
)
def conv_tbc_backward(self: Tensor, input: Tensor, weight: Tensor, bias: Tensor, pad: int) -> tuple[Tensor, ...]:
    made = by_recording(lambda x, w, b: aten.conv_tbc(x, w, b, pad), [(x, True) for x in (input, weight, bias)], self)
    return tuple(made)


@composite(
    "_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self,"
    " SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups,"
    " bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    "The gradients of `convolution_backward` for the result's gradient, the input and the weight.",
)
def _convolution_double_backward(
    ggI, ggW, ggb, gO, weight, self, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    made: list[Any] = [None, None, None]

    def convolved(x: Any, w: Any, b: Any) -> Any:
        return aten.convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups)

    def backward(which: int) -> Any:
        mask = [place == which for place in range(3)]
        return lambda g, x, w: aten.convolution_backward(
            g, x, w, None, stride, padding, dilation, transposed, output_padding, groups, mask
        )[which]

    if output_mask[0]:  # bilinear: each direction adds what it gives alone
        parts = [convolved(ggI, weight, None)] if ggI is not None else []
        parts += [convolved(self, ggW, None)] if ggW is not None else []
        if ggb is not None:
            parts.append(ggb.reshape([1, -1, *([1] * (gO.dim() - 2))]).expand(gO.shape))
        made[0] = sum(parts[1:], parts[0]) if parts else aten.zeros_like(gO)
    if output_mask[1] and ggW is not None:
        made[1] = backward(0)(gO, self, ggW)
    if output_mask[2] and ggI is not None:
        made[2] = backward(1)(gO, ggI, weight)
    return tuple(made)
