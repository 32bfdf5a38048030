"""The cost of a call when there is next to nothing to compute: twenty small operators, with and without grad."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.registry import Bar, Case, add, case

_QUARTER, _THREE_TENTHS = Bar(1 / 0.25, threads=1), Bar(1 / 0.3, threads=1)
_BARS = {"a + b": _QUARTER, "linear(8, 8)": _THREE_TENTHS}
_BARS_WITH_GRAD = {"a + b": _QUARTER}

# Each takes (torch, a, b): four floats each; inputs of other shapes are made beforehand, by name, below.
_OPERATORS: dict[str, Callable[[ModuleType, dict[str, Any]], Any]] = {
    "a + b": lambda torch, t: t["a"] + t["b"],
    "a + 1.0": lambda torch, t: t["a"] + 1.0,
    "a * b": lambda torch, t: t["a"] * t["b"],
    "a / b": lambda torch, t: t["a"] / t["b"],
    "a > b": lambda torch, t: t["a"] > t["b"],
    "exp": lambda torch, t: t["a"].exp(),
    "relu": lambda torch, t: torch.relu(t["a"]),
    "gelu": lambda torch, t: torch.nn.functional.gelu(t["a"]),
    "sum": lambda torch, t: t["a"].sum(),
    "mean over a dimension": lambda torch, t: t["m"].mean(-1),
    "softmax": lambda torch, t: t["m"].softmax(-1),
    "layer_norm": lambda torch, t: torch.nn.functional.layer_norm(t["m"], (8,), t["w"], t["w"]),
    "matmul (8, 8)": lambda torch, t: t["m"] @ t["m"],
    "linear(8, 8)": lambda torch, t: torch.nn.functional.linear(t["row"], t["m"], t["w"]),
    "view": lambda torch, t: t["m"].view(4, 16),
    "transpose": lambda torch, t: t["m"].transpose(0, 1),
    "m[1]": lambda torch, t: t["m"][1],
    "m[:, 2:6]": lambda torch, t: t["m"][:, 2:6],
    "cat of two": lambda torch, t: torch.cat((t["a"], t["b"])),
    "broadcast (8, 8) + (8,)": lambda torch, t: t["m"] + t["w"],
}


def _inputs(torch: ModuleType, grad: bool) -> dict[str, Any]:
    shapes = {"a": (4,), "b": (4,), "m": (8, 8), "w": (8,), "row": (1, 8)}
    return {name: torch.rand(*shape).requires_grad_(grad) for name, shape in shapes.items()}


def _prepare(operator: Callable, grad: bool) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        inputs = _inputs(torch, grad)
        return lambda: operator(torch, inputs)

    return prepare


for _name, _operator in _OPERATORS.items():
    add(Case(_name, "overhead", _prepare(_operator, grad=False), _BARS.get(_name)))
for _name, _operator in _OPERATORS.items():
    add(Case(f"{_name}, grad", "overhead with grad", _prepare(_operator, grad=True), _BARS_WITH_GRAD.get(_name)))


@case("a.add_(b)", "overhead")
def _add_in_place(torch: ModuleType) -> Callable[[], Any]:
    a, b = torch.zeros(4), torch.zeros(4)
    return lambda: a.add_(b)


@case("nn.Linear(8, 8) on one row", "overhead", _THREE_TENTHS)
def _linear_module(torch: ModuleType) -> Callable[[], Any]:
    layer, row = torch.nn.Linear(8, 8), torch.rand(1, 8)
    return lambda: layer(row)


@case("a.shape", "overhead")
def _shape(torch: ModuleType) -> Callable[[], Any]:
    a = torch.zeros(4, 5)
    return lambda: a.shape


@case("chain of 10, forward", "overhead with grad")
def _chain_forward(torch: ModuleType) -> Callable[[], Any]:
    a, b = torch.rand(4).requires_grad_(), torch.rand(4)
    return lambda: _chain(a, b)


@case("chain of 10, forward and backward", "overhead with grad", _THREE_TENTHS)
def _chain_backward(torch: ModuleType) -> Callable[[], Any]:
    a, b = torch.rand(4).requires_grad_(), torch.rand(4)

    def step() -> None:
        a.grad = None
        _chain(a, b).sum().backward()

    return step


def _chain(a: Any, b: Any) -> Any:
    x = a
    for _ in range(5):
        x = (x + b) * b
    return x


@case("compiled call, 200 parameters", "overhead")
def _compiled_call(torch: ModuleType) -> Callable[[], Any]:
    """The cost of a call of a compiled model before its graph runs: guards are checked, inputs gathered."""
    model = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(100)))
    x, result = torch.ones(1, 2), (torch.ones(1, 2),)

    def backend(graph: Any, examples: Any) -> Callable[..., Any]:
        return lambda *inputs: result

    compiled = torch.compile(model, backend=backend)
    return lambda: compiled(x)
