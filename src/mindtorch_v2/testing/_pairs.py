"""Pairs: what compares one actual with one expected value. `assert_close` tries the kinds that it is given, in their order.

The classes have the names and the parts that test suites derive their own kinds from.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import numpy as np

import mindtorch_v2 as torch
from mindtorch_v2.testing._mismatch import scalar_mismatch, tensor_mismatch

__all__ = [
    "BooleanPair",
    "ErrorMeta",
    "NonePair",
    "NumberPair",
    "ObjectPair",
    "Pair",
    "TensorLikePair",
    "UnsupportedInputs",
    "default_tolerances",
    "get_tolerances",
]

Place = tuple[Any, ...]  # keys and indices that lead to a value
Number = int | float | complex

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


_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz)


class ErrorMeta(Exception):
    """A difference: the class of the error that it becomes, its text, and the place in nested structures."""

    def __init__(self, type: type[Exception], msg: str, *, id: Place = ()) -> None:
        super().__init__(msg)
        self.type = type
        self.msg = msg
        self.id = id

    def to_error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        """The error; `msg` stands for its text, or makes it from this one."""
        if isinstance(msg, str):
            return self.type(msg)
        text = self.msg
        if self.id:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in self.id)}"
        return self.type(msg(text) if callable(msg) else text)


class UnsupportedInputs(Exception):
    """A kind of pair does not compare such values: the next one is tried."""


def default_tolerances(*inputs: Any) -> tuple[float, float]:
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


def get_tolerances(*inputs: Any, rtol: float | None, atol: float | None, id: Place = ()) -> tuple[float, float]:
    """The (rtol, atol) to compare with: those given, or the defaults of the inputs where both are None."""
    if (rtol is None) != (atol is None):
        missing = "atol" if atol is None else "rtol"
        raise ErrorMeta(
            ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.", id=id
        )
    return default_tolerances(*inputs) if rtol is None or atol is None else (rtol, atol)


class Pair(abc.ABC):
    """An actual and an expected value, and how they are compared.

    A kind of pair raises `UnsupportedInputs` when it is made of values that it is not for, and `ErrorMeta` from `compare`.
    """

    def __init__(self, actual: Any, expected: Any, *, id: Place = (), **unknown_parameters: Any) -> None:
        self.actual = actual
        self.expected = expected
        self.id = id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: type | tuple[type, ...]) -> None:
        if not all(isinstance(value, cls) for value in inputs):
            Pair._inputs_not_supported()

    def _fail(self, type: type[Exception], msg: str, *, id: Place = ()) -> NoReturn:
        # While the pair is being made its own place is not known yet: it is given.
        raise ErrorMeta(type, msg, id=self.id if not id and hasattr(self, "id") else id)

    @abc.abstractmethod
    def compare(self) -> None:
        """Compare both values: raises `ErrorMeta` where they differ."""

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """Names of attributes, or names with values, that the pair's text shows besides both values."""
        return []

    def __repr__(self) -> str:
        shown = [each if isinstance(each, tuple) else (each, getattr(self, each)) for each in self.extra_repr()]
        parts = [("id", self.id), ("actual", self.actual), ("expected", self.expected), *shown]
        return "\n".join([f"{type(self).__name__}(", *(f"    {name}={value!r}," for name, value in parts), ")"])


class ObjectPair(Pair):
    """Any values: equal by `==`."""

    def compare(self) -> None:
        """Compare by `==`; an error of that is one of the comparison."""
        try:
            equal = self.actual == self.expected
        except Exception as error:
            raise ErrorMeta(
                ValueError, f"{self.actual} == {self.expected} failed with:\n{error}.", id=self.id
            ) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """Values of which one is None: both must be."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        """Hold both against None."""
        if self.actual is not None or self.expected is not None:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Two booleans, Python's or NumPy's."""

    def __init__(self, actual: Any, expected: Any, *, id: Place, **other_parameters: Any) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return bool, np.bool_

    def _process_inputs(self, actual: Any, expected: Any, *, id: Place) -> tuple[bool, bool]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_bool(actual, id=id), self._to_bool(expected, id=id)

    def _to_bool(self, bool_like: Any, *, id: Place) -> bool:
        if not isinstance(bool_like, self._supported_types):
            raise ErrorMeta(TypeError, f"Unknown boolean type {type(bool_like)}.", id=id)
        return bool(bool_like)

    def compare(self) -> None:
        """Compare as booleans."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Two numbers, Python's or NumPy's, close within tolerances."""

    def __init__(
        self,
        actual: Any,
        expected: Any,
        *,
        id: Place = (),
        rtol: float | None = None,
        atol: float | None = None,
        equal_nan: bool = False,
        check_dtype: bool = False,
        **other_parameters: Any,
    ) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(actual, expected, rtol=rtol, atol=atol, id=id)
        self.equal_nan = equal_nan
        self.check_dtype = check_dtype

    @property
    def _supported_types(self) -> tuple[type, ...]:
        return int, float, complex, np.number

    def _process_inputs(self, actual: Any, expected: Any, *, id: Place) -> tuple[Number, Number]:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return self._to_number(actual, id=id), self._to_number(expected, id=id)

    def _to_number(self, number_like: Any, *, id: Place) -> Number:
        if isinstance(number_like, np.number):
            return cast(Number, number_like.item())
        if not isinstance(number_like, self._supported_types):
            raise ErrorMeta(TypeError, f"Unknown number type {type(number_like)}.", id=id)
        return cast(Number, number_like)

    def compare(self) -> None:
        """Compare within the tolerances, and the types if that is asked for."""
        if self.check_dtype and type(self.actual) is not type(self.expected):
            self._fail(AssertionError, f"The (d)types do not match: {type(self.actual)} != {type(self.expected)}.")
        text = scalar_mismatch(
            self.actual, self.expected, rtol=self.rtol, atol=self.atol, equal_nan=self.equal_nan, identifier=None
        )
        if text is not None:
            self._fail(AssertionError, text)

    def extra_repr(self) -> Sequence[str]:
        """The options."""
        return "rtol", "atol", "equal_nan", "check_dtype"


_COMPRESSED = {
    torch.sparse_csr: ("CSR", "crow_indices", "col_indices"),
    torch.sparse_csc: ("CSC", "ccol_indices", "row_indices"),
    torch.sparse_bsr: ("BSR", "crow_indices", "col_indices"),
    torch.sparse_bsc: ("BSC", "ccol_indices", "row_indices"),
}
_LAYOUTS = (torch.strided, torch.jagged, torch.sparse_coo, *_COMPRESSED)


class TensorLikePair(Pair):
    """Two tensors, or values that tensors are made of, close within tolerances and alike in what is checked."""

    def __init__(
        self,
        actual: Any,
        expected: Any,
        *,
        id: Place = (),
        allow_subclasses: bool = True,
        rtol: float | None = None,
        atol: float | None = None,
        equal_nan: bool = False,
        check_device: bool = True,
        check_dtype: bool = True,
        check_layout: bool = True,
        check_stride: bool = False,
        **other_parameters: Any,
    ) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(actual, expected, rtol=rtol, atol=atol, id=id)
        self.equal_nan = equal_nan
        self.check_device = check_device
        self.check_dtype = check_dtype
        self.check_layout = check_layout
        self.check_stride = check_stride

    def _process_inputs(
        self, actual: Any, expected: Any, *, id: Place, allow_subclasses: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or (not allow_subclasses and type(actual) is not type(expected)):
            self._inputs_not_supported()
        actual, expected = self._to_tensor(actual), self._to_tensor(expected)
        for tensor in (actual, expected):
            self._check_supported(tensor, id=id)
        return actual, expected

    def _to_tensor(self, tensor_like: Any) -> torch.Tensor:
        if isinstance(tensor_like, torch.Tensor):
            return tensor_like
        try:
            return torch.as_tensor(tensor_like)
        except (TypeError, ValueError, RuntimeError):
            self._inputs_not_supported()

    def _check_supported(self, tensor: torch.Tensor, *, id: Place) -> None:
        if tensor.layout not in _LAYOUTS:
            raise ErrorMeta(ValueError, f"Unsupported tensor layout {tensor.layout}", id=id)

    def compare(self) -> None:
        """Compare attributes, then values."""
        actual, expected = self.actual, self.expected
        self._compare_attributes(actual, expected)
        if actual.is_meta or expected.is_meta:  # which have no values
            return
        self._compare_values(*self._equalize_attributes(actual.detach(), expected.detach()))

    def _compare_attributes(self, actual: torch.Tensor, expected: torch.Tensor) -> None:
        checks = [
            ("shape", True, actual.shape, expected.shape),
            ("layout", self.check_layout, actual.layout, expected.layout),
        ]
        checks.append(("device", self.check_device, actual.device, expected.device))
        checks.append(("dtype", self.check_dtype, actual.dtype, expected.dtype))
        for name, checked, one, other in checks:
            if checked and one != other:
                self._fail_attribute(name, one, other)
        if self.check_stride and actual.layout == expected.layout == torch.strided:
            if actual.stride() != expected.stride():
                self._fail_attribute("stride()", actual.stride(), expected.stride())

    def _fail_attribute(self, name: str, actual: Any, expected: Any) -> NoReturn:
        self._fail(AssertionError, f"The values for attribute {name!r} do not match: {actual} != {expected}.")

    def _equalize_attributes(self, actual: torch.Tensor, expected: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Both on one device, of one dtype and one layout, where these were not checked."""
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype != expected.dtype:
            dtype = torch.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(dtype), expected.to(dtype)
        if actual.layout != expected.layout:
            actual, expected = actual.to_dense(), expected.to_dense()
        return actual, expected

    def _compare_values(self, actual: torch.Tensor, expected: torch.Tensor) -> None:
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol, "equal_nan": self.equal_nan}
        if actual.is_quantized and expected.is_quantized:  # the numbers that they stand for
            self._compare_regular_values_close(actual.dequantize(), expected.dequantize(), **options)
        elif actual.layout == torch.sparse_coo:
            self._compare_sparse_coo_values(actual, expected, **options)
        elif actual.layout in _COMPRESSED:
            self._compare_sparse_compressed_values(actual, expected, **options)
        else:
            self._compare_regular_values_close(actual, expected, **options)

    def _compare_specified(self, actual: int, expected: int, kind: str) -> None:
        if actual != expected:
            self._fail(
                AssertionError,
                f"The number of specified values in sparse {kind} tensors does not match: {actual} != {expected}",
            )

    def _compare_sparse_coo_values(
        self, actual: torch.Tensor, expected: torch.Tensor, *, rtol: float, atol: float, equal_nan: bool
    ) -> None:
        if actual.sparse_dim() != expected.sparse_dim():
            self._fail(
                AssertionError,
                f"The number of sparse dimensions in sparse COO tensors does not match: "
                f"{actual.sparse_dim()} != {expected.sparse_dim()}",
            )
        self._compare_specified(actual._nnz(), expected._nnz(), "COO")
        self._compare_regular_values_equal(actual._indices(), expected._indices(), identifier="Sparse COO indices")
        self._compare_regular_values_close(
            actual._values(),
            expected._values(),
            rtol=rtol,
            atol=atol,
            equal_nan=equal_nan,
            identifier="Sparse COO values",
        )

    def _compare_sparse_compressed_values(
        self, actual: torch.Tensor, expected: torch.Tensor, *, rtol: float, atol: float, equal_nan: bool
    ) -> None:
        kind, *indices = _COMPRESSED[actual.layout]
        self._compare_specified(actual._nnz(), expected._nnz(), kind)
        for name in indices:
            one, other = getattr(actual, name)(), getattr(expected, name)()
            self._compare_regular_values_equal(one, other, identifier=f"Sparse {kind} {name}")
        self._compare_regular_values_close(
            actual.values(),
            expected.values(),
            rtol=rtol,
            atol=atol,
            equal_nan=equal_nan,
            identifier=f"Sparse {kind} values",
        )

    def _compare_regular_values_equal(
        self,
        actual: torch.Tensor,
        expected: torch.Tensor,
        *,
        equal_nan: bool = False,
        identifier: str | Callable[[str], str] | None = None,
    ) -> None:
        self._compare_regular_values_close(actual, expected, rtol=0, atol=0, equal_nan=equal_nan, identifier=identifier)

    def _compare_regular_values_close(
        self,
        actual: torch.Tensor,
        expected: torch.Tensor,
        *,
        rtol: float,
        atol: float,
        equal_nan: bool,
        identifier: str | Callable[[str], str] | None = None,
    ) -> None:
        if actual.dtype in _FLOAT8:  # which no operator compares within a tolerance
            actual, expected = actual.to(torch.float32), expected.to(torch.float32)
        matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if bool(torch.all(matches)):
            return
        if actual.dim() == 0:
            text = scalar_mismatch(
                actual.item(), expected.item(), rtol=rtol, atol=atol, equal_nan=equal_nan, identifier=identifier
            )
        else:
            text = tensor_mismatch(actual, expected, matches, rtol=rtol, atol=atol, identifier=identifier)
        self._fail(AssertionError, text or "Tensor-likes are not close!")

    def extra_repr(self) -> Sequence[str]:
        """The options."""
        return "rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride"
