"""Random programs of views, writes and operators on arguments that may share memory: compiled, they do what they do eagerly."""

import logging
import re

import mutating_programs
import pytest
from mutating_programs import METADATA, PURE, VIEWS, WRITES

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.utils import counters

SEEDS = 150  # each with and without gradients
_MADE_BY = re.compile(r"which is output \d+ of \w+")  # a graph's results are made by the graph


@pytest.fixture(autouse=True)
def _quiet():
    torch.compiler.reset()
    logging.disable(logging.WARNING)  # of programs that are not lowered
    yield
    logging.disable(logging.NOTSET)
    torch.compiler.reset()


def _carried_out(program, inputs):
    """The instructions of a program that fit their tensors, in full: `(kind, name, tensor, other tensor or None, n)`."""
    tensors, found = list(inputs), []
    for kind, name, which, other, n in program:
        i, j = which % len(tensors), other % len(tensors)
        t = tensors[i]
        if not t.numel() or len(tensors) > 40 or name == "as_strided":
            continue
        fits = mutating_programs._fits(torch, t, tensors[j]) is not None
        if kind == "metadata" and i < len(inputs):
            continue
        step = (kind, name, i, j if fits else None, n)
        if kind == "view":
            try:
                made = VIEWS[name](t, n) if t.dim() else []
            except RuntimeError:
                continue
            tensors += made
        else:
            _step(torch, tensors, step)
        found.append(step)
    return found


def _step(torch, tensors, step):
    kind, name, i, j, n = step
    t = tensors[i]
    if kind == "view":
        if t.dim():
            tensors += VIEWS[name](t, n)
    elif kind == "metadata":
        METADATA[name](t, n)
    elif kind == "write":
        WRITES[name](t, torch.full((), 0.75, dtype=t.dtype) if j is None else tensors[j].clone(), n)
    else:
        tensors += PURE[name](torch, t, t if j is None else tensors[j], n)


def _function(steps, breaks=False):
    def function(*args):
        tensors = list(args)
        for number, step in enumerate(steps):
            _step(torch, tensors, step)
            if breaks and number % 3 == 2:
                tensors[number % len(tensors)].sum().item()
        return tensors

    return function


def _assert_same(found, expected):
    if expected[0] == "error" and "that returns multiple views" in expected[2]:
        return  # what a compiled function gives back is a view like any other
    assert found[0] == expected[0], (found, expected)
    if expected[0] == "error":
        assert found[1] == expected[1]
        assert _MADE_BY.sub("", found[2]) == _MADE_BY.sub("", expected[2])
        return
    for mine, theirs in zip((*found[1], *found[2]), (*expected[1], *expected[2]), strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.shape == theirs.shape
            assert torch.allclose(mine, theirs, rtol=1e-9, atol=1e-9, equal_nan=True)


def _steps(seed):
    program, aliasing = mutating_programs.seeded(seed)
    try:
        steps = _carried_out(
            program, mutating_programs.arguments([x.detach() for x in mutating_programs.leaves(torch)], aliasing)
        )
    except RuntimeError:
        return None, aliasing  # an error of the program: others compare those
    return steps, aliasing


@pytest.mark.parametrize("with_gradients", [False, True])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_compiled_is_eager(seed, with_gradients):
    steps, aliasing = _steps(seed)
    if steps is None:
        return
    function = _function(steps)
    expected = mutating_programs.outcome(torch, function, aliasing, with_gradients)
    for backend in ("eager", "aot_eager"):
        compiled = torch.compile(function, backend=backend)
        for _ in range(2):  # captured, and used again
            _assert_same(mutating_programs.outcome(torch, compiled, aliasing, with_gradients), expected)


@pytest.mark.parametrize("with_gradients", [False, True])
@pytest.mark.parametrize("seed", range(0, SEEDS, 3))
def test_a_program_in_parts_is_eager(seed, with_gradients):
    steps, aliasing = _steps(seed)
    if steps is None:
        return
    function = _function(steps, breaks=True)
    expected = mutating_programs.outcome(torch, function, aliasing, with_gradients)
    for backend in ("eager", "aot_eager"):
        compiled = torch.compile(function, backend=backend)
        for _ in range(2):
            _assert_same(mutating_programs.outcome(torch, compiled, aliasing, with_gradients), expected)


def test_most_programs_are_captured():
    for seed in range(0, SEEDS, 5):
        steps, aliasing = _steps(seed)
        if steps is not None and aliasing == "none":
            mutating_programs.outcome(torch, torch.compile(_function(steps), backend="eager"), aliasing, False)
    frames = counters["frames"]
    assert frames["ok"] >= 0.7 * frames["total"] > 0, counters["graph_break"]
