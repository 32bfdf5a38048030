"""Calls of operators as the table of PyTorch's answers has them: made, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from weighed import decode, flat, is_tensor, weights

Call = dict[str, Any]  # "p": path, "a": arguments, "k": keyword arguments, and what PyTorch answers


def function(torch: ModuleType, path: str) -> Callable[..., Any]:
    """The function of a path: "fft.fft" below torch, ".add_" a method or attribute of the first argument."""
    if path.startswith("."):

        def method(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            found = getattr(tensor, path[1:])
            return found if is_tensor(found) else found(*args, **kwargs)

        return method
    found: Any = torch
    for part in path.split("."):
        found = getattr(found, part)
    return found


class Made:
    """A call, made once: its arguments, the leaves among them, and its results as a list."""

    def __init__(
        self,
        torch: ModuleType,
        call: Call,
        path: str = "",
        device: str = "cpu",
        instead: Callable[[int, Any], Any] | None = None,
        more: dict[str, Any] | None = None,
    ):
        """Make it; `instead(place, leaf)` gives what stands for a leaf."""
        self.leaves: list[Any] = []

        def leaf(tensor: Any) -> Any:
            self.leaves.append(tensor.requires_grad_())
            return tensor if instead is None else instead(len(self.leaves) - 1, tensor)

        args = decode(torch, call["a"], leaf, device)
        kwargs = {name: decode(torch, value, leaf, device) for name, value in call.get("k", {}).items()}
        torch.manual_seed(0)
        self.args = args
        self.results = flat(function(torch, path or call["p"])(*args, **kwargs, **(more or {})))

    def differentiable(self) -> list[Any]:
        """The results that have a history."""
        return [item for item in self.results if is_tensor(item) and item.requires_grad]


def upstream(torch: ModuleType, results: list[Any]) -> list[Any]:
    """Gradients that are put in, of each result."""
    found = []
    for item in results:
        weighed = torch.from_numpy(weights(item.numel()).reshape(item.shape))
        found.append((weighed * (1 - 0.5j) if item.is_complex() else weighed).to(item.dtype))
    return found


def first_order(torch: ModuleType, made: Made, create_graph: bool = False) -> list[Any]:
    """The gradients of a call's leaves; none where no result has a history."""
    results = made.differentiable()
    if not results:
        return []
    grads = torch.autograd.grad(
        results, made.leaves, upstream(torch, results), allow_unused=True, create_graph=create_graph
    )
    return list(grads)


def second_order(torch: ModuleType, made: Made) -> list[Any]:
    """The gradients of the weighed sum of a call's gradients; none where these depend on nothing."""
    grads = [grad for grad in first_order(torch, made, create_graph=True) if grad is not None and grad.requires_grad]
    if not grads:
        return []
    return list(torch.autograd.grad(grads, made.leaves, upstream(torch, grads), allow_unused=True))
