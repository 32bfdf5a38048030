"""`TestCase`, which compares results of a device with those of NumPy or of the CPU, by relative precision."""

from __future__ import annotations

import numbers
import os
import random
import unittest
from typing import Any

import numpy as np

import mindtorch_v2 as torch

from .common_utils import get_npu_device, set_npu_device

__all__ = ["TestCase", "run_tests"]

_AT_ONCE = 1 << 22  # elements that are compared together


def run_tests() -> None:
    """Run the tests of the program that asks."""
    unittest.main()


def _is_number(first: Any, second: Any) -> bool:
    """Whether one of two is a tensor of one element, and the other a number."""
    tensor, other = (first, second) if isinstance(first, torch.Tensor) else (second, first)
    return tensor.numel() == 1 and isinstance(other, numbers.Number)


def _array(value) -> tuple:
    """A tensor, number or sequence as an array that NumPy can compare; and whether it had 16 bits."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        short = value.dtype in (torch.float16, torch.bfloat16)
        return (value.float() if short else value).numpy(), short
    array = np.asarray(value)
    return array, array.dtype == np.float16


def _differences(ours: np.ndarray, theirs: np.ndarray, allowed: float) -> tuple[int | None, int]:
    """How many elements differ by more than is allowed, both absolutely and relatively, and the place of the worst among all.

    None for how many if one has NaN where the other has none. Large arrays are compared part by part.
    """
    wide = np.complex128 if np.iscomplexobj(ours) or np.iscomplexobj(theirs) else np.float64
    a, b = ours.ravel(), theirs.ravel()
    count, worst, largest = 0, 0, -1.0
    for first in range(0, a.size, _AT_ONCE):
        one, other = a[first : first + _AT_ONCE], b[first : first + _AT_ONCE]
        same = one == other
        if same.all():
            continue
        one, other = one.astype(wide), other.astype(wide)
        missing = np.isnan(one)
        if (missing != np.isnan(other)).any():
            return None, 0
        with np.errstate(all="ignore"):
            apart = np.abs(one - other)
            wrong = ~same & ~missing & ~(np.minimum(apart, apart / np.abs(other)) <= allowed)
        if wrong.any():
            count += int(wrong.sum())
            apart = np.where(wrong, apart, -1.0)
            apart[np.isnan(apart)] = np.inf  # infinities of both signs
            if apart.max() > largest:
                largest, worst = float(apart.max()), first + int(apart.argmax())
    return count, worst


class TestCase(unittest.TestCase):
    """unittest's, with random seeds set before each test and comparisons of tensors."""

    npu_device: str
    precision = 1e-5
    exact_dtype = False

    @classmethod
    def setUpClass(cls) -> None:
        cls.npu_device = set_npu_device() if torch.npu.is_available() else get_npu_device()

    def assertExpectedInline(self, actual: str, expect: str, skip: int = 0) -> None:
        """Fail unless a text is the expected one, as expecttest's method of this name."""
        self.assertMultiLineEqual(expect, actual)

    def setUp(self) -> None:
        seed = int(os.environ.get("SEED", "666"))
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)

    def assertTensorsSlowEqual(
        self, x: torch.Tensor, y: torch.Tensor, prec: float | None = None, message: str = ""
    ) -> None:
        """Fail unless two tensors, of any devices, have one size and dtype and no element differs by more than `prec`."""
        self.assertEqual(x.size(), y.size(), message=message)
        self.assertEqual(x.dtype, y.dtype, message=message)
        self.assertEqual(x, y, prec=prec, message=message)

    def assertNotEqual(self, first: Any, second: Any, prec: Any = None, message: str = "") -> None:
        """unittest's; tensors of one size differ if an element does by at least `prec`."""
        if isinstance(prec, str):
            prec, message = None, prec
        if not isinstance(first, torch.Tensor) or not isinstance(second, torch.Tensor):
            super().assertNotEqual(first, second, message or None)
            return
        x, y = (each.detach().cpu().double() for each in (first, second))
        if x.shape == y.shape and torch.equal(x.isnan(), y.isnan()):
            apart = (x - y).abs().nan_to_num(0.0)
            self.assertGreaterEqual(
                apart.max().item() if apart.numel() else 0.0, prec or self.precision, message or None
            )

    def assertAlmostEqual(
        self, first: Any, second: Any, places: Any = None, msg: Any = None, delta: Any = None
    ) -> None:
        """unittest's, and `assertEqual` for tensors, of which no element may then differ by more than `delta` or 10**-`places`."""
        if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
            prec = delta if delta is not None else None if places is None else 10.0**-places
            self.assertEqual(first, second, prec, msg)
        else:
            super().assertAlmostEqual(first, second, places, msg, delta)

    def assertRtolEqual(
        self,
        x: Any,
        y: Any,
        prec: float = 1e-4,
        prec16: float = 1e-3,
        auto_trans_dtype: bool = False,
        message: Any = None,
    ) -> None:
        """Fail unless x is y: for all elements but a share of `prec`, the absolute or the relative difference is at most it.

        `prec16` takes the place of `prec` where either has 16 bits. Lists and dictionaries are compared item by item. With
        `auto_trans_dtype` values of different dtypes may be compared.
        """
        if isinstance(x, dict) and isinstance(y, dict):
            self.assertEqual(list(x), list(y), message)
            x, y = list(x.values()), list(y.values())
        if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            self.assertEqual(len(x), len(y), message)
            for one, other in zip(x, y, strict=True):
                self.assertRtolEqual(one, other, prec, prec16, auto_trans_dtype, message)
            return
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) and not auto_trans_dtype:
            self.assertEqual(x.dtype, y.dtype, message)
        (ours, short), (theirs, also_short) = _array(x), _array(y)
        self.assertEqual(ours.shape, theirs.shape, message)
        allowed = prec16 if short or also_short else prec
        if ours.size == 0:
            return
        count, worst = _differences(ours, theirs, allowed)
        self.assertIsNotNone(count, message or "one has NaN where the other has none")
        if count is not None and count / ours.size > allowed:
            place = np.unravel_index(worst, ours.shape)
            self.fail(
                message
                or f"{count} of {ours.size} elements differ by more than {allowed}; the worst, at "
                f"{tuple(map(int, place))}, is {ours[place]} in the first and {theirs[place]} in the second"
            )

    def assertEqual(  # type: ignore[override]  # (torch_npu's)
        self, first: Any, second: Any, prec: Any = None, message: Any = "", **options: Any
    ) -> None:
        """unittest's, for tensors on any devices, and for lists and dictionaries of them; a text as `prec` is the message.

        No element may differ by more than `prec`, or by PyTorch's tolerances where neither it nor `atol` and `rtol` are given.
        """
        if isinstance(prec, str):
            prec, message = None, prec
        message = message or options.get("msg") or None
        first, second = (
            list(each)
            if isinstance(each, (torch.storage.TypedStorage, torch.UntypedStorage))
            else torch.from_numpy(each)
            if isinstance(each, np.ndarray) and each.dtype.kind in "biufc"
            else each
            for each in (first, second)
        )
        for one, other in ((first, second), (second, first)):
            if isinstance(one, torch.Tensor) and isinstance(other, (list, tuple)):
                self.assertEqual(one, torch.tensor(other, dtype=one.dtype), prec, message, **options)
                return
        if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
            atol, rtol = options.get("atol", prec), options.get("rtol")
            if (atol is None) != (rtol is None):
                atol, rtol = atol or 0.0, rtol or 0.0
            torch.testing.assert_close(
                first, second, rtol=rtol, atol=atol, equal_nan=True, check_device=False, check_stride=False,
                check_dtype=bool(options.get("exact_dtype", self.exact_dtype)), msg=message,
            )  # fmt: skip
        elif isinstance(first, torch.Tensor) != isinstance(second, torch.Tensor) and _is_number(first, second):
            self.assertLessEqual(abs(float(first) - float(second)), prec or self.precision, message)
        elif all(isinstance(each, numbers.Real) for each in (first, second)) and first != second:
            self.assertLessEqual(abs(first - second), prec or self.precision, message)
        elif all(isinstance(each, (list, tuple)) for each in (first, second)) or (
            isinstance(first, dict) and isinstance(second, dict)
        ):
            self.assertEqual(len(first), len(second), message=message)
            if isinstance(first, dict):
                super().assertEqual(first.keys(), second.keys(), message)
                first, second = list(first.values()), [second[key] for key in first]
            for one, other in zip(first, second, strict=True):
                self.assertEqual(one, other, prec, message, **options)
        else:
            super().assertEqual(first, second, message)
