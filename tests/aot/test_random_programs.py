"""Random programs of views, writes and operators on arguments that may share memory: lowered, they do what they do eagerly."""

import mutating_programs
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._functorch.aot_autograd import Lowering
from mindtorch_v2._lowered import partition as partitioners
from mindtorch_v2.graph import verify

PARTITIONS = {
    "kept": partitioners.default_partition,
    "least": partitioners.min_cut_rematerialization_partition,
}
# What a lowering may say no to, each a property of the program. Then the program runs as it is.
REFUSALS = (
    "arguments that require grad share memory",
    "results share memory",
    "a result shares memory with an argument, and is no view of it",
    "run on fake tensors, it raises RuntimeError",
    "its backward raises RuntimeError",
    "an argument gets other sizes",
)


def _check(program, aliasing, with_gradients, partition):
    """Run a program both ways, twice: the second call finds the graphs of the first. Return why it was not lowered."""
    function = mutating_programs.body(torch, program)
    expected = mutating_programs.outcome(torch, function, aliasing, with_gradients)
    refusals = []
    lowering = Lowering(
        function,
        lambda module, inputs: verify(module, functional=True),
        partition_fn=PARTITIONS[partition],
        refused=refusals.append,
        keep_inference_input_mutations=True,
    )
    for _ in range(2):
        found = mutating_programs.outcome(torch, lambda *args: lowering(*args), aliasing, with_gradients)
        mutating_programs.assert_same(torch, found, expected, by_graph=True)
    for reason in refusals:
        assert reason.startswith(REFUSALS), reason
        if reason.startswith("run on fake tensors"):
            assert expected[0] == "error", reason
    return refusals


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("with_gradients", [False, True])
@pytest.mark.parametrize("seed", range(mutating_programs.SEEDS))
def test_seeded_programs(seed, with_gradients, partition):
    _check(*mutating_programs.seeded(seed), with_gradients, partition)


def test_most_programs_are_lowered():
    """The refusals are the exception, but for what autograd says of arguments that share memory and are written."""
    refused = []
    for seed in range(0, mutating_programs.SEEDS, 4):
        program, aliasing = mutating_programs.seeded(seed)
        if mutating_programs.outcome(torch, mutating_programs.body(torch, program), aliasing, True)[0] == "ok":
            refused += _check(program, aliasing, False, "kept")
            refused += _check(program, aliasing, True, "kept") if aliasing == "none" else []
    assert len(refused) <= 2, refused
