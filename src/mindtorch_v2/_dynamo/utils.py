"""Counters of what `torch.compile` did, and where it can."""

from __future__ import annotations

import collections
import contextlib
import enum
import functools
import math
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

import numpy as np

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._dynamo import config

__all__ = [
    "LazyString",
    "counters",
    "dynamo_timed",
    "hashable",
    "ifdynstaticdefault",
    "is_compile_supported",
    "is_safe_constant",
    "istype",
    "preserve_rng_state",
    "same",
    "warn_once",
]

counters: collections.defaultdict = collections.defaultdict(collections.Counter)
"""`counters["stats"]`: unique_graphs, calls_captured; `["frames"]`: total, ok; `["not_captured_whole"]` and
`["graph_break"]` (where a program that is not breaks): by reason;
`["recompiles"]`: by function; `["aot_autograd"]`: ok, not_ok."""


def is_compile_supported(device_type: str) -> bool:
    """Whether functions on tensors of that device can be compiled: on the CPU, NPUs and GPUs of NVIDIA."""
    return _C.device(device_type).type in ("cpu", "npu", "cuda")


def disable_cache_limit() -> contextlib.AbstractContextManager[None]:
    """A context in which as many graphs are kept of a function as it asks for."""
    return config.patch(recompile_limit=sys.maxsize)


class LazyString:
    """A text that is made when it is asked for: what a function gives for the arguments."""

    def __init__(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self) -> str:
        return str(self.func(*self.args, **self.kwargs))


def clone_input(x: Any, *, dtype: Any = None) -> Any:
    """A leaf with a tensor's values and strides, and no history."""
    result = x.detach().clone() if dtype is None else x.detach().to(dtype, copy=True)
    return result.requires_grad_(x.requires_grad and (result.is_floating_point() or result.is_complex()))


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn with a text, the first time that it is said."""
    warnings.warn(msg, stacklevel=stacklevel + 1)


def same(
    ref: Any,
    res: Any,
    fp64_ref: Any = None,
    cos_similarity: bool = False,
    tol: float = 1e-4,
    equal_nan: bool = False,
    exact_dtype: bool = True,
    relax_numpy_equality: bool = False,
    ignore_non_fp: bool = False,
    log_error: Any = None,
) -> bool:
    """Whether two results, nested in any containers and objects, are the same, numbers within `tol`.

    A tensor that is not within `tol` still counts as the same where `fp64_ref`, the same result in double precision, says that
    it is hardly worse than `ref`: its root mean square error is at most 2 or 3 times that of `ref`, and a tenth of `tol`. With
    `ignore_non_fp` only floating point and complex tensors and floats are compared. Arrays of NumPy are compared as tensors are;
    with `relax_numpy_equality` the numbers of NumPy count as Python's. `log_error` gets a text for each tensor that differs.

    >>> torch._dynamo.utils.same([torch.ones(2), {"a": 1}], [torch.ones(2) + 1e-6, {"a": 1}])
    True
    """
    again = functools.partial(
        same,
        cos_similarity=cos_similarity,
        tol=tol,
        equal_nan=equal_nan,
        exact_dtype=exact_dtype,
        relax_numpy_equality=relax_numpy_equality,
        ignore_non_fp=ignore_non_fp,
        log_error=log_error,
    )
    if isinstance(ref, np.ndarray) or (relax_numpy_equality and isinstance(ref, np.generic)):
        both = [np.asarray(each) for each in (ref, res)]
        return both[0].dtype == both[1].dtype and again(*map(torch.from_numpy, map(np.atleast_1d, both)))
    if isinstance(ref, torch.Tensor):
        if not isinstance(res, torch.Tensor):
            return False
        if ignore_non_fp and not (ref.is_floating_point() or ref.is_complex()):
            return True
        found = _same_tensors(ref, res, cos_similarity, tol, equal_nan, exact_dtype)
        if (
            not found
            and fp64_ref is not None
            and ref.shape == res.shape
            and (ref.dtype == res.dtype or not exact_dtype)
        ):
            found = _hardly_worse(ref, res, fp64_ref, tol)
        if not found and log_error is not None:
            log_error("Accuracy failed: %s and %s", ref, res)
        return found
    if isinstance(ref, Mapping):
        return (
            isinstance(res, Mapping)
            and set(ref) == set(res)
            and all(again(ref[key], res[key], None if fp64_ref is None else fp64_ref[key]) for key in ref)
        )
    if isinstance(ref, Set):
        return isinstance(res, Set) and len(ref) == len(res) and all(any(again(a, b) for b in res) for a in ref)
    if isinstance(ref, (list, tuple, collections.deque)):
        return (
            isinstance(res, (list, tuple, collections.deque))
            and len(ref) == len(res)
            and all(
                again(*each) for each in zip(ref, res, [None] * len(ref) if fp64_ref is None else fp64_ref, strict=True)
            )
        )
    if isinstance(ref, float):
        return isinstance(res, (int, float)) and (
            math.isclose(ref, res, rel_tol=tol, abs_tol=tol) or (equal_nan and math.isnan(ref) and math.isnan(res))
        )
    if ignore_non_fp and isinstance(ref, (str, int, type(None), bool, _C.device)):
        return True
    if ref is None or isinstance(ref, (str, bytes, int, complex, type, enum.Enum, _C.dtype, _C.device)):
        return bool(ref == res)
    if type(ref) is not type(res):
        return False
    if hasattr(ref, "__dict__") and not callable(ref):
        return again(vars(ref), vars(res), None if fp64_ref is None else vars(fp64_ref))
    return bool(ref == res)


def _same_tensors(
    ref: torch.Tensor, res: torch.Tensor, cos_similarity: bool, tol: float, equal_nan: bool, exact_dtype: bool
) -> bool:
    if ref.shape != res.shape or (exact_dtype and ref.dtype != res.dtype):
        return False
    if ref.layout != torch.strided:
        ref, res = ref.to_dense(), res.to_dense()
    if ref.dtype == torch.bool:
        return torch.equal(ref, res)
    if cos_similarity:
        found = torch.nn.functional.cosine_similarity(ref.flatten().float(), res.flatten().float(), dim=0, eps=1e-6)
        return bool(torch.equal(ref, res) or found.item() >= 0.99)
    return torch.allclose(ref, res.to(ref.dtype), atol=tol, rtol=tol, equal_nan=equal_nan)


def _hardly_worse(ref: torch.Tensor, res: torch.Tensor, fp64_ref: torch.Tensor, tol: float) -> bool:
    """Whether a result is about as near to the one in double precision as another is."""
    if fp64_ref.dtype not in (torch.float64, torch.complex128):
        return False
    error, worse = ((fp64_ref - each.to(fp64_ref.dtype)).abs().square().mean().sqrt().item() for each in (ref, res))
    if math.isnan(error):
        error = 0.0
    # Few numbers, and numbers of half the bits, vary more.
    factor = 3.0 if ref.numel() <= 10 or ref.dtype in (torch.float16, torch.bfloat16) else 2.0
    return worse <= factor * error + tol / 10


def istype(obj: object, allowed_types: Any) -> bool:
    """Whether an object's class is this one, or one of these; a class made of it is another."""
    kinds = allowed_types if isinstance(allowed_types, (tuple, list, set)) else (allowed_types,)
    return type(obj) in kinds


def hashable(x: Any) -> bool:
    """Whether an object can be a key."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


def is_safe_constant(v: Any) -> bool:
    """Whether a value may stand in a graph as it is: a number, text, dtype, device, enumeration's member, or a tuple of such."""
    if istype(v, (tuple, frozenset)):
        return all(map(is_safe_constant, v))
    kinds = (types.CodeType, int, float, bool, str, bytes, type(None), slice, type(type), _C.device, _C.dtype)
    return isinstance(v, enum.Enum) or istype(v, kinds)


@contextlib.contextmanager
def preserve_rng_state() -> Iterator[None]:
    """Within the block random numbers may be drawn: after it the CPU's generator goes on where it was before."""
    state = torch.random.get_rng_state()
    try:
        yield
    finally:
        torch.random.set_rng_state(state)


@contextlib.contextmanager
def dynamo_timed(key: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Show what runs in the block to profilers, under the name `key`."""
    with torch.profiler.record_function(f"{key} (dynamo_timed)"):
        yield


def ifdynstaticdefault(count1: Any, count2: Any) -> Any:
    """The first where sizes are fixed until they are seen to change, the second where they are left open from the start."""
    return count1 if config.assume_static_by_default else count2
