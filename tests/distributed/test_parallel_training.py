"""A small GPT on four processes, by every kind of parallelism: PyTorch's losses of one process, over twenty steps."""

import pytest
import ranks

KINDS = {
    "copies": [
        "ddp",
        "fsdp",
        "fsdp clipped",
        "fsdp checkpoint",
        "fsdp offload",
        "fsdp accumulated",
        "fsdp kept",
        "fsdp near",
        "hsdp",
    ],
    "tensors": ["tp", "sp", "sp clipped", "tp loss", "fsdp tp", "fsdp sp", "fsdp tp clipped"],
    "pipelines": ["gpipe", "1f1b", "interleaved", "looped", "fsdp pp", "tp pp"],
    "pipelines without bubbles": ["zero bubble", "zbv", "dual"],
}


@pytest.mark.parametrize("kinds", KINDS)
def test_losses_are_those_of_one_process(expected, kinds):
    (alone,) = expected("parallel", "parallel.py|1|single|single clipped")
    for rank in ranks.results("parallel.py", 4, *KINDS[kinds]):
        assert list(rank) == KINDS[kinds]
        for kind, losses in rank.items():
            wanted = alone["single clipped" if "clipped" in kind else "single"]
            assert losses == pytest.approx(wanted, rel=1e-5), kind


def test_mixed_precision_is_pytorchs(expected):
    """bfloat16 rounds losses to a step of 2**-7 of their size: two of these are allowed."""
    theirs = expected("parallel", "parallel.py|4|fsdp mixed")
    for ours, wanted in zip(ranks.results("parallel.py", 4, "fsdp mixed"), theirs, strict=True):
        assert ours["fsdp mixed"] == pytest.approx(wanted["fsdp mixed"], rel=2**-6)
