"""Numbers of tensors that a composition reads on the host: lengths, ends of groups, places.

Meta tensors have none, and take numbers that stand for them, so that the results have their form. Fake tensors do not: where a
composition is recorded, a stand-in would become part of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def has_numbers(tensor: Any) -> bool:
    """Whether there are numbers behind a tensor."""
    return not tensor.is_meta


def numbers_of(values: Any, instead: Sequence[int]) -> list[int]:
    """The whole numbers of a list or a tensor; those of `instead` for a tensor without numbers."""
    if isinstance(values, (list, tuple)):
        return [int(n) for n in values]
    return [int(n) for n in values.tolist()] if has_numbers(values) else list(instead)
