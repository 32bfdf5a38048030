"""Whether two tensors, one of each library, are alike; and two outcomes of a step."""

from __future__ import annotations

from typing import Any

import torch as theirs

import mindtorch_v2 as ours


def alike(mine: Exception, other: Any) -> bool:
    """Whether an exception of ours is of the class of PyTorch's."""
    if not isinstance(other, Exception):
        return False
    return isinstance(mine, type(other)) or isinstance(other, type(mine))


def difference(mine: Any, other: Any, versions: bool) -> str | None:
    """What two tensors differ in, None if nothing; `versions`: whether their versions are compared."""
    facts: list[tuple[str, Any, Any]] = [
        # Nested tensors are classes of their own here, so that they are of no other one.
        ("class", mine.is_nested or type(mine).__name__, other.is_nested or type(other).__name__),
        ("layout", str(mine.layout), str(other.layout)),
        ("is nested", mine.is_nested, other.is_nested),
        ("dtype", str(mine.dtype), str(other.dtype)),
        ("requires_grad", mine.requires_grad, other.requires_grad),
        ("is_leaf", mine.is_leaf, other.is_leaf),
    ]
    problem = _first(facts)
    if problem:
        return problem
    if other.is_nested:
        return _nested(mine, other)
    if other.layout is not theirs.strided:
        return _sparse(mine, other)
    return _strided(mine, other, versions)


def plain(tensor: Any) -> Any:
    """The tensor without its class and its history."""
    library = ours if isinstance(tensor, ours.Tensor) else theirs
    with library._C.DisableTorchFunctionSubclass():
        return tensor.detach()


def _first(facts: list[tuple[str, Any, Any]]) -> str | None:
    for name, a, b in facts:
        if a != b:
            return f"{name}: ours {a}, PyTorch's {b}"
    return None


def _steps(tensor: Any) -> list[int]:
    """Its strides. Those of none or single elements say nothing, and arrays of NumPy's lose them here on the way."""
    return [step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size != 1 and tensor.numel()]


def _strided(mine: Any, other: Any, versions: bool) -> str | None:
    problem = _first(
        [
            ("sizes", list(mine.shape), list(other.shape)),
            ("strides", _steps(mine), _steps(other)),
            ("offset", mine.storage_offset(), other.storage_offset()),
            ("version", mine._version if versions else 0, other._version if versions else 0),
            ("is a view", versions and mine._is_view(), versions and other._is_view()),
            ("is conjugate", mine.is_conj(), other.is_conj()),
        ]
    )
    return problem or _numbers(mine, other) or _gradients(mine, other)


def _numbers(mine: Any, other: Any) -> str | None:
    wanted = plain(other).to(theirs.complex128).tolist()
    got = plain(mine).to(ours.complex128).tolist()
    return None if repr(got) == repr(wanted) or _close(got, wanted) else f"numbers: ours {got}, PyTorch's {wanted}"


def _close(a: Any, b: Any) -> bool:
    """Whether they differ in how the last digits were rounded alone, or in the sign of zeros, which depends on PyTorch's vectors."""
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_close, a, b))
    return repr(a) == repr(b) or a == b or abs(a - b) <= 1e-5 * abs(b)


def _gradients(mine: Any, other: Any) -> str | None:
    if not mine.is_leaf:
        return None
    a, b = mine.grad, other.grad
    if (a is None) != (b is None):
        return f"grad: ours {a}, PyTorch's {b}"
    if a is None:
        return None
    if str(a.layout) != str(b.layout):
        return f"grad's layout: ours {a.layout}, PyTorch's {b.layout}"
    problem = _sparse(a, b) if b.layout is not theirs.strided else None if b.is_nested else _numbers(a, b)
    return problem and f"grad: {problem}"


def _nested(mine: Any, other: Any) -> str | None:
    problem = _first([("dim", mine.dim(), other.dim()), ("pieces", mine.size(0), other.size(0))])
    if problem:
        return problem
    a, b = plain(mine).unbind(), plain(other).unbind()
    for number, (one, two) in enumerate(zip(a, b, strict=True)):
        problem = _first([("sizes", list(one.shape), list(two.shape))]) or _numbers(one, two)
        if problem:
            return f"piece {number}: {problem}"
    return None


def _sparse(mine: Any, other: Any) -> str | None:
    facts = [
        ("sizes", list(mine.shape), list(other.shape)),
        ("sparse dimensions", mine.sparse_dim(), other.sparse_dim()),
        ("dense dimensions", mine.dense_dim(), other.dense_dim()),
        ("elements", mine._nnz(), other._nnz()),
    ]
    if other.layout is theirs.sparse_coo:
        facts.append(("is coalesced", mine.is_coalesced(), other.is_coalesced()))
    problem = _first(facts)
    if problem:
        return problem
    coo = other.layout is theirs.sparse_coo
    rows = other.layout in (theirs.sparse_csr, theirs.sparse_bsr)
    names = (
        ("_indices", "_values")
        if coo
        else ("crow_indices", "col_indices", "values")
        if rows
        else ("ccol_indices", "row_indices", "values")
    )
    a, b = plain(mine), plain(other)
    for name in names:
        problem = _numbers(getattr(a, name)(), getattr(b, name)())
        if problem:
            return f"{name}: {problem}"
    return None
