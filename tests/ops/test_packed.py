"""Products with weights of few bits: PyTorch's operators beside PyTorch, GGUF's blocks by their published layout."""

import numpy as np
import pytest
from agreement import same, same_error

import mindtorch_v2 as torch

_ROWS = [1, 2, 3, 4, 5, 17, 40]  # few, and so many that the weight is decoded for a library's product


def _numbers(torch, *shape):
    count = int(np.prod(shape))
    return ((torch.arange(count) * 37 % 101) / 25 - 2).reshape(shape)


def _int8(torch, *shape):
    return (torch.arange(int(np.prod(shape))) * 53 % 256 - 128).to(torch.int8).reshape(shape)


@pytest.mark.parametrize("rows", _ROWS)
def test_int8_weights(rows):
    same(
        lambda torch: torch._weight_int8pack_mm(
            _numbers(torch, rows, 96), _int8(torch, 21, 96), _numbers(torch, 21) / 100
        ),
        rtol=1e-5,
        atol=1e-5,
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_int8_weights_of_16_bit_numbers(dtype):
    def program(torch):
        kind = getattr(torch, dtype)
        x, scales = _numbers(torch, 3, 64).to(kind), (_numbers(torch, 8) / 100).to(kind)
        return torch._weight_int8pack_mm(x, _int8(torch, 8, 64), scales)

    same(program, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("rows", _ROWS)
@pytest.mark.parametrize("group", [32, 64, 128, 256])
def test_int4_weights(rows, group):
    def program(torch):
        whole = (torch.arange(16 * 256) * 11 % 16).to(torch.int32).reshape(16, 256)
        packed = torch._convert_weight_to_int4pack_for_cpu(whole, 1)
        assert packed.shape == (16, 128) and packed.dtype is torch.uint8
        scales = _numbers(torch, 256 // group, 16, 2) / 50
        return torch._weight_int4pack_mm_for_cpu(_numbers(torch, rows, 256), packed, group, scales)

    same(program, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    "program",
    [
        lambda torch: torch._weight_int8pack_mm(torch.ones(3, 64), torch.zeros(4, 64), torch.ones(4)),
        lambda torch: torch._weight_int8pack_mm(torch.ones(3, 64), _int8(torch, 4, 32), torch.ones(4)),
        lambda torch: torch._weight_int8pack_mm(torch.ones(3, 64), _int8(torch, 4, 64), torch.ones(5)),
        lambda torch: torch._weight_int8pack_mm(torch.ones(3, 64).double(), _int8(torch, 4, 64), torch.ones(4)),
        lambda torch: torch._convert_weight_to_int4pack_for_cpu(torch.zeros(16, 64), 1),
        lambda torch: torch._convert_weight_to_int4pack_for_cpu(torch.zeros(16).int(), 1),
        lambda torch: torch._convert_weight_to_int4pack_for_cpu(torch.zeros(15, 64).int(), 1),
        lambda torch: torch._weight_int4pack_mm_for_cpu(
            torch.ones(3, 64), torch.zeros(16, 32).to(torch.uint8), 16, torch.ones(4, 16, 2)
        ),
    ],
)
def test_what_is_refused(program):
    same_error(program)


# ---- GGUF's blocks, by the layouts that ggml publishes ----


def _halves(raw, at):
    return raw[..., at : at + 2].copy().view(np.float16).astype(np.float64)


def _q8_0(raw):
    return _halves(raw, 0) * raw[..., 2:].view(np.int8)


def _q4_0(raw):
    q = np.concatenate([raw[..., 2:] & 15, raw[..., 2:] >> 4], -1).astype(np.float64)
    return _halves(raw, 0) * (q - 8)


def _q4_k(raw):
    s = raw[..., 4:16].astype(np.int64)
    scale = np.concatenate([s[..., :4] & 63, (s[..., 8:] & 15) | (s[..., :4] >> 6) << 4], -1)
    least = np.concatenate([s[..., 4:8] & 63, (s[..., 8:] >> 4) | (s[..., 4:8] >> 6) << 4], -1)
    q = raw[..., 16:].reshape(*raw.shape[:-1], 4, 1, 32)
    q = np.concatenate([q & 15, q >> 4], -2).reshape(*raw.shape[:-1], 8, 32)
    d, dmin = _halves(raw, 0)[..., None], _halves(raw, 2)[..., None]
    return (d * scale[..., None] * q - dmin * least[..., None]).reshape(*raw.shape[:-1], 256)


def _q6_k(raw):
    values = np.zeros((*raw.shape[:-1], 256))
    scales = raw[..., 192:208].view(np.int8).astype(np.float64)
    for i in range(256):
        half, rest = divmod(i, 128)
        quarter, lane = divmod(rest, 32)
        low = raw[..., half * 64 + quarter % 2 * 32 + lane] >> (quarter // 2 * 4) & 15
        high = raw[..., 128 + half * 32 + lane] >> (2 * quarter) & 3
        values[..., i] = scales[..., i // 16] * ((low | high << 4).astype(np.float64) - 32)
    return _halves(raw, 208) * values


_FORMATS = {
    "Q8_0": (34, 32, (0,), _q8_0),
    "Q4_0": (18, 32, (0,), _q4_0),
    "Q4_K": (144, 256, (0, 2), _q4_k),
    "Q6_K": (210, 256, (208,), _q6_k),
}


def _blocks(name, rows, columns):
    size, elements, scales, decode = _FORMATS[name]
    rng = np.random.default_rng(1)
    raw = rng.integers(0, 256, (rows, columns // elements, size)).astype(np.uint8)
    for at in scales:
        raw[..., at : at + 2] = rng.random((*raw.shape[:2], 1)).astype(np.float16).view(np.uint8)
    return torch.from_numpy(raw.reshape(rows, -1)), decode(raw).reshape(rows, columns)


@pytest.mark.parametrize("name", _FORMATS)
def test_blocks_are_unpacked(name):
    packed, values = _blocks(name, 7, 768)
    found = torch.ops.mindtorch.packed_unpack(packed, name)
    assert found.dtype is torch.float32
    np.testing.assert_allclose(found.numpy(), values, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("columns", [512, 288, 1312])  # the last ones end within what is multiplied at a time
@pytest.mark.parametrize("rows", _ROWS)
@pytest.mark.parametrize("name", _FORMATS)
def test_blocks_are_multiplied(name, rows, columns):
    columns = max(columns // _FORMATS[name][1], 1) * _FORMATS[name][1]
    packed, values = _blocks(name, 19, columns)
    x = np.random.default_rng(2).standard_normal((rows, columns))
    found = torch.ops.mindtorch.packed_linear(torch.from_numpy(x).float(), packed, name)
    expected = x @ values.T
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    narrow = torch.ops.mindtorch.packed_linear(torch.from_numpy(x).bfloat16().reshape(1, rows, columns), packed, name)
    assert narrow.shape == (1, rows, 19) and narrow.dtype is torch.bfloat16
    np.testing.assert_allclose(narrow[0].float().numpy(), expected, atol=0.03 * np.abs(expected).max())


@pytest.mark.parametrize("x", [1.0, -1.0, 65504.0, 1e-7])
@pytest.mark.parametrize("name", _FORMATS)
def test_the_largest_sums(name, x):
    size, elements, scales, decode = _FORMATS[name]
    raw = np.full((2, 1024 // elements, size), 255, np.uint8)
    for at in scales:
        raw[..., at : at + 2] = np.array([1.0], np.float16).view(np.uint8)
    expected = decode(raw).reshape(2, -1).sum(-1) * x
    found = torch.ops.mindtorch.packed_linear(torch.full((1, 1024), x), torch.from_numpy(raw.reshape(2, -1)), name)
    np.testing.assert_allclose(found[0].double().numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", _FORMATS)
def test_no_number_gives_none(name, wrong):
    packed, _ = _blocks(name, 3, 1024)
    x = torch.ones(2, 1024)
    x[1, 700] = wrong
    found = torch.ops.mindtorch.packed_linear(x, packed, name)
    assert found[0].isfinite().all() and not found[1].isfinite().any()


def test_blocks_that_do_not_fit_are_refused():
    packed, _ = _blocks("Q8_0", 4, 64)
    linear = torch.ops.mindtorch.packed_linear
    with pytest.raises(ValueError, match="no format is called 'Q3_K'; there are Q8_0, Q4_0, Q4_K and Q6_K"):
        linear(torch.ones(1, 64), packed, "Q3_K")
    with pytest.raises(RuntimeError, match="rows of Q4_K are blocks of 144 bytes; these have 68 bytes"):
        linear(torch.ones(1, 64), packed, "Q4_K")
    with pytest.raises(RuntimeError, match="the weight has 64 columns, but the input's sizes are"):
        linear(torch.ones(1, 32), packed, "Q8_0")
    with pytest.raises(RuntimeError, match="packed weights are a matrix of uint8"):
        linear(torch.ones(1, 64), packed.float(), "Q8_0")
    with pytest.raises(RuntimeError, match="either 32-bit or 16-bit float"):
        linear(torch.ones(1, 64).double(), packed, "Q8_0")


def test_weights_without_columns():
    """Sums of nothing are written, in memory that held something else."""

    def int8(torch):
        kept = [torch.full((15,), 7.0) for _ in range(20)]
        del kept
        return torch._weight_int8pack_mm(torch.ones(3, 0), torch.zeros(5, 0, dtype=torch.int8), torch.ones(5))

    def int4(torch):
        kept = [torch.full((48,), 7.0) for _ in range(20)]
        del kept
        scales = torch.ones(0, 16, 2)
        return torch._weight_int4pack_mm_for_cpu(torch.ones(3, 0), torch.zeros(16, 0, dtype=torch.uint8), 32, scales)

    same(int8)
    same(int4)
    for name in _FORMATS:
        kept = [torch.full((15,), 7.0) for _ in range(20)]
        del kept
        found = torch.ops.mindtorch.packed_linear(torch.ones(3, 0), torch.zeros(5, 0, dtype=torch.uint8), name)
        assert found.tolist() == [[0.0] * 5] * 3
