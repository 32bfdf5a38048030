"""Pointwise operators, reductions, norms and losses on tensors of the size that training meets."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.registry import Bar, Case, add

_SHAPES = ((4096, 768), (4096, 3072))
_SET = "training-size kernels"

# Forward and backward; held to the bars. Each takes (torch, x, other) and gives a tensor.
_TRAINED: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "add": lambda torch, x, other: x + other,
    "mul": lambda torch, x, other: x * other,
    "relu": lambda torch, x, other: torch.relu(x),
    "tanh": lambda torch, x, other: torch.tanh(x),
    "sigmoid": lambda torch, x, other: torch.sigmoid(x),
    "exp": lambda torch, x, other: torch.exp(x),
    "gelu": lambda torch, x, other: torch.nn.functional.gelu(x),
    "gelu tanh": lambda torch, x, other: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda torch, x, other: torch.nn.functional.silu(x),
    "softmax": lambda torch, x, other: torch.softmax(x, -1),
    "log_softmax": lambda torch, x, other: torch.log_softmax(x, -1),
    "dropout": lambda torch, x, other: torch.nn.functional.dropout(x, 0.1),
}

_FORWARD: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "sum": lambda torch, x, other: x.sum(),
    "sum over rows": lambda torch, x, other: x.sum(0),
    "mean over columns": lambda torch, x, other: x.mean(-1),
    "max over columns": lambda torch, x, other: x.max(-1),
    "var over columns": lambda torch, x, other: x.var(-1),
    "argmax": lambda torch, x, other: x.argmax(-1),
    "sqrt": lambda torch, x, other: x.sqrt(),
    "where": lambda torch, x, other: torch.where(x > 0.5, x, other),
    "copy of the transpose": lambda torch, x, other: x.t().contiguous(),
    "cat": lambda torch, x, other: torch.cat((x, other)),
    "to bfloat16": lambda torch, x, other: x.to(torch.bfloat16),
    "cumsum": lambda torch, x, other: x.cumsum(-1),
    "index_select": lambda torch, x, other: x.index_select(0, torch.arange(0, 4096, 2)),
    "sort": lambda torch, x, other: x.sort(-1),
}

_OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 1e-3, "momentum": 0.9},
    "Adam": {},
    "Adagrad": {},
    "RMSprop": {},
    "RMSprop with all": {"momentum": 0.9, "centered": True, "weight_decay": 0.01},
}


def _forward(operator: Callable, shape: tuple[int, int]) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        x, other = torch.rand(*shape), torch.rand(*shape)
        return lambda: operator(torch, x, other)

    return prepare


def _trained(operator: Callable, shape: tuple[int, int]) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        x, other, upstream = torch.rand(*shape).requires_grad_(), torch.rand(*shape), torch.rand(*shape)

        def step() -> None:
            x.grad = None
            operator(torch, x, other).backward(upstream)

        return step

    return prepare


def _layer_norm(shape: tuple[int, int]) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        norm = torch.nn.LayerNorm(shape[-1])
        x, upstream = torch.rand(*shape).requires_grad_(), torch.rand(*shape)

        def step() -> None:
            x.grad = norm.weight.grad = norm.bias.grad = None
            norm(x).backward(upstream)

        return step

    return prepare


def _cross_entropy(shape: tuple[int, int]) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        logits, labels = torch.rand(*shape).requires_grad_(), torch.randint(0, shape[1], (shape[0],))

        def step() -> None:
            logits.grad = None
            torch.nn.functional.cross_entropy(logits, labels).backward()

        return step

    return prepare


def _optimizer(name: str, shape: tuple[int, int], options: dict) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        weight = torch.nn.Parameter(torch.rand(*shape))
        weight.grad = torch.rand(*shape)
        return getattr(torch.optim, name)([weight], **options).step

    return prepare


for _shape in _SHAPES:
    _size = f"{_shape[0]}x{_shape[1]}"
    for _name, _operator in _TRAINED.items():
        _title = f"{_name} {_size}, forward and backward"
        add(Case(_title, "pointwise", _trained(_operator, _shape), Bar(1.0), _SET))
    _named = {"layer norm": _layer_norm, "cross entropy": _cross_entropy}
    for _name, _prepare in _named.items():
        add(Case(f"{_name} {_size}, forward and backward", "norms and losses", _prepare(_shape), Bar(1.0), _SET))
    add(Case(f"AdamW step {_size}", "optimizer", _optimizer("AdamW", _shape, {}), Bar(1.0), _SET))
    for _name, _options in _OPTIMIZERS.items():
        _stepped = _optimizer(_name.split()[0], _shape, _options)
        add(Case(f"{_name} step {_size}", "optimizer", _stepped, Bar(1.0)))
for _name, _operator in _FORWARD.items():
    add(Case(f"{_name} 4096x768", "reductions and data movement", _forward(_operator, _SHAPES[0])))
