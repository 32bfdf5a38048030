"""Numbers are read from tensors under autocast: `bool(mask.all())` of a model's masking code."""

import mindtorch_v2 as torch


def test_a_number_is_read_inside_autocast():
    mask = torch.ones(2, 3, dtype=torch.bool)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert bool(mask.all())
        assert torch.tensor(2.5).item() == 2.5
        assert torch.ops.aten._local_scalar_dense(torch.tensor([7])) == 7
