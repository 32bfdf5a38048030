"""Element types under all their names, and their numeric limits (finfo, iinfo)."""

from __future__ import annotations

import math
from typing import Any, SupportsIndex, overload

from .. import _C

ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
DTYPES: dict[str, Any] = dict(_C._dtypes)
NUMBERED = tuple(DTYPES.values())
"""Dtypes at the place of the number that PyTorch's operators give and take for them."""
DTYPES |= {alias: DTYPES[name] for alias, name in ALIASES.items()}

# (mantissa bits without the hidden one, smallest exponent, largest finite value)
_FLOATS = {
    "float16": (10, -14, 65504.0),
    "bfloat16": (7, -126, 3.3895313892515355e38),
    "float32": (23, -126, 3.4028234663852886e38),
    "float64": (52, -1022, 1.7976931348623157e308),
    "float8_e4m3fn": (3, -6, 448.0),
    "float8_e5m2": (2, -14, 57344.0),
    "float8_e4m3fnuz": (3, -7, 240.0),
    "float8_e5m2fnuz": (2, -15, 57344.0),
}
_BITS = {"uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32, "uint64": 64}
_HELD = {"qint8": "int8", "qint32": "int32", **dict.fromkeys(("quint8", "quint4x2", "quint2x4"), "uint8")}  # of bytes


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


# Python's types that stand for dtypes of which there are limits.
_PYTHON_FLOATS: dict[Any, Any] = {float: DTYPES["float64"], complex: DTYPES["complex128"]}


class finfo:
    """Limits of a floating dtype: bits, eps, max, min, tiny, smallest_normal, resolution, dtype.

    Without a dtype those of the default one; TypeError for a dtype of whole numbers.

    >>> torch.finfo(torch.float16).max
    65504.0
    """

    def __init__(self, type: Any = None) -> None:
        dtype = _C.get_default_dtype() if type is None else _PYTHON_FLOATS.get(type, type)
        if not isinstance(dtype, _C.dtype):
            raise TypeError(f"finfo(): argument 'type' must be torch.dtype, not {dtype.__class__.__name__}")
        if dtype.is_complex:
            dtype = dtype.to_real()
        name = _name(dtype)
        if name not in _FLOATS:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
                if name in _BITS
                else f"torch.finfo() requires a floating point input type, got {dtype}"
            )
        mantissa, exponent, largest = _FLOATS[name]
        self.dtype = name
        self.bits = dtype.itemsize * 8
        self.eps = 2.0**-mantissa
        self.max = largest
        self.min = -largest
        self.tiny = self.smallest_normal = 2.0**exponent
        self.resolution = 10.0 ** -math.floor(mantissa * math.log10(2.0)) if mantissa > 3 else 1.0

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class iinfo:
    """Limits of an integer dtype: bits, min, max, dtype. TypeError for a floating one.

    >>> torch.iinfo(torch.int16).max
    32767
    """

    def __init__(self, type: Any) -> None:
        if not isinstance(type, _C.dtype):
            raise TypeError(f"iinfo(): argument 'type' must be torch.dtype, not {type.__class__.__name__}")
        name = _name(type)
        name = _HELD.get(name, name)
        if name not in _BITS:
            raise TypeError(
                "torch.bool is not supported by torch.iinfo"
                if name == "bool"
                else "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.finfo'"
            )
        self.dtype = name
        self.bits = _BITS[name]
        unsigned = name.startswith("u")
        self.min = 0 if unsigned else -(2 ** (self.bits - 1))
        self.max = 2**self.bits - 1 if unsigned else 2 ** (self.bits - 1) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class Size(tuple[int, ...]):
    """The sizes of a tensor: a tuple of ints with ``numel()``.

    >>> size = torch.ones(2, 3).size()
    >>> size, size.numel(), size[1]
    (torch.Size([2, 3]), 6, 3)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The product of the sizes."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, other: Any) -> Size:
        return Size(tuple.__mul__(self, other))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __reduce__(self) -> Any:
        return (Size, (tuple(self),))


_C._set_size_type(Size)
