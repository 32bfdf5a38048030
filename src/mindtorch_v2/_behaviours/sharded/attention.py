"""Sharding rules of the family attention: items of the batch, and heads, are each for themselves."""

from __future__ import annotations

from collections.abc import Iterable

from ._call import Call, Operand, Strategy, rule
from .placements import Placement, Replicate, Shard


@rule(
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_scaled_dot_product_attention_dropout_backward",
)
def _attention(call: Call) -> Iterable[Strategy]:
    query: Operand = call.value("query")
    mask = call.value("attn_mask")
    for dim in (0, 1):
        if not all(call.divides(each, dim) for each in call.operands if each is not mask and each.dim() > dim):
            continue
        inputs: dict[int, Placement] = {each.number: Shard(dim) for each in call.operands}
        if isinstance(mask, Operand):
            own = dim - query.dim() + mask.dim()
            inputs[mask.number] = Shard(own) if own >= 0 and mask.shape[own] != 1 else Replicate()
        yield call.strategy(Shard(dim), inputs)
