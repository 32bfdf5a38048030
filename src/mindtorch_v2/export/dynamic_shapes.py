"""Which sizes of an exported program may differ between calls: `Dim`, hints, and where they stand in `dynamic_shapes`."""

import dataclasses
import math

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.exc import UserError
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["Dim", "ShapesCollection", "dims", "sizes_of_inputs"]


@dataclasses.dataclass(frozen=True)
class _DimHint:
    """What becomes of a size without a name: "AUTO" may differ if the program lets it, "DYNAMIC" must, "STATIC" does not."""

    type: str
    min: int | None = None
    max: int | None = None

    def __call__(self, min=None, max=None):
        """The same, with bounds."""
        if min is not None and min < 0 or max is not None and max < 0:
            raise AssertionError("min and max must be non-negative")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"min must be <= max, got min={min}, max={max}")
        return _DimHint(self.type, min, max)

    def __repr__(self):
        bounds = [f"{n}={v}" for n, v in (("min", self.min), ("max", self.max)) if v is not None]
        return f"DimHint({', '.join([self.type, *bounds])})"


class Dim:
    """A size by its name, between `min` and `max`: inputs with the same `Dim` have the same size.

    ``2 * Dim("half")`` and ``Dim("n") + 1`` are sizes that follow from another. AssertionError for bounds that fit no size,
    and for a name that is no identifier.

    >>> Dim("batch", max=64)
    Dim('batch', min=0, max=64)
    >>> 2 * Dim("half") + 1
    2*half + 1
    """

    AUTO = _DimHint("AUTO")
    DYNAMIC = _DimHint("DYNAMIC")
    STATIC = _DimHint("STATIC")

    def __init__(self, name, *, min=None, max=None):
        least, most = 0 if min is None else min, math.inf if max is None else max
        if most < least:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name
        self.min, self.max = least, most

    # The expression of the name: `_factor * root + _start`.
    root = property(lambda self: self)
    _factor, _start = 1, 0

    def __add__(self, other):
        return self._derived("+", other, self._factor, self._start + _whole("+", other))

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        return self._derived("-", other, self._factor, self._start - _whole("-", other))

    def __rsub__(self, other):
        raise NotImplementedError(f"Attempted to negate {self.__name__}. Only increasing linear operations with integer "
                                  "coefficients are supported.")  # fmt: skip

    def __mul__(self, other):
        if _whole("*", other) <= 0:
            raise NotImplementedError(f"Attempted to multiply {other} with {self.__name__}, where a positive integer was "
                                      "expected. Only increasing linear operations with integer coefficients are supported.")  # fmt: skip
        return self._derived("*", other, self._factor * other, self._start * other)

    def __rmul__(self, other):
        return self * other

    def _derived(self, sign, other, factor, start):
        name = f"{other}*{self.__name__}" if sign == "*" else f"{self.__name__} {sign} {other}"
        return _DerivedDim(name, self.root, factor, start)

    def __repr__(self):
        bounds = [f"min={self.min}"] if self.min != 2 else []
        if self.max is not math.inf:
            bounds.append(f"max={self.max}")
        return f"Dim('{self.__name__}'{''.join(f', {each}' for each in bounds)})"


class _DerivedDim(Dim):
    """A size that is computed of a `Dim`, its `root`."""

    def __init__(self, name, root, factor, start):
        self.__name__ = name
        self._root, self._factor, self._start = root, factor, start
        self.min = root.min * factor + start
        self.max = root.max if root.max is math.inf else root.max * factor + start

    root = property(lambda self: self._root)

    def __repr__(self):
        return self.__name__


def _whole(sign, other):
    if type(other) is not int:
        raise NotImplementedError(
            f"Attempted to use {sign} of a Dim with {other}, where an integer was expected. Only increasing linear "
            "operations with integer coefficients are supported."
        )
    return other


def dims(*names, min=None, max=None):
    """A tuple of `Dim`s with these names and the same bounds."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """`dynamic_shapes` given tensor by tensor.

    ``shapes[tensor] = {0: Dim("batch")}``, then ``export(mod, args, dynamic_shapes=shapes)``.
    """

    def __init__(self):
        self._shapes = {}

    def __setitem__(self, t, shape):
        if not isinstance(t, torch.Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(t)}")
        known = self._shapes.setdefault(id(t), (t, shape))[1]
        if known != shape:
            raise AssertionError(f"Shapes assigned to tensor do not match: expected {known}, got {shape}")

    def __getitem__(self, t):
        if id(t) not in self._shapes:
            self[t] = {}
        return self._shapes[id(t)][1]

    def __len__(self):
        return len(self._shapes)

    def of(self, leaf):
        """What was given for a leaf of the arguments, or None."""
        return self._shapes[id(leaf)][1] if id(leaf) in self._shapes else None


# ---- from `dynamic_shapes` to a list for each input ----

_HINTS = "For more information about this error, see: https://pytorch.org/docs/main/generated/exportdb/index.html#dynamic-shapes-validation"


def sizes_of_inputs(bound, dynamic_shapes):
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
    found = []
    for name, value in bound.items():
        _walk(value, shapes[name], f"inputs['{name}']", found)
    return found


def _mismatch(text):
    return UserError(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: {text}\n{_HINTS}")


def _walk(value, shape, where, found):
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
    said = [None] * value.dim()
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
            if isinstance(shape, (Dim, _DimHint))
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
        elif each is not None and not isinstance(each, (Dim, _DimHint)):
            raise UserError(f"Unexpected dimension mapped to index {dim} in dynamic_shapes: {each!r}\n{_HINTS}")
    return said
