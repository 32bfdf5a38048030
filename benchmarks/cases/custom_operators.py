"""Cost of a call of a user's own operator: one of a Python function, with and without a gradient, and its binding."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.registry import Bar, case

_HALF = Bar(1 / 0.5, threads=1)


def _scaled(torch: ModuleType) -> Any:
    def scaled(x: Any, y: Any, scale: float = 1.0) -> Any:
        return x + y

    schema = "(Tensor x, Tensor y, float scale=1.0) -> Tensor"
    op = torch.library.custom_op("benchmark::scaled", scaled, mutates_args=(), schema=schema)

    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.scale = inputs[2]

    op.register_autograd(lambda ctx, grad: (grad, grad, None), setup_context=setup_context)
    return op


@case("custom_op", "custom operators", _HALF)
def _custom_op(torch: ModuleType) -> Callable[[], Any]:
    op, x = _scaled(torch), torch.ones(4)
    return lambda: op(x, x, 2.0)


@case("custom_op, forward and backward", "custom operators", _HALF)
def _custom_op_with_gradient(torch: ModuleType) -> Callable[[], Any]:
    op, x, grad = _scaled(torch), torch.ones(4, requires_grad=True), torch.ones(4)
    return lambda: torch.autograd.grad(op(x, x, 2.0), x, grad)


def _six(torch: ModuleType) -> Any:
    library = torch.library.Library("benchmark_binding", "FRAGMENT")
    if not hasattr(torch.ops.benchmark_binding, "six"):
        library.define("six(Tensor a, int b=1, float c=1.0, bool d=False, str e='x', int f=0) -> Tensor")
        library.impl("six", lambda a, *rest: a, "CPU")
    return library, torch.ops.benchmark_binding.six.default


@case("six arguments by position", "custom operators")
def _by_position(torch: ModuleType) -> Callable[[], Any]:
    library, op = _six(torch)
    x = torch.ones(4)
    return lambda: (op(x, 2, 2.0, True, "y", 3), library)


@case("six arguments, three by keyword", "custom operators")
def _by_keyword(torch: ModuleType) -> Callable[[], Any]:
    library, op = _six(torch)
    x = torch.ones(4)
    return lambda: (op(x, 2, 2.0, d=True, e="y", f=3), library)
