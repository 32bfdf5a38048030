"""Back ends that a program registers, and "fake", against PyTorch's."""

import pytest
import ranks


@pytest.mark.parametrize("key", ranks.RUNS["registered"])
def test_back_ends_of_programs_do_what_they_do_in_pytorch(key, expected):
    for theirs, ours in zip(expected("registered", key), ranks.results(*key.split("|")), strict=True):
        assert ours == theirs


def test_groups_that_no_program_registered_are_refused():
    import mindtorch_v2 as torch

    dist = torch.distributed
    with pytest.raises(AssertionError, match="Unknown c10d backend type PIGEONS"):
        dist.init_process_group("pigeons", store=dist.HashStore(), rank=0, world_size=1)
    assert not dist.is_initialized()
    with pytest.raises(RuntimeError, match="does not support allreduce"):
        dist.init_process_group("fake", rank=0, world_size=1)
        try:
            dist.all_reduce(
                torch.ones(1), group=type("Silent", (dist.ProcessGroup,), {"barrier": lambda *_: None})(0, 1)
            )
        finally:
            dist.destroy_process_group()
