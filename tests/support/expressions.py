"""Expressions that both libraries evaluate: what comes out, what gradients flow back, and how much was drawn.

An expression is a line of Python over `torch`, `nn`, `F`, `D` and inputs that it makes itself:

    x(2, 3)         numbers between -1 and 1 that need a gradient, others at each call;  p(2, 3) between 0 and 1
    i(4, 5)         whole numbers 0 to 4, four of them;  b(3) truth values;  z(2) complex numbers
"""

import ast
import math
import textwrap
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

from agreement import same


class Inputs:
    """Tensors for one expression."""

    def __init__(self, torch: ModuleType, dtype: str):
        self._torch, self._dtype = torch, getattr(torch, dtype)
        self.leaves: list[Any] = []

    def _wave(self, shape: tuple[int, ...]) -> Any:
        count = math.prod(shape)
        first = 1 + 17 * len(self.leaves)
        return (self._torch.arange(first, first + count, dtype=self._torch.float64) * 1.7).sin().reshape(shape)

    def _leaf(self, value: Any) -> Any:
        self.leaves.append(value.detach().requires_grad_())
        return self.leaves[-1]

    def x(self, *shape: int) -> Any:
        """Numbers between -1 and 1."""
        return self._leaf(self._wave(shape).to(self._dtype))

    def p(self, *shape: int) -> Any:
        """Numbers between 0 and 1."""
        return self._leaf((self._wave(shape) * 0.45 + 0.5).to(self._dtype))

    def z(self, *shape: int) -> Any:
        """Complex numbers."""
        return self._leaf(self._torch.complex(self._wave(shape), self._wave(shape).cos()))

    def i(self, count: int, high: int) -> Any:
        """Whole numbers below `high`."""
        return self._torch.arange(count) * 7 % high

    def b(self, *shape: int) -> Any:
        """Truth values."""
        return self._wave(shape) > 0


def outcome(torch: ModuleType, text: str, dtype: str = "float64", **names: Any) -> Any:
    """Results, gradients of the inputs and the next random number; or the error's class and text."""
    inputs = Inputs(torch, dtype)
    torch.manual_seed(0)
    known = {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "D": torch.distributions,
        "math": math,
        "Box": SimpleNamespace,
        **{name: getattr(inputs, name) for name in "xpzib"},
        **names,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(text, known)
            results = _tensors(result)
            total = sum((each.abs() ** 2).sum() for each in results if each.requires_grad)
            grads: Any = ()
            if not isinstance(total, int) and inputs.leaves:
                grads = torch.autograd.grad(total, inputs.leaves, allow_unused=True)
    except Exception as error:  # noqa: BLE001  (what PyTorch raises is what is expected)
        return type(error).__name__, " ".join(str(error).partition("\nException raised from")[0].split())
    return result, list(grads), torch.rand(1)


def session(torch: ModuleType, text: str, **names: Any) -> list[Any]:
    """Lines run one after the other, as at a prompt: what each expression comes to, what is raised and what is warned of."""
    torch.manual_seed(0)
    known = {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        **{name: getattr(Inputs(torch, "float64"), name) for name in "xpzib"},
        **names,
    }
    said: list[Any] = []
    for statement in ast.parse(textwrap.dedent(text)).body:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                if isinstance(statement, ast.Expr):
                    said.append(eval(compile(ast.Expression(statement.value), "<session>", "eval"), known))
                else:
                    exec(compile(ast.Module([statement], []), "<session>", "exec"), known)
            except Exception as error:  # noqa: BLE001  (what PyTorch raises is what is expected)
                said.append([type(error).__name__, " ".join(str(error).split())])
        said.append([f"{each.category.__name__}: {' '.join(str(each.message).split())}" for each in seen])
        said.append(ast.unparse(statement).partition("\n")[0])
    return said


def check_session(text: str, rtol: float = 1e-6, atol: float = 1e-8, **names: Any) -> None:
    """Assert that a session goes the same with both libraries."""
    same(
        lambda torch: session(torch, text, **{k: v(torch) if callable(v) else v for k, v in names.items()}), rtol, atol
    )


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in _tensors(item)]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return [value] if hasattr(value, "requires_grad") and hasattr(value, "dtype") else []


def check(text: str, rtol: float = 1e-6, atol: float = 1e-8, dtype: str = "float64", **names: Any) -> None:
    """Assert that an expression comes to the same with both libraries."""
    same(
        lambda torch: outcome(torch, text, dtype, **{k: v(torch) if callable(v) else v for k, v in names.items()}),
        rtol,
        atol,
    )


def lines(text: str) -> list[str]:
    """The expressions of a text, one a line; lines that begin with # are left out."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
