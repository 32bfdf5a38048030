"""Calls of PyTorch's operator database, as a mode below autograd sees them: the same operators and arguments as with PyTorch."""

from __future__ import annotations

import collections
import functools
import gzip
import json
from typing import Any

import recorded_calls

import mindtorch_v2 as torch

# Entries that are composed otherwise here, or of which the arguments differ.
OTHERWISE = """
H __rsub__ block_diag cartesian_prod cdist chunk combinations corrcoef cov cumulative_trapezoid diagflat diff double
einsum fft.hfft fft.hfft2 fft.hfftn fft.ifft fft.ihfft fft.ihfft2 fft.ihfftn gradient inner isclose isfinite isreal
kron linalg.cond linalg.eigvalsh linalg.matrix_norm linalg.matrix_power linalg.matrix_rank
linalg.matrix_rank.hermitian linalg.norm linalg.norm.subgradients_at_zero linalg.pinv linalg.pinv.hermitian
linalg.svdvals linalg.tensorinv linalg.vander linalg.vecdot logdet lu masked.amax masked.amin masked.argmax
masked.argmin masked.cumprod masked.cumsum masked.log_softmax masked.logaddexp masked.logsumexp masked.mean
masked.median masked.norm masked.normalize masked.prod masked.softmax masked.softmin masked.std masked.sum masked.var
meshgrid.list_of_tensors meshgrid.variadic_tensors nanmean nanquantile nn.functional.adaptive_avg_pool1d
nn.functional.alpha_dropout nn.functional.batch_norm nn.functional.bilinear nn.functional.cosine_embedding_loss
nn.functional.cosine_similarity nn.functional.cross_entropy nn.functional.dropout nn.functional.dropout2d
nn.functional.embedding_bag nn.functional.gaussian_nll_loss nn.functional.hinge_embedding_loss
nn.functional.instance_norm nn.functional.kl_div nn.functional.linear_cross_entropy
nn.functional.multi_head_attention_forward nn.functional.multilabel_margin_loss nn.functional.one_hot
nn.functional.pad.circular nn.functional.pairwise_distance nn.functional.poisson_nll_loss nn.functional.rrelu
nn.functional.scaled_dot_product_attention nn.functional.triplet_margin_loss norm.fro norm.nuc pinverse quantile
repeat_interleave reshape special.ndtr std std_mean stft take_along_dim tensordot to trapezoid trapz unravel_index var
var_mean
""".split()


@functools.cache
def expected() -> dict[str, dict[int, Any]]:
    found: dict[str, dict[int, Any]] = collections.defaultdict(dict)
    with gzip.open(recorded_calls.SNAPSHOTS / "recorded_calls.jsonl.gz", "rt") as lines:
        for name, number, seen in map(json.loads, lines):
            found[name][number] = seen
    return found


@functools.cache
def ours() -> dict[str, dict[int, Any]]:
    found: dict[str, dict[int, Any]] = collections.defaultdict(dict)
    for name, number, seen in recorded_calls.recordings(torch):
        found[name][number] = json.loads(json.dumps(seen))
    return found


def differing() -> list[str]:
    return sorted(name for name, calls in expected().items() if calls != ours()[name])


def test_entries_are_composed_as_in_pytorch():
    assert differing() == OTHERWISE


def test_calls_are_many():
    assert sum(map(len, expected().values())) > 3000


def test_a_difference_would_be_seen():
    seen = expected()["add"][0]
    assert seen[0][0] == "add.Tensor"
    assert ours()["add"][0] == seen != [["sub.Tensor", *seen[0][1:]]]
