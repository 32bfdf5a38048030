"""Steps of inference that are recorded once and replayed, as servers of language models do: nothing in them is read on the host."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import mindtorch_v2 as torch

pytestmark = pytest.mark.usefixtures("emulator")

npu: Any = torch.ops.npu
_BLOCKS, _BLOCK, _HEADS, _WIDTH = 3, 4, 2, 16


def _x(*sizes: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).half()


def _caches(nz: bool = False) -> list[torch.Tensor]:
    sizes = (_BLOCKS, _HEADS, _BLOCK, _WIDTH) if nz else (_BLOCKS, _BLOCK, _HEADS, _WIDTH)
    return [torch.full(sizes, -7.0).half().npu() for _ in range(2)]


def _written(cache: torch.Tensor, rows: torch.Tensor, slots: list[int], nz: bool = False) -> torch.Tensor:
    """Contents of the cache behind a write, one row after the other, on the host."""
    made = cache.clone()
    for row, slot in zip(rows, slots, strict=True):
        if slot >= 0 and nz:
            made[slot // _BLOCK, :, slot % _BLOCK] = row.reshape(_HEADS, _WIDTH)
        elif slot >= 0:
            made[slot // _BLOCK, slot % _BLOCK] = row
    return made


@pytest.mark.parametrize("slots", [[5, 0, 11], [-1, 4, -1], [-1, -1, -1], [0, -1, 0]])
@pytest.mark.parametrize("name", ["reshape", "siso", "scatter", "scatter_nz"])
def test_rows_are_written_to_a_cache_in_a_recording(name: str, slots: list[int]) -> None:
    nz = name == "scatter_nz"
    key, value = (_x(3, _HEADS, _WIDTH, seed=seed).npu() for seed in (1, 2))
    if slots == [0, -1, 0]:  # two rows of one slot: which is the last is not said, so that they are the same
        key[2], value[2] = key[0], value[0]
    caches, places = _caches(nz), torch.tensor([1, 2, 3], dtype=torch.int32).npu()

    def step() -> None:
        if name == "reshape":
            torch.ops.atb._npu_reshape_and_cache(key, value, *caches, places)
        elif name == "siso":
            torch.ops.atb._npu_reshape_and_cache_siso(key, caches[0], places)
        else:
            npu.npu_scatter_pa_kv_cache(key, value, *caches, places, cache_mode="PA_NZ" if nz else "Norm")

    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        step()
    before = [cache.cpu() for cache in _caches(nz)]
    for cache, old in zip(caches, before, strict=True):
        cache.copy_(old)
    places.copy_(torch.tensor(slots, dtype=torch.int32))
    graph.replay()
    assert torch.equal(caches[0].cpu(), _written(before[0], key.cpu(), slots, nz))
    if name != "siso":
        assert torch.equal(caches[1].cpu(), _written(before[1], value.cpu(), slots, nz))


@pytest.mark.parametrize("mode", ["Norm", "PA", "PA_NZ", "PA_BLK_NZ"])
@pytest.mark.parametrize("slots", [[5, 0, 9, 2], [-1, 7, -1, 1], [-1, -1, -1, -1]])
def test_latent_rows_are_written_to_caches_in_a_recording(mode: str, slots: list[int]) -> None:
    batch, tokens, rope, width = 2, 2, 32, 64
    kv, gamma = _x(batch, 1, tokens, width + rope).npu(), _x(width, seed=1).npu()
    cos, sin = (_x(batch, 1, tokens, rope, seed=seed).npu() for seed in (2, 3))
    shape = (batch, 1, 12) if mode == "Norm" else (3, 4, 1)
    caches = [torch.full((*shape, size), -7.0).half().npu() for size in (rope, width)]
    if mode == "PA_BLK_NZ":
        slots = [slot // 4 * 4 if slot >= 0 else slot for slot in slots[:2]]
    index = torch.tensor(slots)
    index = index.reshape(batch, tokens) if mode == "Norm" else index
    places = torch.zeros_like(index).npu()

    def step(where: torch.Tensor, into: list[torch.Tensor]) -> None:
        npu.npu_kv_rmsnorm_rope_cache_v2(kv, gamma, cos, sin, where, *into, cache_mode=mode)

    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        step(places, caches)
    for cache in caches:
        cache.fill_(-7.0)
    places.copy_(index)
    graph.replay()
    host = [torch.full_like(cache.cpu(), -7.0) for cache in caches]
    kv, gamma, cos, sin = (each.cpu() for each in (kv, gamma, cos, sin))
    step(index, host)
    for cache, expected in zip(caches, host, strict=True):
        torch.testing.assert_close(cache.cpu(), expected, rtol=2e-3, atol=2e-3)
        assert (cache.cpu() == -7.0).all() == (max(slots) < 0)


def test_a_cache_of_other_heads_is_refused() -> None:
    q, cache = _x(2, 1, 4 * 16).npu(), _x(3, 128, 1, 16).npu()
    table = torch.tensor([[0], [1]], dtype=torch.int32).npu()
    with pytest.raises(RuntimeError, match=r"a paged cache must be .* of 1 heads, but its sizes are \[3, 128, 1, 16\]"):
        npu.npu_fused_infer_attention_score(
            q, cache, cache, num_heads=4, num_key_value_heads=1, input_layout="BSH", block_table=table, block_size=128,
            actual_seq_lengths_kv=[3, 2], scale=0.25,
        )  # fmt: skip


def _bytes(*sizes: int, seed: int = 0, low: int = -9, high: int = 9) -> torch.Tensor:
    made = torch.randint(low, high, sizes, generator=torch.Generator().manual_seed(seed))
    return made.to(torch.int8).npu()


def _scales(*sizes: int, seed: int = 0) -> torch.Tensor:
    return (_x(*sizes, seed=seed).float().abs() * 0.02 + 0.01).npu()


def _mixture(name: str, ends: torch.Tensor) -> Callable[[], Any]:
    """A call whose arguments lie on the device."""
    if name == "swiglu":
        given = (_bytes(7, 16), _bytes(3, 16, 24, seed=1), ends, _scales(3, 24), _scales(7))
        return lambda: npu.npu_grouped_matmul_swiglu_quant(*given)[:2]
    if name == "swiglu_v2":
        weights, scales = [_bytes(16, 24, seed=i) for i in range(3)], [_scales(24, seed=i) for i in range(3)]
        return partial(npu.npu_grouped_matmul_swiglu_quant_v2, _bytes(7, 16), weights, scales, _scales(7), ends)
    if name == "dequant":
        first, sums = torch.zeros(1, dtype=torch.int64).npu(), _bytes(7, 16).to(torch.int32)
        named = {"weight_scale": _scales(3, 16), "activation_scale": _scales(7), "quant_scale": _scales(3, 8, seed=2)}
        return lambda: npu.npu_dequant_swiglu_quant(
            sums, **named, quant_mode=1, group_index=ends - torch.cat([first, ends[:-1]])
        )
    if name == "sums":
        sums = torch.zeros(3, 16, 24).npu()
        return partial(npu.npu_grouped_matmul_add, sums, _x(7, 16).float().npu(), _x(7, 24, seed=1).float().npu(), ends)
    if name == "grouped":
        return partial(npu.npu_quant_grouped_matmul_dequant, _x(7, 16).npu(), _bytes(3, 24, 16), _scales(3, 24), ends)
    return partial(
        npu.npu_grouped_matmul_finalize_routing, _bytes(7, 16), _bytes(3, 16, 24, seed=1), ends, scale=_scales(3, 24),
        pertoken_scale=_scales(7), output_bs=4, logit=_scales(7, seed=3),
        row_index=torch.tensor([0, 1, 2, 3, 0, 1, 2]).npu(), group_list_type=0,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["swiglu", "swiglu_v2", "dequant", "grouped", "sums", "finalize"])
def test_groups_of_rows_in_a_recording(name: str) -> None:
    ends = torch.tensor([2, 2, 7]).npu()
    step = _mixture(name, ends)
    step()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        made = step()
    for values in ([1, 4, 5], [0, 0, 0], [3, 7, 7]):  # rows behind the last group are zero
        ends.copy_(torch.tensor(values))
        graph.replay()
        expected = step()
        pairs = [(made, expected)] if isinstance(made, torch.Tensor) else zip(made, expected, strict=True)
        for found, other in pairs:
            torch.testing.assert_close(found.cpu().float(), other.cpu().float(), rtol=1e-3, atol=1e-5)
            assert other.any().item() == (max(values) > 0)


@pytest.mark.parametrize("quant_mode", [-1, 1])
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_routes_in_a_recording(quant_mode: int, kind: int) -> None:
    x, experts = _x(5, 8).npu(), torch.zeros(5, 2, dtype=torch.int32).npu()

    def step() -> Any:
        return npu.npu_moe_init_routing_v2(
            x, experts, expert_num=6, expert_tokens_num_type=kind, expert_tokens_num_flag=True, quant_mode=quant_mode,
            active_expert_range=[1, 4], active_num=8,
        )  # fmt: skip

    step()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        made = step()
    experts.copy_(torch.tensor([[0, 3], [5, 1], [1, 2], [4, 0], [3, 5]], dtype=torch.int32))
    graph.replay()
    for found, expected in zip(made, step(), strict=True):
        assert torch.equal(found, expected)
    assert made[2].any()


def test_tokens_of_ranks_are_brought_to_experts_in_a_recording() -> None:
    tokens, scales = _x(6, 8), torch.arange(6.0)
    counts, given, named = torch.tensor([[1, 2, 0], [1, 1, 1]]).npu(), tokens.npu(), {"per_token_scales": scales.npu()}
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        made = npu.npu_moe_re_routing(given, counts, **named)
    for there, order in (
        ([[1, 2, 0], [1, 1, 1]], [0, 3, 1, 2, 4, 5]),
        ([[0, 0, 3], [2, 0, 1]], [3, 4, 0, 1, 2, 5]),
        ([[0, 0, 0], [0, 6, 0]], [0, 1, 2, 3, 4, 5]),
    ):
        counts.copy_(torch.tensor(there))
        graph.replay()
        assert made[2].tolist() == order
        assert torch.equal(made[0].cpu(), tokens[order]) and torch.equal(made[1].cpu(), scales[order])
        assert made[3].tolist() == torch.tensor(there).sum(0).tolist()


def test_states_in_a_recording() -> None:
    q, k, v = _x(5, 2, 8).npu(), (_x(5, 2, 8, seed=1) * 0.3).npu(), _x(5, 4, 6, seed=2).npu()
    beta, state = torch.sigmoid(_x(5, 4, seed=3)).npu(), _x(7, 4, 6, 8, seed=4).npu()
    named = {"actual_seq_lengths": [5], "ssm_state_indices": [0, 1, 2, 3, 4], "num_accepted_tokens": [1]}
    numbers = {name: torch.tensor(each, dtype=torch.int32).npu() for name, each in named.items()}
    numbers["actual_seq_lengths"] = torch.tensor([5, 0], dtype=torch.int32).npu()
    numbers["num_accepted_tokens"] = torch.tensor([1, 1], dtype=torch.int32).npu()

    def step(into: torch.Tensor) -> torch.Tensor:
        return npu.npu_recurrent_gated_delta_rule(q, k, v, into, beta=beta, scale=0.3, **numbers)

    into = state.clone()
    step(into)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        made = step(into)
    for name, each in (
        ("actual_seq_lengths", [2, 3]),
        ("num_accepted_tokens", [2, 1]),
        ("ssm_state_indices", [6, 3, 0, 5, 1]),
    ):
        numbers[name].copy_(torch.tensor(each, dtype=torch.int32))
    into.copy_(state)
    graph.replay()
    other = state.clone()
    assert torch.equal(step(other), made) and torch.equal(other, into) and not torch.equal(other, state)
