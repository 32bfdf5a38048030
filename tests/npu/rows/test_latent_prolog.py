"""The way of 8-bit tokens to latent attention beside a definition in NumPy in double precision."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu
_TOKENS, _WIDTH, _LOW, _HEADS, _INNER, _ROPE, _KEY = 3, 16, 12, 2, 6, 4, 32
_SLOTS = [5, 0, 2]


def _norm(y: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    return y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) * gamma


def _turn(y: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    halves = np.concatenate([y[..., ::2], y[..., 1::2]], -1)
    return halves * cos + np.concatenate([-halves[..., 2:], halves[..., :2]], -1) * sin


def _by_row(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = np.abs(y).max(-1, keepdims=True) / 127
    return np.rint(y / scale), scale


class _Case:
    """Arguments of a call, and what it is to give."""

    def __init__(self, weights: int, caches: int) -> None:
        rng = np.random.default_rng(3)
        self.weights, self.caches = weights, caches

        def matrix(eight_bits: bool, *sizes: int) -> np.ndarray:
            return rng.integers(-99, 100, sizes).astype(np.float64) if eight_bits else rng.normal(size=sizes)

        whole = weights == 2
        self.x, self.dq = matrix(whole, _TOKENS, _WIDTH), matrix(whole, _WIDTH, _LOW)
        self.dkv = matrix(whole, _WIDTH, _KEY + _ROPE)
        self.uq = matrix(weights > 0, _LOW, _HEADS * (_INNER + _ROPE))
        self.uk = rng.normal(size=(_HEADS, _INNER, _KEY))
        self.gammas = rng.uniform(0.5, 1.5, _LOW), rng.uniform(0.5, 1.5, _KEY)
        self.angle = rng.normal(size=(_TOKENS, _ROPE))
        sizes = {"x": (_TOKENS, 1), "dq": (1, _LOW), "uq_qr": (1, self.uq.shape[1]), "dkv_kr": (1, _KEY + _ROPE)}
        self.scales = {name: rng.uniform(0.5, 1.5, each).astype(np.float32) for name, each in sizes.items()}
        self.smooth = rng.uniform(0.5, 1.5, (1, _LOW)).astype(np.float32)
        columns = 1 if caches == 1 else _KEY
        self.ckv, self.ckr = (rng.uniform(20, 40, (1, n)).astype(np.float32) for n in (columns, _ROPE))

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        def made(x: np.ndarray, eight_bits: bool) -> torch.Tensor:
            return torch.tensor(x, dtype=torch.int8 if eight_bits else torch.float32)

        whole = self.weights == 2
        given = [made(self.x, whole), made(self.dq, whole), made(self.uq, self.weights > 0), made(self.uk, False)]
        given += [made(self.dkv, whole), *(made(each, False) for each in self.gammas)]
        given += [made(np.sin(self.angle), False), made(np.cos(self.angle), False)]
        names = ["uq_qr"] if self.weights == 1 else ["x", "dq", "uq_qr", "dkv_kr"]
        kwargs = {f"dequant_scale_{'' if n == 'x' else 'w_'}{n}": torch.tensor(self.scales[n]) for n in names}
        kwargs["smooth_scales_cq"] = torch.tensor(self.smooth)
        if self.caches:
            kwargs["quant_scale_ckv"] = torch.tensor(self.ckv)
        if self.caches == 2:
            kwargs["quant_scale_ckr"] = torch.tensor(self.ckr)
        return given, kwargs

    def pages(self) -> list[torch.Tensor]:
        types = torch.int8 if self.caches else torch.float32, torch.int8 if self.caches == 2 else torch.float32
        return [torch.zeros(2, 4, 1, n, dtype=t) for n, t in zip((_KEY, _ROPE), types, strict=True)]

    def _product(self, x: np.ndarray, weight: np.ndarray, name: str) -> np.ndarray:
        y = x @ weight
        return y * self.scales["x"] * self.scales[name] if self.weights == 2 else y

    def expected(self, factors: tuple[float, float] = (1.0, 1.0)) -> dict[str, np.ndarray]:
        cos, sin = np.cos(self.angle), np.sin(self.angle)
        low = _norm(self._product(self.x, self.dq, "dq"), self.gammas[0]) * factors[0] * self.smooth
        codes, scale = _by_row(low)
        both = (codes @ self.uq * scale * self.scales["uq_qr"]).reshape(_TOKENS, _HEADS, -1)
        query = np.einsum("tnd,ndh->tnh", both[..., :_INNER], self.uk)
        turned = _turn(both[..., _INNER:], cos[:, None], sin[:, None])
        made = {"low": codes, "low scale": scale}
        if self.caches == 1:
            query, made["scale"] = _by_row(query)
            turned = turned * self.ckv[0, 0] / made["scale"]
        low_kv = self._product(self.x, self.dkv, "dkv_kr")
        key, key_turned = _norm(low_kv[:, :_KEY], self.gammas[1]) * factors[1], _turn(low_kv[:, _KEY:], cos, sin)
        if self.caches:
            key = np.clip(np.rint(key * self.ckv), -128, 127)
        if self.caches == 2:
            key_turned = np.clip(np.rint(key_turned * self.ckr), -128, 127)
        return {**made, "query": query, "turned": turned, "key": key, "key turned": key_turned}


def _close(found: torch.Tensor, expected: np.ndarray) -> None:
    """Alike to float32's rounding; a number of 8 bits may be the next one, where the sum lies between two."""
    whole = not found.dtype.is_floating_point
    assert tuple(found.shape) == expected.shape
    np.testing.assert_allclose(found.double().numpy(), expected, rtol=0 if whole else 1e-4, atol=1 if whole else 1e-3)
    assert not whole or (found.double().numpy() == expected).mean() > 0.98


@pytest.mark.parametrize(("weights", "caches"), [(1, 0), (1, 2), (2, 0), (2, 1)])
def test_eight_bits_on_the_way_to_latent_attention(weights: int, caches: int) -> None:
    case = _Case(weights, caches)
    (given, kwargs), pages, right = case.arguments(), case.pages(), case.expected()
    query, turned, kv, kr, scale = npu.npu_mla_prolog_v2(*given, torch.tensor(_SLOTS), *pages, **kwargs)
    assert query.dtype == (torch.int8 if caches == 1 else torch.float32) and kv is pages[0] and kr is pages[1]
    _close(query, right["query"])
    _close(turned, right["turned"])
    for cache, rows in ((kv, right["key"]), (kr, right["key turned"])):
        _close(cache.reshape(8, -1)[_SLOTS], rows)
        assert not cache.reshape(8, -1)[[1, 3, 4, 6, 7]].any()
    if caches == 1:
        _close(scale, right["scale"])
    else:
        assert scale.shape == (0,)


@pytest.mark.parametrize(("weights", "caches"), [(1, 2), (2, 1)])
def test_by_the_newer_names(weights: int, caches: int) -> None:
    case = _Case(weights, caches)
    (given, kwargs), pages, right = case.arguments(), case.pages(), case.expected((2.0, 0.5))
    kwargs.update(cache_index=torch.tensor(_SLOTS), query_norm_flag=True, qc_qr_scale=2.0, kc_scale=0.5)
    kwargs.update(weight_quant_mode=weights, kv_cache_quant_mode=caches, query_quant_mode=int(caches == 1))
    *made, kv, kr = npu.npu_mla_prolog_v3_functional(*given, *pages, **kwargs)
    assert not pages[0].any() and not pages[1].any()
    again = npu.npu_mla_prolog_v3(*given, *pages, **kwargs)
    assert pages[0].equal(kv) and pages[1].equal(kr)
    assert all(a.equal(b) for a, b in zip(made, again, strict=True))
    for found, name in zip(again, ("query", "turned", "scale", "low", "low scale"), strict=True):
        if name in right:
            _close(found, right[name])
    _close(kv.reshape(8, -1)[_SLOTS], right["key"])
    with pytest.raises(RuntimeError, match=f"weight_quant_mode must be {weights} with these dtypes, but it is 0"):
        npu.npu_mla_prolog_v3(*given, *pages, **{**kwargs, "weight_quant_mode": 0})


def test_scales_that_do_not_belong_are_refused() -> None:
    slots = torch.tensor(_SLOTS)
    given, kwargs = (case := _Case(2, 1)).arguments()
    for name in ("dequant_scale_x", "quant_scale_ckv"):
        with pytest.raises(RuntimeError, match=f"{name} is needed with these dtypes"):
            npu.npu_mla_prolog_v2(*given, slots, *case.pages(), **{k: v for k, v in kwargs.items() if k != name})
    with pytest.raises(RuntimeError, match="quant_scale_ckr is not taken with these dtypes"):
        npu.npu_mla_prolog_v2(*given, slots, *case.pages(), **kwargs, quant_scale_ckr=torch.ones(1, _ROPE))
    given[1] = given[1].float()
    with pytest.raises(RuntimeError, match="of 8 bits are token_x, weight_dq, .* or none; .* weight_dq torch.float32"):
        npu.npu_mla_prolog_v2(*given, slots, *case.pages(), **kwargs)
