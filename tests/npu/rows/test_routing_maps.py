"""Tokens by maps of experts against loops over tokens, and their gradients against difference quotients."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu
TOKENS, EXPERTS, WIDTH, EACH = 5, 4, 3, 2


@pytest.fixture
def routed() -> dict[str, Any]:
    numbers = np.random.default_rng(2)
    chosen = np.zeros((TOKENS, EXPERTS), dtype=bool)
    for row in chosen:
        row[numbers.permutation(EXPERTS)[:EACH]] = True
    return {"x": numbers.normal(size=(TOKENS, WIDTH)), "map": chosen, "p": numbers.random((TOKENS, EXPERTS))}


def there_and_back(routed: dict[str, Any], pad: bool) -> tuple[Any, ...]:
    x, chosen, p = routed["x"], routed["map"], routed["p"]
    capacity = 2
    if pad:  # those who are sent to an expert first, then the others
        tokens = [sorted(range(TOKENS), key=lambda t, e=e: not chosen[t, e])[:capacity] for e in range(EXPERTS)]
        pairs = [(t, e) for e in range(EXPERTS) for t in tokens[e]]
    else:
        pairs = [(t, e) for e in range(EXPERTS) for t in range(TOKENS) if chosen[t, e]]
    return pairs, np.stack([x[t] for t, _ in pairs]), np.array([p[t, e] for t, e in pairs])


@pytest.mark.parametrize("pad", [False, True])
def test_there_and_back(routed: dict[str, Any], pad: bool) -> None:
    pairs, rows, weights = there_and_back(routed, pad)
    x, chosen, p = torch.tensor(routed["x"]), torch.tensor(routed["map"]), torch.tensor(routed["p"])
    permuted, held, index = npu.npu_moe_token_permute_with_routing_map(
        x, chosen, probs=p, num_out_tokens=len(pairs), drop_and_pad=pad
    )
    assert permuted.numpy().tolist() == rows.tolist() and held.numpy().tolist() == weights.tolist()
    assert index.dtype == torch.int32
    if pad:
        assert index.tolist() == [t for t, _ in pairs]
    else:
        assert index.tolist() == sorted(range(len(pairs)), key=lambda i: pairs[i][0])
    for given in (p, None):
        out = npu.npu_moe_token_unpermute_with_routing_map(
            permuted, index, [TOKENS, WIDTH], probs=given, routing_map=chosen, drop_and_pad=pad
        )
        expected = np.zeros((TOKENS, WIDTH))
        for row, weight, (t, _) in zip(rows, weights, pairs, strict=True):
            expected[t] += row * (weight if given is not None else 1)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("pad", [False, True])
def test_gradients(routed: dict[str, Any], pad: bool) -> None:
    pairs, rows, _ = there_and_back(routed, pad)
    chosen = torch.tensor(routed["map"])
    x, p = torch.tensor(routed["x"], requires_grad=True), torch.tensor(routed["p"], requires_grad=True)

    def there(x: torch.Tensor, p: torch.Tensor) -> Any:
        options = {"probs": p, "num_out_tokens": len(pairs), "drop_and_pad": pad}
        return npu.npu_moe_token_permute_with_routing_map(x, chosen, **options)[:2]

    assert torch.autograd.gradcheck(there, (x, p))
    index = npu.npu_moe_token_permute_with_routing_map(x, chosen, num_out_tokens=len(pairs), drop_and_pad=pad)[2]

    def back(rows: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return npu.npu_moe_token_unpermute_with_routing_map(
            rows, index, [TOKENS, WIDTH], probs=p, routing_map=chosen, drop_and_pad=pad
        )

    assert torch.autograd.gradcheck(back, (torch.tensor(rows, requires_grad=True), p))
    g, of_p = torch.randn(len(pairs), WIDTH, dtype=torch.float64), torch.randn(len(pairs), dtype=torch.float64)
    expected = torch.autograd.grad(there(x, p), (x, p), (g, of_p))
    given = npu.npu_moe_token_permute_with_routing_map_grad(g, of_p, index, chosen, EXPERTS, TOKENS, pad)
    for ours, theirs in zip(given, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_what_is_refused(routed: dict[str, Any]) -> None:
    x, chosen = torch.tensor(routed["x"]), torch.tensor(routed["map"])
    with pytest.raises(RuntimeError, match="num_out_tokens is 3, but the map sends 10"):
        npu.npu_moe_token_permute_with_routing_map(x, chosen, num_out_tokens=3)
    with pytest.raises(RuntimeError, match="a multiple of the 4 experts, but it is 6"):
        npu.npu_moe_token_permute_with_routing_map(x, chosen, num_out_tokens=6, drop_and_pad=True)
    with pytest.raises(RuntimeError, match="of 5 tokens, but its sizes are \\[4, 5\\]"):
        npu.npu_moe_token_permute_with_routing_map(x, chosen.T)
