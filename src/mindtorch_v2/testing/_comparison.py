"""`assert_close`: compares nested structures of tensors and numbers, and says where they differ."""

import cmath
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

import mindtorch_v2 as torch

__all__ = ["assert_allclose", "assert_close", "default_tolerances"]

# Relative and absolute tolerance of each dtype; others are compared exactly.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_NUMBER_DTYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_NUMBERS = (int, float, complex, np.number)
_BOOLEANS = (bool, np.bool_)


class _Mismatch(Exception):
    """A difference, found at the place `where` (a tuple of keys) of the structures."""

    def __init__(self, kind, text, where=()) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.where = where


class _Options:
    """The keyword arguments of `assert_close`."""

    def __init__(self, **values) -> None:
        self.__dict__.update(values)


def default_tolerances(*inputs) -> tuple:
    """The (rtol, atol) that suit tensors, numbers or dtypes: the greatest of theirs.

    >>> default_tolerances(1.0)
    (1e-07, 1e-07)
    """
    pairs = []
    for value in inputs:
        dtype = value if isinstance(value, torch.dtype) else getattr(value, "dtype", None)
        name = str(dtype).rpartition(".")[2] if dtype is not None else _NUMBER_DTYPES.get(type(value), "")
        pairs.append(_TOLERANCES.get(name, (0.0, 0.0)))
    return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
) -> None:
    """Assert that `actual` and `expected` are close: |actual - expected| <= atol + rtol * |expected|.

    Both may be tensors (or what `torch.as_tensor` takes, of related types), numbers, None, or sequences and mappings
    of these, which are compared item by item. Without tolerances those of the dtypes are used: see
    `default_tolerances`. `msg` replaces the error's text, or is a function that makes it from the one here.

    Raises AssertionError for a difference, TypeError for what cannot be compared, ValueError if only one of `rtol`
    and `atol` is given.

    >>> assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
    """
    if (rtol is None) != (atol is None):
        missing = "atol" if atol is None else "rtol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    options = _Options(
        allow_subclasses=allow_subclasses,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
    )
    try:
        pairs = list(_pairs(actual, expected, options, ()))
        for compare, where in pairs:
            _compare_at(compare, where)
    except _Mismatch as mismatch:
        text = mismatch.text
        if mismatch.where:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in mismatch.where)}"
        if msg is not None and mismatch.kind is AssertionError:
            text = msg(text) if callable(msg) else msg
        raise mismatch.kind(text) from None


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg="") -> None:
    """The deprecated `assert_close`, without checks of device, dtype and stride."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated; use `torch.testing.assert_close()`",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, torch.Tensor):
        actual = torch.tensor(actual)
    if not isinstance(expected, torch.Tensor):
        expected = torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )


def _compare_at(compare, where) -> None:
    try:
        compare()
    except _Mismatch as mismatch:
        mismatch.where = where
        raise


def _pairs(actual, expected, options, where):
    """Yields (a function that compares one pair of leaves, its place); raises what the structure shows."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise _Mismatch(AssertionError, text, where)
        for index in range(len(actual)):
            yield from _pairs(actual[index], expected[index], options, (*where, index))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, additional = set(expected) - set(actual), set(actual) - set(expected)
        if missing or additional:
            text = (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(additional)}"
            )
            raise _Mismatch(AssertionError, text, where)
        keys = list(actual)
        for key in sorted(keys) if all(isinstance(key, str) for key in keys) else keys:
            yield from _pairs(actual[key], expected[key], options, (*where, key))
    else:
        yield _leaf(actual, expected, options, where), where


def _is_sequence(value) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _leaf(actual, expected, options, where):
    if actual is None or expected is None:
        return lambda: _compare_same(actual, expected, "None")
    if isinstance(actual, _BOOLEANS) and isinstance(expected, _BOOLEANS):
        return lambda: _compare_same(bool(actual), bool(expected), "Booleans")
    if isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
        return lambda: _compare_numbers(actual, expected, options)
    tensors = _as_tensors(actual, expected, options)
    if tensors is None:
        text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
        raise _Mismatch(TypeError, text, where)
    return lambda: _compare_tensors(*tensors, options)


def _compare_same(actual, expected, name) -> None:
    if actual is not expected:
        raise _Mismatch(AssertionError, f"{name} mismatch: {actual} is not {expected}")


def _compare_numbers(actual, expected, options) -> None:
    actual, expected = (value.item() if isinstance(value, np.number) else value for value in (actual, expected))
    if options.check_dtype and type(actual) is not type(expected):
        text = f"The (d)types do not match: {type(actual)} != {type(expected)}."
        raise _Mismatch(AssertionError, text)
    rtol, atol = _tolerances(options, actual, expected)
    _compare_scalars(actual, expected, rtol, atol, options.equal_nan)


def _compare_scalars(actual, expected, rtol, atol, equal_nan) -> None:
    if actual == expected or (equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return
    relative = difference / abs(expected) if expected != 0 else float("inf")
    exact = rtol == 0 and atol == 0
    text = (
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, exact)}\n"
        f"Relative difference: {relative}{_allowed(rtol, exact)}"
    )
    raise _Mismatch(AssertionError, text)


def _allowed(tolerance, exact) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


def _tolerances(options, *inputs):
    return default_tolerances(*inputs) if options.rtol is None else (options.rtol, options.atol)


def _as_tensors(actual, expected, options) -> tuple | None:
    """Both as tensors, or None if their types are not related or no tensors come of them."""
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if not related or (not options.allow_subclasses and type(actual) is not type(expected)):
        return None
    try:
        return tuple(
            value if isinstance(value, torch.Tensor) else torch.as_tensor(value) for value in (actual, expected)
        )
    except (TypeError, ValueError, RuntimeError):
        return None


def _compare_tensors(actual, expected, options) -> None:
    _compare_attribute("shape", actual.shape, expected.shape)
    if options.check_layout:
        _compare_attribute("layout", actual.layout, expected.layout)
    if options.check_device:
        _compare_attribute("device", actual.device, expected.device)
    if options.check_dtype:
        _compare_attribute("dtype", actual.dtype, expected.dtype)
    if options.check_stride:
        _compare_attribute("stride()", actual.stride(), expected.stride())
    if actual.is_meta or expected.is_meta:
        raise _Mismatch(NotImplementedError, "Comparing meta tensors is currently not supported.")
    rtol, atol = _tolerances(options, actual, expected)
    actual, expected = actual.detach(), expected.detach()
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype != expected.dtype:
        dtype = torch.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(dtype), expected.to(dtype)
    if actual.layout != expected.layout:
        actual, expected = actual.to_dense(), expected.to_dense()
    if actual.layout != torch.strided:
        _compare_sparse(actual, expected, rtol, atol, options.equal_nan)
    else:
        _compare_dense(actual, expected, rtol, atol, options.equal_nan, "Tensor-likes")


_SPARSE = {
    torch.sparse_coo: ("COO", ("_indices", "_values")),
    torch.sparse_csr: ("CSR", ("crow_indices", "col_indices", "values")),
    torch.sparse_csc: ("CSC", ("ccol_indices", "row_indices", "values")),
}


def _compare_sparse(actual, expected, rtol, atol, equal_nan):
    """Tensors of one sparse layout, part by part."""
    kind, names = _SPARSE[actual.layout]
    counts = actual._nnz(), expected._nnz()
    if counts[0] != counts[1]:
        raise _Mismatch(
            AssertionError,
            f"The number of specified values in sparse {kind} tensors does not match: {counts[0]} != {counts[1]}",
        )
    for name in names:
        close = (rtol, atol) if name.endswith("values") else (0, 0)
        what = f"Sparse {kind} {name.lstrip('_')}"
        _compare_dense(getattr(actual, name)(), getattr(expected, name)(), *close, equal_nan, what)


def _compare_dense(actual, expected, rtol, atol, equal_nan, what) -> None:
    matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if bool(torch.all(matches)):
        return
    if actual.dim() == 0:
        _compare_scalars(actual.item(), expected.item(), rtol, atol, equal_nan)
    raise _Mismatch(AssertionError, _tensor_text(actual, expected, matches, rtol, atol, what))


def _compare_attribute(name, actual, expected) -> None:
    if actual != expected:
        raise _Mismatch(AssertionError, f"The values for attribute {name!r} do not match: {actual} != {expected}.")


def _tensor_text(actual, expected, matches, rtol, atol, what) -> str:
    if not (actual.is_floating_point() or actual.is_complex()):  # differences of small integers would wrap around
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)
    shape = matches.shape
    matches = matches.flatten()
    differences = torch.abs(actual - expected).flatten()
    relative = differences / torch.abs(expected).flatten()
    differences = torch.where(matches, torch.zeros_like(differences), differences)
    relative = torch.where(matches, torch.zeros_like(relative), relative)
    mismatched = matches.numel() - int(matches.sum().item())
    exact = rtol == 0 and atol == 0
    return (
        f"{what} are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {mismatched} / {matches.numel()} ({mismatched / matches.numel():.1%})\n"
        f"Greatest absolute difference: {_greatest(differences, shape)}{_allowed(atol, exact)}\n"
        f"Greatest relative difference: {_greatest(relative, shape)}{_allowed(rtol, exact)}"
    )


def _greatest(values, shape) -> str:
    position = int(torch.argmax(values).item())
    index = tuple(int(part) for part in np.unravel_index(position, tuple(shape)))
    return f"{values[position].item()} at index {index}"
