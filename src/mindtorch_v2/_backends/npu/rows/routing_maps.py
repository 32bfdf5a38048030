"""Tokens to experts as a map of booleans says, (tokens, experts), and back; with room for as many tokens an expert, if asked for."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten, namespace
from .checks import composite, require, wide
from .numbers import has_numbers

npu = namespace("npu")
_INT32, _INT64, _BOOL = DTYPES["int32"], DTYPES["int64"], DTYPES["bool"]


def _by_expert(routing_map):
    return aten.contiguous(routing_map.to(_BOOL).transpose(0, 1))


def _sent(by_expert, count):
    """The token of each row, by expert, then token; of meta tensors the map does not say how many, but `count` may."""
    if count is not None and not has_numbers(by_expert):
        return aten.empty([count], dtype=_INT64, device=by_expert.device)
    return aten.nonzero(by_expert)[:, 1]


def _flat_places(sorted_indices, experts, tokens):
    """Of rows with as many for each expert, the places in the map's transpose."""
    expert = aten.arange(experts, device=sorted_indices.device).unsqueeze(-1)
    return (expert * tokens + sorted_indices.to(_INT64).reshape(experts, -1)).flatten()


@composite(
    "npu::npu_moe_token_permute_with_routing_map(Tensor tokens, Tensor routing_map, *, Tensor? probs=None, int? "
    "num_out_tokens=None, bool drop_and_pad=False) -> (Tensor, Tensor, Tensor)",
    "Tokens ordered by expert, then token; their weights; and of each (token, expert) its row. With drop_and_pad as "
    "many rows for each expert, those sent first, and of each row its token.",
)
def npu_moe_token_permute_with_routing_map(
    tokens: Any, routing_map: Any, *, probs: Any = None, num_out_tokens: Any = None, drop_and_pad: bool = False,
) -> tuple:  # fmt: skip
    operator = "npu_moe_token_permute_with_routing_map"
    require(
        routing_map.dim() == 2 and routing_map.shape[0] == tokens.shape[0],
        operator,
        f"routing_map must be (tokens, experts) of {tokens.shape[0]} tokens, but its sizes are {list(routing_map.shape)}",
    )
    by_expert = _by_expert(routing_map)
    count, experts = routing_map.shape
    if drop_and_pad:
        require(
            num_out_tokens is not None and num_out_tokens > 0 and num_out_tokens % experts == 0,
            operator,
            f"drop_and_pad takes num_out_tokens, a multiple of the {experts} experts, but it is {num_out_tokens}",
        )
        order = aten.argsort(by_expert.to(_INT32), dim=-1, descending=True, stable=True)
        index = aten.contiguous(order[:, : num_out_tokens // experts]).flatten()
        token = index
    else:
        token = _sent(by_expert, num_out_tokens)
        require(
            not num_out_tokens or token.numel() == num_out_tokens,
            operator,
            f"num_out_tokens is {num_out_tokens}, but the map sends {token.numel()}",
        )
        index = aten.argsort(token, dim=0, stable=True)
    if probs is None:
        chosen = aten.empty([0], dtype=tokens.dtype, device=tokens.device)
    elif drop_and_pad:
        chosen = aten.index_select(probs.transpose(0, 1).reshape(-1), 0, _flat_places(index, experts, count))
    elif has_numbers(by_expert):
        chosen = aten.masked_select(probs.transpose(0, 1), by_expert)
    else:
        chosen = aten.empty([token.numel()], dtype=probs.dtype, device=probs.device)
    return aten.index_select(tokens, 0, token), chosen, index.to(_INT32)


@composite(
    "npu::npu_moe_token_permute_with_routing_map_grad(Tensor permuted_token_out_grad, Tensor? probs_grad, Tensor "
    "sorted_indices, Tensor routing_map, SymInt experts_num, SymInt tokens_num, bool drop_and_pad) -> (Tensor, "
    "Tensor)",
    "Gradients of npu_moe_token_permute_with_routing_map by the tokens and by the weights.",
)
def npu_moe_token_permute_with_routing_map_grad(
    permuted_token_out_grad: Any, probs_grad: Any, sorted_indices: Any, routing_map: Any, experts_num: int,
    tokens_num: int, drop_and_pad: bool,
) -> tuple:  # fmt: skip
    by_expert = _by_expert(routing_map)
    if drop_and_pad:
        token = sorted_indices.to(_INT64)
        places = _flat_places(sorted_indices, experts_num, tokens_num)
    else:
        token = _sent(by_expert, sorted_indices.numel())
        places = aten.nonzero(by_expert.flatten()).flatten() if has_numbers(by_expert) else token
    g = wide(permuted_token_out_grad)
    of_tokens = aten.index_add(aten.zeros([tokens_num, g.shape[1]], dtype=g.dtype, device=g.device), 0, token, g)
    if probs_grad is None:
        return of_tokens.to(permuted_token_out_grad.dtype), aten.empty([0], dtype=g.dtype, device=g.device)
    flat = aten.zeros([experts_num * tokens_num], dtype=probs_grad.dtype, device=g.device)
    of_probs = aten.index_put(flat, [places], probs_grad).reshape(experts_num, tokens_num).transpose(0, 1)
    return of_tokens.to(permuted_token_out_grad.dtype), aten.contiguous(of_probs)


def _weights(sorted_indices, probs, routing_map, drop_and_pad):
    """The weight of each row that is summed, in the order of the rows (drop_and_pad) or of (token, expert)."""
    if drop_and_pad:
        flat = probs.transpose(0, 1).reshape(-1)
        return aten.index_select(flat, 0, _flat_places(sorted_indices, probs.shape[1], probs.shape[0]))
    if not has_numbers(routing_map):
        return aten.empty([sorted_indices.numel()], dtype=probs.dtype, device=probs.device)
    return aten.masked_select(probs, routing_map.to(_BOOL))


def _of_rows(operator, sorted_indices, routing_map, drop_and_pad):
    """The row and the token of each term of the sums."""
    if drop_and_pad:
        return aten.arange(sorted_indices.numel(), device=sorted_indices.device), sorted_indices.to(_INT64)
    require(routing_map is not None, operator, "routing_map is needed unless drop_and_pad is True")
    rows = sorted_indices.to(_INT64)
    return rows, aten.nonzero(routing_map.to(_BOOL))[:, 0] if has_numbers(routing_map) else rows


def _unpermuted_gradients(
    grad, permuted_tokens, sorted_indices, restore_shape, probs, routing_map, drop_and_pad
) -> tuple:  # fmt: skip
    order = aten.argsort(sorted_indices, dim=0, stable=True) if drop_and_pad else sorted_indices
    tokens = aten.index_select(sorted_indices, 0, order) if drop_and_pad else sorted_indices
    of_tokens, of_probs = npu.npu_moe_token_unpermute_with_routing_map_grad(
        grad, order.to(_INT32), tokens, routing_map, permuted_tokens, probs, drop_and_pad, list(restore_shape)
    )
    return of_tokens, None if probs is None else of_probs


@composite(
    "npu::_npu_moe_token_unpermute_with_routing_map(Tensor permuted_tokens, Tensor sorted_indices, int[] "
    "restore_shape, *, Tensor? probs=None, Tensor? routing_map=None, bool drop_and_pad=False) -> (Tensor, Tensor, "
    "Tensor, Tensor)",
    "npu_moe_token_unpermute_with_routing_map, and what its gradient is computed from: rows by token, those tokens, "
    "the weights.",
    explicit=True,
    grad={("permuted_tokens", "probs"): _unpermuted_gradients},
    nondiff=(1, 2, 3),
)
def _npu_moe_token_unpermute_with_routing_map(
    permuted_tokens: Any, sorted_indices: Any, restore_shape: Any, *, probs: Any = None, routing_map: Any = None,
    drop_and_pad: bool = False,
) -> tuple:  # fmt: skip
    operator = "npu_moe_token_unpermute_with_routing_map"
    require(probs is None or drop_and_pad or routing_map is not None, operator, "probs take routing_map")
    rows, token = _of_rows(operator, sorted_indices, routing_map, drop_and_pad)
    terms = aten.index_select(wide(permuted_tokens), 0, rows)
    weights = aten.empty([0], dtype=permuted_tokens.dtype, device=permuted_tokens.device)
    if probs is not None:
        weights = _weights(sorted_indices, probs, routing_map, drop_and_pad)
        terms = terms * wide(weights).unsqueeze(-1)
    total = aten.index_add(aten.zeros(restore_shape, dtype=terms.dtype, device=terms.device), 0, token, terms)
    if drop_and_pad:
        order = aten.argsort(sorted_indices, dim=0, stable=True)
        by_token = aten.index_select(sorted_indices, 0, order)
    else:
        order, by_token = (aten.ones([1], dtype=_INT32, device=terms.device) for _ in range(2))
    return total.to(permuted_tokens.dtype), order.to(_INT32), by_token.to(sorted_indices.dtype), weights


@composite(
    "npu::npu_moe_token_unpermute_with_routing_map(Tensor permuted_tokens, Tensor sorted_indices, int[] "
    "restore_shape, *, Tensor? probs=None, Tensor? routing_map=None, bool drop_and_pad=False) -> Tensor",
    "Tokens in their old order: the sum of the rows of each, weighted by `probs`.",
)
def npu_moe_token_unpermute_with_routing_map(
    permuted_tokens: Any, sorted_indices: Any, restore_shape: Any, *, probs: Any = None, routing_map: Any = None,
    drop_and_pad: bool = False,
) -> Any:  # fmt: skip
    return npu._npu_moe_token_unpermute_with_routing_map(
        permuted_tokens, sorted_indices, restore_shape, probs=probs, routing_map=routing_map, drop_and_pad=drop_and_pad
    )[0]


@composite(
    "npu::npu_moe_token_unpermute_with_routing_map_grad(Tensor unpermuted_tokens_grad, Tensor out_index, Tensor "
    "permuted_token_id, Tensor? routing_map, Tensor? permuted_tokens, Tensor? probs, bool drop_and_pad, int[] "
    "restore_shape) -> (Tensor, Tensor)",
    "Gradients of npu_moe_token_unpermute_with_routing_map by the rows and by the weights.",
)
def npu_moe_token_unpermute_with_routing_map_grad(
    unpermuted_tokens_grad: Any, out_index: Any, permuted_token_id: Any, routing_map: Any, permuted_tokens: Any,
    probs: Any, drop_and_pad: bool, restore_shape: Any,
) -> tuple:  # fmt: skip
    operator = "npu_moe_token_unpermute_with_routing_map_grad"
    g = wide(unpermuted_tokens_grad)
    if drop_and_pad:  # out_index: rows by token; permuted_token_id: these tokens
        order = out_index.to(_INT64)
        token = aten.empty_like(order).scatter_(0, order, permuted_token_id.to(_INT64))
        rows = aten.arange(order.numel(), device=g.device)
    else:
        rows, token = _of_rows(operator, out_index, routing_map, False)
    terms = aten.index_select(g, 0, token)
    count = rows.numel() if permuted_tokens is None else permuted_tokens.shape[0]
    dtype = unpermuted_tokens_grad.dtype
    of_probs = aten.empty([0], dtype=dtype, device=g.device)
    if probs is not None:
        require(permuted_tokens is not None, operator, "probs take permuted_tokens")
        by_weight = (aten.index_select(wide(permuted_tokens), 0, rows) * terms).sum([-1]).to(probs.dtype)
        if drop_and_pad:
            flat = aten.zeros([probs.numel()], dtype=probs.dtype, device=g.device)
            places = _flat_places(token, probs.shape[1], probs.shape[0])
            of_probs = aten.contiguous(
                aten.index_put(flat, [places], by_weight, True).reshape(probs.shape[1], probs.shape[0]).transpose(0, 1)
            )
        else:
            where = aten.nonzero(routing_map.to(_BOOL).flatten()).flatten() if has_numbers(routing_map) else rows
            flat = aten.zeros([probs.numel()], dtype=probs.dtype, device=g.device)
            of_probs = aten.index_put(flat, [where], by_weight).reshape(probs.shape)
        terms = terms * wide(_weights(token, probs, routing_map, drop_and_pad)).unsqueeze(-1)
    made = aten.zeros([count, g.shape[1]], dtype=g.dtype, device=g.device)
    return aten.index_put(made, [rows], terms).to(dtype), of_probs
