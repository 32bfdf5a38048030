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
    with pytest.raises(AssertionError, match="Unknown backend type pigeons"):
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


@pytest.mark.parametrize(
    ("backend", "text"),
    [  # PyTorch 2.13's
        ("ucc", "Unknown c10d backend type UCC"),
        ("UCC", "Unknown c10d backend type UCC"),
        ("nonsense", "Unknown backend type nonsense"),
        ("cpu:nonsense", "Unknown c10d backend type NONSENSE"),
        ("cpu:gloo,cuda:ucc", "Unknown c10d backend type UCC"),
        ("gloo:cpu", "Unknown c10d backend type CPU"),
    ],
)
def test_back_ends_that_nobody_knows(backend, text):
    import mindtorch_v2.distributed as dist

    with pytest.raises(AssertionError, match=f"^{text}$"):
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises(AssertionError, match=f"^{text}$"):
            dist.new_group([0], backend=backend)
        assert dist.get_backend(dist.new_group([0], backend="")) == "gloo"  # that of the whole job
    finally:
        dist.destroy_process_group()
