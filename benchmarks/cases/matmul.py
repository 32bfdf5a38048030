"""Matrix products and convolutions, at the shapes that BERT and ResNet-50 use."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.registry import Case, add

_SQUARE = (128, 512, 1024)
_LINEAR = ((1, 768, 768), (8, 768, 768), (512, 768, 768), (512, 3072, 768), (4096, 768, 768))  # rows, out, in
# batch, channels in, size, channels out, kernel, stride, padding
_CONVOLUTIONS = (
    (8, 3, 224, 64, 7, 2, 3),
    (8, 64, 56, 64, 3, 1, 1),
    (8, 64, 56, 256, 1, 1, 0),
    (8, 256, 14, 256, 3, 1, 1),
)


def _mm(size: int, dtype: str) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        a, b = (torch.rand(size, size).to(getattr(torch, dtype)) for _ in range(2))
        return lambda: torch.mm(a, b)

    return prepare


def _linear(rows: int, outputs: int, inputs: int, dtype: str) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        shapes = ((rows, inputs), (outputs, inputs), (outputs,))
        x, w, b = (torch.rand(*shape).to(getattr(torch, dtype)) for shape in shapes)
        return lambda: torch.nn.functional.linear(x, w, b)

    return prepare


def _bmm(batch: int, rows: int, inner: int, columns: int) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        a, b = torch.rand(batch, rows, inner), torch.rand(batch, inner, columns)
        return lambda: torch.bmm(a, b)

    return prepare


def _convolution(shape: tuple[int, ...], backward: bool) -> Callable[[ModuleType], Callable[[], Any]]:
    batch, channels_in, size, channels, kernel, stride, padding = shape

    def prepare(torch: ModuleType) -> Callable[[], Any]:
        x = torch.rand(batch, channels_in, size, size).requires_grad_(backward)
        weight = torch.rand(channels, channels_in, kernel, kernel).requires_grad_(backward)
        run = torch.nn.functional.conv2d
        if not backward:
            return lambda: run(x, weight, None, stride, padding)
        upstream = torch.rand_like(run(x, weight, None, stride, padding).detach())

        def step() -> None:
            x.grad = weight.grad = None
            run(x, weight, None, stride, padding).backward(upstream)

        return step

    return prepare


for _dtype in ("float32", "bfloat16"):
    for _size in _SQUARE:
        add(Case(f"mm {_size}x{_size}x{_size} {_dtype}", "matmul", _mm(_size, _dtype)))
    for _linear_shape in _LINEAR:
        add(Case(f"linear {'x'.join(map(str, _linear_shape))} {_dtype}", "matmul", _linear(*_linear_shape, _dtype)))
for _bmm_shape in ((96, 128, 64, 128), (96, 128, 128, 64)):
    add(Case(f"bmm {'x'.join(map(str, _bmm_shape))}", "matmul", _bmm(*_bmm_shape)))
for _shape in _CONVOLUTIONS:
    _name = (
        f"conv2d {_shape[0]}x{_shape[1]}x{_shape[2]}x{_shape[2]} -> {_shape[3]}, {_shape[4]}x{_shape[4]}/{_shape[5]}"
    )
    add(Case(_name, "convolution", _convolution(_shape, backward=False)))
    add(Case(f"{_name}, forward and backward", "convolution", _convolution(_shape, backward=True)))
