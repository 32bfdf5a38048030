"""`assert_close`: compares nested structures of tensors and numbers, and says where they differ."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.testing._pairs import (
    BooleanPair,
    ErrorMeta,
    NonePair,
    NumberPair,
    ObjectPair,
    Pair,
    Place,
    TensorLikePair,
    UnsupportedInputs,
    default_tolerances,
    get_tolerances,
)

__all__ = [
    "BooleanPair",
    "ErrorMeta",
    "NonePair",
    "NumberPair",
    "ObjectPair",
    "Pair",
    "TensorLikePair",
    "UnsupportedInputs",
    "assert_allclose",
    "assert_close",
    "assert_equal",
    "default_tolerances",
    "get_tolerances",
    "not_close_error_metas",
    "originate_pairs",
]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Assert that `actual` and `expected` are close: |actual - expected| <= atol + rtol * |expected|.

    Both may be tensors (or what `torch.as_tensor` takes, of related types), numbers, None, or sequences and mappings
    of these, which are compared item by item. Without tolerances those of the dtypes are used: see
    `default_tolerances`. `msg` replaces the error's text, or is a function that makes it from the one here.

    Raises AssertionError for a difference, TypeError for what cannot be compared, ValueError if only one of `rtol`
    and `atol` is given.

    >>> assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
    """
    differences = not_close_error_metas(
        actual,
        expected,
        pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair),
        allow_subclasses=allow_subclasses,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
    )
    if differences:
        first = differences[0]
        # A text of the user's is for values that differ, not for values that cannot be compared.
        raise first.to_error(msg if first.type is AssertionError else None)


def assert_equal(
    actual: Any,
    expected: Any,
    *,
    pair_types: Sequence[type[Pair]] = (ObjectPair,),
    sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,),
    msg: str | Callable[[str], str] | None = None,
    **options: Any,
) -> None:
    """Assert that nested structures agree, by the kinds of pairs given: raises the first difference."""
    differences = not_close_error_metas(
        actual,
        expected,
        pair_types=pair_types,
        sequence_types=sequence_types,
        mapping_types=mapping_types,
        **options,
    )
    if differences:
        raise differences[0].to_error(msg)


def not_close_error_metas(
    actual: Any,
    expected: Any,
    *,
    pair_types: Sequence[type[Pair]] = (ObjectPair,),
    sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,),
    **options: Any,
) -> list[ErrorMeta]:
    """All differences of nested structures, in their order; what cannot be compared is one alone."""
    try:
        pairs = originate_pairs(
            actual,
            expected,
            pair_types=pair_types,
            sequence_types=sequence_types,
            mapping_types=mapping_types,
            **options,
        )
    except ErrorMeta as difference:
        raise difference.to_error() from None
    differences = []
    for pair in pairs:
        try:
            pair.compare()
        except ErrorMeta as difference:
            if not difference.id:
                difference.id = pair.id
            differences.append(difference)
    return differences


def originate_pairs(
    actual: Any,
    expected: Any,
    *,
    pair_types: Sequence[type[Pair]],
    sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,),
    id: Place = (),
    **options: Any,
) -> list[Pair]:
    """The pairs of leaves of nested structures, each of the first kind that takes it.

    Raises `ErrorMeta` where the structures differ, and where no kind takes two leaves.
    """

    def below(keys: Any) -> list[Pair]:
        return [
            pair
            for key in keys
            for pair in originate_pairs(
                actual[key],
                expected[key],
                pair_types=pair_types,
                sequence_types=sequence_types,
                mapping_types=mapping_types,
                id=(*id, key),
                **options,
            )
        ]

    if _are(sequence_types, actual, expected) and not _are((str,), actual, expected):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise ErrorMeta(AssertionError, text, id=id)
        return below(range(len(actual)))
    if _are(mapping_types, actual, expected):
        missing, additional = set(expected) - set(actual), set(actual) - set(expected)
        if missing or additional:
            text = (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(additional)}"
            )
            raise ErrorMeta(AssertionError, text, id=id)
        keys = list(actual)
        return below(sorted(keys) if all(isinstance(key, str) for key in keys) else keys)
    for kind in pair_types:
        try:
            return [kind(actual, expected, id=id, **options)]
        except UnsupportedInputs:
            continue
    text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    raise ErrorMeta(TypeError, text, id=id)


def _are(kinds: tuple[type, ...], *values: Any) -> bool:
    return all(isinstance(value, kinds) for value in values)


def _unwrap_dtensor_for_comparison(actual: Any, expected: Any) -> tuple[Any, Any]:
    """Both as they are: there are no tensors spread over processes here."""
    return actual, expected


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The deprecated `assert_close`, without checks of device, dtype and stride.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     try:
    ...         torch.testing.assert_allclose(torch.tensor([1.0]), torch.tensor([1.5]))
    ...     except AssertionError as error:
    ...         print(str(error).splitlines()[0])
    Tensor-likes are not close!
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
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
