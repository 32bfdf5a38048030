"""Sizes, offsets and steps at the ends of 64 bits: a result that holds together, or an exception; sums of them do not wrap.

Under the undefined-behaviour sanitizer a wrapped sum is a report; without it, a result whose memory is too small for it.
"""

import re

import pytest

import mindtorch_v2 as torch

F = torch.nn.functional
EXTREMES = {"2**62": 2**62, "most": 2**63 - 1, "least": -(2**63), "-2**62": -(2**62)}

PROGRAMS = [
    "x.as_strided((n, 4), (4, 1))", "x.as_strided((2,), (n,))", "x.as_strided((1,), (1,), n)",
    "x.as_strided((n,), (0,))", "x.as_strided((n, n), (0, 0))", "x.as_strided((2, 2), (n, n))",
    "x[:1].expand(n)", "x[:1].expand(n, n, 1)", "x.expand(n, 4)", "x.view(n, -1)", "x.view(n, n)", "x.reshape(2, n)",
    "x.unflatten(0, (n, -1))", "x.unfold(0, n, 1)", "x.unfold(0, 1, n)", "x.narrow(0, n, 1)", "x.narrow(0, 1, n)",
    "x[n:]", "x[:n]", "x[::abs(n) % (2**63)]", "x[1:n]", "x[n]", "x.select(0, n)", "x.roll(n)", "m.roll(n, 1)",
    "m.diagonal(n)", "x.diag_embed(n)", "x.diag_embed(0, n, 1)", "x.diag(n)", "m.tril(n)", "m.triu(n)", "m.rot90(n)",
    "m.tril(n).triu(n)", "torch.tril_indices(3, 3, n)", "torch.triu_indices(3, 3, n)",
    "x.repeat(n)", "x.repeat(n, n)", "x.repeat_interleave(n)", "x.tile(n, 4)", "x.flip(n)", "m.movedim(0, n)",
    "torch.slice_scatter(x, x[:1], 0, 0, 4, n)", "torch.slice_scatter(x, x[:1], 0, n, 4)",
    "torch.select_scatter(x, x[0], 0, n)", "torch.diagonal_scatter(m, x[:0], n)",
    "torch.as_strided_scatter(x, x[:1], (1,), (1,), n)", "torch.as_strided_scatter(x, x[:1], (n,), (n,), 0)",
    "torch.as_strided_scatter(x, x[:1], (1, 1), (n, n), 1)",
    "F.pad(x, (n, 0))", "F.pad(x, (n, n))", "F.pad(b, (n, 1), mode='reflect')", "F.pad(b, (1, n), mode='circular')",
    "F.pad(b, (n, n), mode='replicate')", "F.fold(c, (n, n), (2, 2))", "F.unfold(c[None], (2, 2), dilation=n)",
    "F.pixel_shuffle(c[None], n)", "F.channel_shuffle(c[None], n)", "torch.chunk(x, n)", "torch.split(x, n)",
    "torch.tensor_split(x, n)", "torch.arange(0, n, n // 3 or 1)", "torch.arange(n, n)", "torch.arange(n - (n > 0), n)",
    "torch.linspace(0, 1, n)", "torch.eye(n, 0)", "torch.eye(0, n)", "torch.empty(n)", "torch.empty(n, n, 0)",
    "torch.empty_strided((2, 3), (n, n))", "torch.empty_strided((n,), (n,))", "torch.zeros(n, 2)", "torch.full((n,), 1)",
    "torch.empty(0).resize_(n)", "torch.empty(0).resize_(2, n)", "x.new_empty(n)", "torch.empty(n, device='meta')",
    "torch.empty(1, device='meta').expand(abs(n)).repeat(4)", "torch.cat([torch.empty(1, device='meta').expand(n)] * 3)",
    "torch.stack([torch.empty(1, device='meta').expand(n)] * 3)", "torch.cumsum(x, n)", "x.sum(n)", "x.unsqueeze(n)",
    "x.set_(x.untyped_storage(), n, (1,), (1,))", "x.set_(x.untyped_storage(), 1, (n,), (n,))", "x.transpose(n, 0)",
    "torch.combinations(x, n % 5 if n > 0 else n)", "torch.bincount(torch.zeros(1, dtype=torch.int64), minlength=n)",
    "F.one_hot(torch.zeros(1, dtype=torch.int64), n)", "torch.histc(x, n)", "torch.nn.functional.embedding(i * n, m)",
    "x.index_select(0, i * n)", "x.gather(0, i * n)", "x.scatter(0, i * n, 1.0)", "x.index_add(0, i * n, x[:1])",
    "x.take(i * n)", "x.put(i * n, x[:1])", "x[i * n]", "x.index_fill(0, i * n, 1)", "x.index_copy(0, i * n, x[:1])",
    "torch.topk(x, n)", "torch.kthvalue(x, n)", "torch.randperm(n)", "torch.randint(n, (2,))", "torch.randint(0, n, (2,))",
    "F.conv1d(b, b, padding=n)", "F.conv1d(b, b, stride=n)", "F.conv1d(b, b, dilation=n)", "F.max_pool1d(b, n)",
    "F.avg_pool1d(b, 2, n)", "F.max_pool1d(b, 2, 1, 1, n)", "F.avg_pool1d(b, 4, padding=n)", "F.interpolate(b, n)",
    "F.adaptive_avg_pool1d(b, n)", "F.adaptive_max_pool1d(b, n)", "F.lp_pool1d(b, 2, n)", "F.conv_transpose1d(b, b, n)",
    "F.conv_transpose1d(b, b, padding=n)", "F.conv_transpose1d(b, b, output_padding=n)", "torch.fft.fft(x, n)",
    "torch.fft.fftshift(x, n)", "torch.stft(x, 4, n, 4, x, return_complex=True)", "torch.hann_window(n)", "torch.vander(x, n)",
    "torch.bitwise_left_shift(i, n)", "i + n", "i * n", "-(i * n)", "(i * n).abs()", "(i * n) // -1", "(i * n) % -1",
    "(i * n).remainder(-1)", "torch.div(i * n, -1, rounding_mode='trunc')", "(i * n).pow(3)", "(i * n).sum() - n",
    "torch.gcd(i * n, i * n)", "torch.lcm(i * n, i * 3)", "(i * n).cumsum(0) * n", "(i * n).prod() * n", "x.renorm(2, n, 1)",
    "x.untyped_storage().resize_(n)", "x.untyped_storage()[n:]", "torch.UntypedStorage(n)", "torch.Size([n, n]).numel()",
    "torch.frombuffer(bytearray(16), dtype=torch.int8, count=n)", "torch.frombuffer(bytearray(16), dtype=torch.int8, offset=n)",
]  # fmt: skip


@pytest.mark.parametrize("n", EXTREMES.values(), ids=EXTREMES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_extreme_sizes(program, n):
    names = {"torch": torch, "F": F, "n": n, "x": torch.arange(4.0), "m": torch.ones(3, 3), "i": torch.ones(1).long()}
    names |= {"b": torch.ones(1, 1, 4), "c": torch.ones(4, 1, 1)}
    try:
        result = eval(program, names)
    except (RuntimeError, ValueError, IndexError, TypeError, OverflowError, MemoryError, NotImplementedError) as error:
        # It says in words what is wrong, and is not what the C++ library says when a vector or a string grows too large.
        assert re.match(r"\W*\w+\W+\w+", str(error)) and not re.search(r"std::|vector|basic_string|_M_", str(error))
        return
    for tensor in result if isinstance(result, (tuple, list)) else [result]:
        if not isinstance(tensor, torch.Tensor) or tensor.device.type == "meta" or not tensor.numel():
            continue
        last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
        assert all(size >= 0 for size in tensor.shape)
        assert (tensor.storage_offset() + last + 1) * tensor.element_size() <= tensor.untyped_storage().nbytes()
