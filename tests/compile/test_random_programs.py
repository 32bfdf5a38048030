"""Random programs of views, writes and operators on arguments that may share memory: compiled, they do what they do eagerly."""

import logging

import mutating_programs
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.utils import counters
from mindtorch_v2._lowered import reuse as _reuse

SEEDS = 150  # each with and without gradients


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    monkeypatch.setattr(_reuse, "_LEAST", 0)  # small tensors, too, are written over once they are not needed
    torch.compiler.reset()
    logging.disable(logging.WARNING)  # of programs that are not lowered
    yield
    logging.disable(logging.NOTSET)
    torch.compiler.reset()


def _function(steps, breaks=False):
    def function(*args):
        tensors = list(args)
        for number, step in enumerate(steps):
            mutating_programs.step(torch, tensors, *step)
            if breaks and number % 3 == 2:
                tensors[number % len(tensors)].sum().item()
        return tensors

    return function


def _steps(seed):
    """The plan of the program for its arguments: a list of steps without tests of what fits."""
    program, aliasing = mutating_programs.seeded(seed)
    # Where `as_strided` begins is a number that the program would have to ask for.
    program = [each for each in program if each[1] != "as_strided"]
    tensors = mutating_programs.arguments([x.detach() for x in mutating_programs.leaves(torch)], aliasing)
    try:
        return list(mutating_programs.carried_out(torch, program, tensors)), aliasing
    except RuntimeError:
        return None, aliasing  # an error of the program: others compare those


@pytest.mark.parametrize("with_gradients", [False, True])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_compiled_is_eager(seed, with_gradients):
    steps, aliasing = _steps(seed)
    if steps is None:
        return
    function = _function(steps)
    expected = mutating_programs.outcome(torch, function, aliasing, with_gradients)
    for backend in ("eager", "aot_eager", "inductor"):
        compiled = torch.compile(function, backend=backend)
        for _ in range(2):  # captured, and used again
            found = mutating_programs.outcome(torch, compiled, aliasing, with_gradients)
            mutating_programs.assert_same(torch, found, expected, by_graph=True)


@pytest.mark.parametrize("with_gradients", [False, True])
@pytest.mark.parametrize("seed", range(0, SEEDS, 3))
def test_a_program_in_parts_is_eager(seed, with_gradients):
    steps, aliasing = _steps(seed)
    if steps is None:
        return
    function = _function(steps, breaks=True)
    expected = mutating_programs.outcome(torch, function, aliasing, with_gradients)
    for backend in ("eager", "aot_eager", "inductor"):
        compiled = torch.compile(function, backend=backend)
        for _ in range(2):
            found = mutating_programs.outcome(torch, compiled, aliasing, with_gradients)
            mutating_programs.assert_same(torch, found, expected, by_graph=True)


def test_most_programs_are_captured():
    for seed in range(0, SEEDS, 5):
        steps, aliasing = _steps(seed)
        if steps is not None and aliasing == "none":
            mutating_programs.outcome(torch, torch.compile(_function(steps), backend="eager"), aliasing, False)
    frames = counters["frames"]
    assert frames["ok"] >= 0.7 * frames["total"] > 0, counters["not_captured_whole"]


def test_programs_in_parts_have_graphs():
    programs = 0
    for seed in range(0, SEEDS, 10):
        steps, aliasing = _steps(seed)
        if steps is not None and aliasing == "none":
            programs += 1
            mutating_programs.outcome(
                torch, torch.compile(_function(steps, breaks=True), backend="eager"), aliasing, False
            )
    assert counters["stats"]["unique_graphs"] >= programs > 0
    assert sum(counters["graph_break"].values()) >= programs
