"""PyTorch's databases as one: operators, custom operators, functions of autograd, higher-order operators, modules, optimizers.

Operators have the names of their database; the others stand behind the name of theirs: `module.Linear`, `optimizer.Adam`.
Modules and optimizers get here what an entry of an operator has: a function, and samples of its arguments.
"""

from __future__ import annotations

import importlib
import sys
import types
import unittest
from collections.abc import Iterator
from typing import Any, NamedTuple

_INTERNAL = "torch.testing._internal"


class _Sample(NamedTuple):
    """The arguments of a call, by the names that samples of operators have for them."""

    input: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def output_process_fn_grad(self, result: Any) -> Any:
        """The result itself."""
        return result


class _Made:
    """Entry of a module or an optimizer: one form, and no calls that are refused."""

    method_variant = inplace_variant = error_inputs_func = None
    supports_out = supports_forward_ad = False

    def __init__(self, torch: Any, info: Any, name: str) -> None:
        self.torch, self.info, self.name = torch, info, name

    @staticmethod
    def gradcheck_wrapper(op: Any, *args: Any, **kwargs: Any) -> Any:
        """The call as it is."""
        return op(*args, **kwargs)

    def supported_dtypes(self, device: str) -> list[Any]:
        """Floating dtypes that the database names."""
        return [self.torch.float32, self.torch.float64]

    supported_backward_dtypes = supported_dtypes


class _Module(_Made):
    """A module: made, with its parameters drawn, and called once in training."""

    supports_autograd = True

    def __init__(self, torch: Any, info: Any, name: str) -> None:
        super().__init__(torch, info, name)
        self.supports_gradgrad = info.supports_gradgrad

    def sample_inputs(self, device: str, dtype: Any, requires_grad: bool = False) -> Iterator[_Sample]:
        """Arguments of a call, and behind the word `made` those that the module is made of."""
        for each in self.info.module_inputs_func(
            self.info, device=device, dtype=dtype, requires_grad=requires_grad, training=True
        ):
            if each.forward_input is None or not each.forward_input.args:
                continue
            made = (each.constructor_input.args, each.constructor_input.kwargs)
            first, *rest = each.forward_input.args
            yield _Sample(first, tuple(rest), {**each.forward_input.kwargs, "made": (*made, dtype)})

    def op(self, *args: Any, made: Any, **kwargs: Any) -> Any:
        """The result, and what parameters and buffers are after the call."""
        given, named, dtype = made
        module = self.info.module_cls(*given, **named).to(dtype)
        result = module(*args, **kwargs)
        return [result, [each.detach().clone() for each in module.state_dict().values() if hasattr(each, "detach")]]


class _Optimizer(_Made):
    """An optimizer: four steps on two matrices."""

    supports_autograd = supports_gradgrad = False

    def sample_inputs(self, device: str, dtype: Any, requires_grad: bool = False) -> Iterator[_Sample]:
        """A matrix to begin with, and options."""
        for each in self.info.optim_inputs_func(device=device):
            for way in ({}, {"foreach": True}, {"foreach": False}):
                if not way or "foreach" in self.info.supported_impls:
                    start = self.torch.linspace(-1, 1, 12, device=device, dtype=dtype).reshape(4, 3)
                    yield _Sample(start, (), {"options": {**each.kwargs, **way}})

    def op(self, start: Any, options: dict[str, Any]) -> Any:
        """The matrices after the steps, and the tensors that the optimizer keeps."""
        first, second = (each.detach().clone().requires_grad_() for each in (start, start.t() * 2))
        optimizer = self.info.optim_cls([first, second], **options)

        def loss() -> Any:
            optimizer.zero_grad()
            total = (first**2).sum() + (second * 3).sin().sum() + (first @ second).sum()
            total.backward()
            if self.info.only_supports_sparse_grads:
                for each in (first, second):
                    each.grad = each.grad.to_sparse()
            return total

        for _ in range(4):
            optimizer.step(loss)
        kept = [value for state in optimizer.state.values() for _, value in sorted(state.items())]
        return [first.detach(), second.detach(), [each for each in kept if hasattr(each, "detach")]]


def entries() -> dict[str, Any]:
    """All entries, by names."""
    vars(sys.modules.setdefault("expecttest", types.ModuleType("expecttest"))).setdefault("TestCase", unittest.TestCase)
    torch = importlib.import_module("torch")

    def listed(module: str, name: str) -> Any:
        return getattr(importlib.import_module(f"{_INTERNAL}.{module}"), name)

    operators = listed("common_methods_invocations", "op_db")
    found = {info.full_name: info for info in operators if not info.name.startswith("jiterator")}
    for word, module, name in (
        ("custom", "custom_op_db", "custom_op_db"),
        ("function", "autograd_function_db", "autograd_function_db"),
        ("higher_order", "hop_db", "hop_db"),
    ):
        found |= {f"{word}.{info.full_name}": info for info in listed(module, name)}
    for info in listed("common_modules", "module_db"):
        name = f"module.{info.module_cls.__name__}"
        found[name] = _Module(torch, info, name)
    for info in listed("common_optimizers", "optim_db"):
        name = f"optimizer.{info.optim_cls.__name__}"
        found[name] = _Optimizer(torch, info, name)
    return found
