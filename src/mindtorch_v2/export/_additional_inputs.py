"""`AdditionalInputs`: which sizes may differ, told by further examples of arguments."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._sizes.dims import Dim
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2.export.exported_program import ExportedProgram

__all__ = ["AdditionalInputs"]


class AdditionalInputs:
    """Further arguments of a program: a size that differs between them is dynamic, all else is fixed.

    `export` takes it as `dynamic_shapes`, and checks that the program holds for all of them.

    >>> more = torch.export.AdditionalInputs()
    >>> more.add((torch.ones(5, 3),))
    >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),), dynamic_shapes=more)
    >>> program.module()(torch.ones(7, 3)).shape
    torch.Size([7, 3])
    """

    __module__ = "mindtorch_v2.export.dynamic_shapes"  # where programs and pickles find it

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any] | None]] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Add the arguments of another call. AssertionError for what is no tuple and no dict or None."""
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(f"Representative kwargs {kwargs} must be None or a dict")
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> dict[str, Any]:
        """The statement about sizes that all calls together make, by the names of the parameters of `m`.

        ValueError where they differ in more than sizes and integers.
        """
        first, *others = (_sizes(m, *each) for each in [(args, kwargs), *self._examples])
        return pytree.tree_map(_fate, first, *others, is_leaf=lambda each: type(each) is int)

    def verify(self, ep: ExportedProgram) -> None:
        """Check that a program holds for each of the calls: RuntimeError if not."""
        module = ep.module()
        (structure,) = module._forward_pre_hooks.values()
        for args, kwargs in self._examples:
            args, kwargs = structure(module, args, kwargs or {})
            try:
                module._guards_fn(*pytree.tree_leaves((args, kwargs)))
            except AssertionError as error:
                raise RuntimeError(f"the program does not hold for an additional input: {error}") from error


def _sizes(m: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments by name, with a tuple of sizes for each tensor."""
    function = m.forward if isinstance(m, torch.nn.Module) else m
    bound = inspect.signature(function).bind(*args, **(kwargs or {})).arguments
    return pytree.tree_map(lambda each: tuple(each.shape) if isinstance(each, torch.Tensor) else each, dict(bound))


def _fate(value: Any, *others: Any) -> Any:
    """Fate of one size or value: dynamic if it is an integer that differs."""
    if not all(type(value) is type(other) for other in others):
        raise ValueError(
            "The following inputs were found to have differing types, so they cannot be marked as dynamic: "
            f"{(value, *others)}."
        )
    if all(value == other for other in others):
        return None
    if type(value) is int:
        return Dim.DYNAMIC
    raise ValueError(
        "The following inputs were found to have differing values, but they cannot be marked as dynamic: "
        f"{(value, *others)}."
    )
