"""The gain of torch.compile: chains of operators, compiled, against the reference's compiled and eager mode and our eager one.

A case `... | eager` times the program as it is under both; `... | compiled` the compiled one. The reference compiles with its
C++ compiler, ours has none. The quotient of ours, compiled by eager, is in results.json.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.registry import Case, add

_SIZES = {"4 MB": (1024, 1024), "64 MB": (16384, 1024)}


def _ten(torch: ModuleType, x: Any, y: Any, w: Any) -> Any:
    z = (x * 2 + y).sigmoid() * x
    z = (z - y).tanh() + 1
    return (z.relu() * 0.5).exp() - x


def _cheap(torch: ModuleType, x: Any, y: Any, w: Any) -> Any:
    z = (x * 2 + y) * x - y
    return ((z + 1).relu() * 0.5 - x) * y


def _rms_norm(torch: ModuleType, x: Any, y: Any, w: Any) -> Any:
    x = x + y
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def _softmax(torch: ModuleType, x: Any, y: Any, w: Any) -> Any:
    return torch.softmax(x * 0.125 + y, -1)


def _add_norm(torch: ModuleType, x: Any, y: Any, w: Any) -> Any:
    return torch.nn.functional.layer_norm(torch.nn.functional.gelu(x) + y, (1024,), w, w)


def _swiglu(torch: ModuleType, x: Any, y: Any, w: Any) -> Any:
    return torch.nn.functional.silu(x) * y


CHAINS: dict[str, Callable[[ModuleType, Any, Any, Any], Any]] = {
    "ten pointwise": _ten,
    "eight cheap pointwise": _cheap,
    "add, RMS norm": _rms_norm,
    "scale, mask, softmax": _softmax,
    "gelu, add, layer norm": _add_norm,
    "silu, multiply": _swiglu,
}


def _prepare(
    chain: Callable[[ModuleType, Any, Any, Any], Any], shape: tuple[int, int], compiled: bool
) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        torch.manual_seed(0)
        x, y, w = torch.randn(*shape), torch.randn(*shape), torch.randn(shape[1])

        def run(x: Any, y: Any, w: Any) -> Any:
            return chain(torch, x, y, w)

        function = torch.compile(run) if compiled else run

        def call() -> Any:
            with torch.no_grad():
                return function(x, y, w)

        for _ in range(16 if compiled else 1):  # our compiler looks at its first calls
            call()
        return call

    return prepare


for _size, _shape in _SIZES.items():
    for _name, _chain in CHAINS.items():
        for _mode in ("eager", "compiled"):
            add(
                Case(f"{_name} {_size} | {_mode}", "compiled", _prepare(_chain, _shape, _mode == "compiled"), slow=True)
            )


def _small_mlp(compiled: bool) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        nn = torch.nn
        model: Any = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
        x = torch.randn(8, 16)
        function = torch.compile(model) if compiled else model

        def call() -> Any:
            with torch.no_grad():
                return function(x)

        for _ in range(32):
            call()
        return call

    return prepare


for _mode in ("eager", "compiled"):
    add(Case(f"call of a small MLP | {_mode}", "compiled", _small_mlp(_mode == "compiled")))
