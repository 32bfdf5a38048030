"""Blocks of tokens that are summed to one, beside the same in NumPy; their gradients are checked by the samples."""

import numpy as np
import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu


@pytest.mark.parametrize(("size", "stride"), [(4, 4), (4, 3), (3, 5)])
def test_each_block_of_a_sequence_is_summed_with_weights(size: int, stride: int) -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(30, 2, 5)), rng.normal(size=(size, 2))
    ends = [0, 2, 13, 30]
    made = npu.npu_nsa_compress(torch.tensor(x), torch.tensor(weight), size, stride, actual_seq_len=ends)
    right = [
        (x[at : at + size] * weight[..., None]).sum(0)
        for first, last in zip([0, *ends], ends, strict=False)
        for at in range(first, last - size + 1, stride)
    ]
    np.testing.assert_allclose(made.numpy(), np.stack(right), rtol=1e-12)


def test_sequences_without_a_whole_block_give_nothing() -> None:
    made = npu.npu_nsa_compress(torch.ones(5, 2, 3), torch.ones(4, 2), 4, 2, actual_seq_len=[2, 5])
    assert made.shape == (0, 2, 3)


def test_what_does_not_fit_is_refused() -> None:
    x, weight = torch.ones(5, 2, 3), torch.ones(4, 2)
    with pytest.raises(RuntimeError, match=r"ends of sequences, up to 5, but it is \[6\]"):
        npu.npu_nsa_compress(x, weight, 4, 2, actual_seq_len=[6])
    with pytest.raises(RuntimeError, match=r"weight \(3, heads\), but their sizes are \[5, 2, 3\] and \[4, 2\]"):
        npu.npu_nsa_compress(x, weight, 3, 2)
    with pytest.raises(RuntimeError, match="grad must have a row for each of the 1 blocks, but it has 2"):
        npu.npu_nsa_compress_grad(torch.ones(2, 2, 3), x, weight, 4, 2)
