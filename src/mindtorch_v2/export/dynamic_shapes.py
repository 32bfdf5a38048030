"""Which sizes of an exported program may differ between calls: `Dim`, hints, and where they stand in `dynamic_shapes`."""

from __future__ import annotations

import collections
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.errors import UserError
from mindtorch_v2._sizes.dims import Dim, DimHint, dims
from mindtorch_v2.export._additional_inputs import AdditionalInputs
from mindtorch_v2.export._suggested_fixes import refine_dynamic_shapes_from_suggested_fixes
from mindtorch_v2.utils import _pytree as pytree

__all__ = [
    "AdditionalInputs",
    "Dim",
    "ShapesCollection",
    "dims",
    "refine_dynamic_shapes_from_suggested_fixes",
    "sizes_of_inputs",
]

SUPPORTED_NODES = pytree.SUPPORTED_NODES
BUILTIN_TYPES = frozenset(
    {tuple, list, dict, collections.OrderedDict, collections.defaultdict, collections.deque, collections.namedtuple}
)


class ShapesCollection:
    """`dynamic_shapes` given tensor by tensor.

    ``shapes[tensor] = {0: Dim("batch")}``, then ``export(mod, args, dynamic_shapes=shapes)``.

    >>> x = torch.ones(2, 3)
    >>> shapes = torch.export.ShapesCollection()
    >>> shapes[x] = {0: torch.export.Dim("batch")}
    >>> program = torch.export.export(torch.nn.ReLU(), (x,), dynamic_shapes=shapes)
    >>> program.module()(torch.ones(5, 3)).shape
    torch.Size([5, 3])
    """

    def __init__(self) -> None:
        self._shapes: dict[Any, Any] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        if not isinstance(t, torch.Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(t)}")
        known = self._shapes.setdefault(id(t), (t, shape))[1]
        if known != shape:
            raise AssertionError(f"Shapes assigned to tensor do not match: expected {known}, got {shape}")

    def __getitem__(self, t: Any) -> Any:
        if id(t) not in self._shapes:
            self[t] = {}
        return self._shapes[id(t)][1]

    def __len__(self) -> int:
        return len(self._shapes)

    def of(self, leaf: Any) -> Any:
        """The sizes that were given for a leaf of the arguments, or None."""
        return self._shapes[id(leaf)][1] if id(leaf) in self._shapes else None


# ---- from `dynamic_shapes` to a list for each input ----

_HINTS = "For more information about this error, see: https://pytorch.org/docs/main/generated/exportdb/index.html#dynamic-shapes-validation"


def sizes_of_inputs(bound: dict[str, Any], dynamic_shapes: Any) -> list[list[Any] | None]:
    """For each leaf of the arguments: a list with None, a Dim or a hint for each dimension (of a tensor), or None.

    `bound` maps names of parameters to arguments. UserError where `dynamic_shapes` has another structure.
    """
    leaves = pytree.tree_leaves(bound)
    if not dynamic_shapes:
        return [_of_tensor(leaf, None, "") for leaf in leaves]
    if isinstance(dynamic_shapes, ShapesCollection):
        return [_of_tensor(leaf, dynamic_shapes.of(leaf), "") for leaf in leaves]
    if isinstance(dynamic_shapes, (tuple, list)):
        if len(dynamic_shapes) != len(bound):
            raise _mismatch(
                f"`inputs` has {len(bound)} elements, but `dynamic_shapes` has {len(dynamic_shapes)} elements"
            )
        shapes = dict(zip(bound, dynamic_shapes))
    elif isinstance(dynamic_shapes, dict):
        if set(dynamic_shapes) != set(bound):
            raise UserError(
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
                f"{list(bound)} of `inputs`, but here they are {list(dynamic_shapes)}. Alternatively, you could also ignore "
                f"arg names entirely and specify `dynamic_shapes` as a list/tuple matching `inputs`. {_HINTS}"
            )
        shapes = dynamic_shapes
    else:
        raise UserError(
            f"Expected dynamic_shapes to be a Dict[str, Any] or a Tuple or List of such, got {type(dynamic_shapes)}"
        )
    found: list[Any] = []
    for name, value in bound.items():
        _walk(value, shapes[name], f"inputs['{name}']", found)
    return found


def _mismatch(text):
    return UserError(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: {text}\n{_HINTS}")


def _walk(value, shape, where, found) -> None:
    """Append what is said of each leaf of `value`; None says it of all below."""
    if pytree.tree_structure(value).is_leaf():
        found.append(_of_tensor(value, shape, where))
        return
    children, kind = pytree.SUPPORTED_NODES[pytree._get_node_type(value)].flatten_fn(value)
    if shape is None:
        below = [None] * len(children)
    elif isinstance(value, dict) and isinstance(shape, dict):
        if set(shape) != set(value):
            raise _mismatch(f"`{where}` has keys {list(value)}, but `dynamic_shapes` has keys {list(shape)}")
        below = [shape[key] for key in kind]
    elif isinstance(shape, (list, tuple)):
        if len(shape) != len(children):
            raise _mismatch(f"`{where}` has {len(children)} elements, but `dynamic_shapes` has {len(shape)} elements")
        below = list(shape)
    elif type(shape) is type(value):
        below = pytree.SUPPORTED_NODES[type(shape)].flatten_fn(shape)[0]
    else:
        raise _mismatch(f"`{where}` is a {type(value)}, but `dynamic_shapes` is a {type(shape)}")
    for place, (child, each) in enumerate(zip(children, below)):
        _walk(child, each, f"{where}[{place}]", found)


def _of_tensor(value, shape, where):
    if not isinstance(value, torch.Tensor):
        if shape not in (None, Dim.STATIC) and shape != {} and shape != ():
            raise NotImplementedError(
                f"torch.export.export(): a {type(value).__name__} that may differ ({where}: {shape}) is not implemented in "
                "mindtorch_v2"
            )
        return None
    said: list[Any] = [None] * value.dim()
    if isinstance(shape, dict):
        for dim, each in shape.items():
            if not -value.dim() <= dim < value.dim():
                raise IndexError("list assignment index out of range")
            said[dim] = each
    elif isinstance(shape, (list, tuple)):
        if len(shape) != value.dim():
            raise UserError(
                f"Expected dynamic shape spec {list(shape)} specified at `dynamic_shapes` to have the same length as the "
                f"actual tensor shape {value.shape} (expected {value.dim()}, but got {len(shape)} instead)\n{_HINTS}"
            )
        said = list(shape)
    elif shape is not None:
        raise UserError(
            f"Unexpected dynamic_shape {shape} of Tensor, try None instead"
            if isinstance(shape, (Dim, DimHint))
            else f"Unexpected input type {type(shape)} specified at `dynamic_shapes`: expected a dict or a sequence\n{_HINTS}"
        )
    for dim, each in enumerate(said):
        if type(each) is int:
            if each != value.shape[dim]:
                raise UserError(
                    f"Static shape constraint of {each} does not match input size of {value.shape[dim]}, for {where}.shape[{dim}]"
                )
            said[dim] = None
        elif each is Dim.STATIC:
            said[dim] = None
        elif each is not None and not isinstance(each, (Dim, DimHint)):
            raise UserError(f"Unexpected dimension mapped to index {dim} in dynamic_shapes: {each!r}\n{_HINTS}")
    return said
