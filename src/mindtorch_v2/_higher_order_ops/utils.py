"""Checks that the operators of control flow share: what their functions give, and that these only compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.dimensions import wrap_dim
from mindtorch_v2._core.tracer import current, paused
from mindtorch_v2._dynamo.exc import UncapturedHigherOrderOpError
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["check_same_form", "flat_function", "is_single", "only_computes", "outputs_on_fakes", "scanned_first"]


def is_single(value: Any) -> bool:
    """Whether `value` can be a condition: a number, or a tensor of one element."""
    return isinstance(value, (bool, int, float)) or (isinstance(value, torch.Tensor) and value.numel() == 1)


def flat_function(function: Callable, form: Any, results: list[Any]) -> Callable[..., list[Any]]:
    """`function` of the leaves of its arguments, giving the leaves of its result; the form of that is left in `results`."""

    def of_leaves(*leaves: Any) -> list[Any]:
        found, spec = pytree.tree_flatten(function(*pytree.tree_unflatten(leaves, form)))
        results.append(spec)
        return found

    return of_leaves


def _facts(value: Any) -> dict[str, Any]:
    if not isinstance(value, torch.Tensor):
        return {"type": type(value).__name__}
    return {"shape": value.shape, "dtype": value.dtype, "device": value.device}


def check_same_form(of: str, one: Any, other: Any, names: str) -> None:
    """Raise UncapturedHigherOrderOpError if two trees of values differ in structure, shapes, dtypes or devices."""
    first, spec = pytree.tree_flatten(one)
    second, other_spec = pytree.tree_flatten(other)
    if spec != other_spec:
        raise UncapturedHigherOrderOpError(f"{of}: Expected {names} to have the same pytree structure.")
    found = []
    for place, (a, b) in enumerate(zip(first, second)):
        facts, others = _facts(a), _facts(b)
        differing = [
            f"'{name}: {facts.get(name)} vs {others.get(name)}'" for name in facts if facts[name] != others.get(name)
        ]
        if differing or facts.keys() != others.keys():
            found.append(f"pair[{place}] differ in {', '.join(differing)}, where lhs is {a} and rhs is {b}")
    if found:
        raise UncapturedHigherOrderOpError(
            f"{of}: Expected {names} to have same metadata but found:\n" + "\n".join(found)
        )


def scanned_first(
    leaves: Sequence[torch.Tensor], dim: int, reverse: bool, error: type[Exception]
) -> tuple[list[torch.Tensor], int]:
    """The tensors with `dim` in front, in the order of the scan, and `dim` counted from 0; `error` for what cannot be scanned."""
    if not isinstance(dim, int):
        raise error(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    dim = wrap_dim(dim, leaves[0].ndim)
    if any(x.ndim <= dim or not x.shape[dim] for x in leaves):
        raise error("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    moved = [x.movedim(dim, 0) for x in leaves]
    return [x.flip(0) for x in moved] if reverse else moved, dim


def outputs_on_fakes(of: str, function: Callable, operands: Sequence[Any]) -> Any:
    """The result of `function(*operands)` for tensors without values.

    Raises UncapturedHigherOrderOpError if it writes to an operand, or gives one or a view of one back.
    """
    if current() is not None:  # in a compiled function whose operators are put off: these here are not the program's
        with paused(f"{of} looks at its functions"):
            return outputs_on_fakes(of, function, operands)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    given = pytree.tree_map_only(torch.Tensor, lambda x: mode.from_tensor(x.detach()), tuple(operands))
    with mode, torch.no_grad():
        return only_computes(of, function, given)


def only_computes(of: str, function: Callable, operands: Sequence[Any]) -> Any:
    """The result of `function(*operands)`.

    Raises UncapturedHigherOrderOpError if it writes to an operand, or gives one or a view of one back.
    """
    leaves = [each for each in pytree.tree_leaves(operands) if isinstance(each, torch.Tensor)]
    versions = [each._version for each in leaves]
    results = function(*operands)
    if versions != [each._version for each in leaves]:
        raise UncapturedHigherOrderOpError(
            f"{of}: Encountered input mutation during higher order op tracing. "
            "Higher order ops do not support input mutation: use functional operators, or clone the operand."
        )
    memories = {each.untyped_storage()._cdata for each in leaves}
    for each in pytree.tree_leaves(results):
        if isinstance(each, torch.Tensor) and each.untyped_storage()._cdata in memories:
            raise UncapturedHigherOrderOpError(
                f"{of}: Encountered aliasing during higher order op tracing. "
                "Higher order ops do not support aliasing: clone() an operand that is to be a result."
            )
    return results
