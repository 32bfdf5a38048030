"""Rules of vmap for the family assertion: what is asserted holds for every slice."""

from __future__ import annotations

from typing import Any

from ._call import Batch, rule


@rule("_assert_async", "_assert_async.msg")
def _assert_async(batch: Batch, op: Any, values: list) -> Any:
    return op((batch.full(values[0]) != 0).all(), *values[1:])
