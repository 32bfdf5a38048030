"""Results of programs that write, as they are and functionalized, against what PyTorch 2.13 answered."""

import functools
import json
import math
from pathlib import Path

import functionalize_cases
import mutating_programs
import pytest
from functionalize_cases import CASES
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2.func import functionalize, grad, jvp, vmap

SNAPSHOTS = Path(__file__).parents[1] / "snapshots" / "functionalize"
RECORDED = json.loads((SNAPSHOTS / "cases.json").read_text())
RECORDED_PROGRAMS = json.loads((SNAPSHOTS / "random_programs.json").read_text())

WAYS = {
    "eager": lambda program: program,
    "mutations": functionalize,
    "mutations_and_views": functools.partial(functionalize, remove="mutations_and_views"),
    "twice": lambda program: functionalize(functionalize(program)),
}


def _described(value):
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        parts = [plain.real.tolist(), plain.imag.tolist()] if plain.is_complex() else plain.tolist()
        return {"shape": list(plain.shape), "dtype": str(plain.dtype), "data": parts}
    if isinstance(value, dict):
        return {key: _described(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_described(each) for each in value]
    return value


def _assert_same(found, expected, where=""):
    if isinstance(expected, dict):
        assert set(found) == set(expected), where
        for key, value in expected.items():
            _assert_same(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert isinstance(found, list), where
        assert len(found) == len(expected), where
        for place, value in enumerate(expected):
            _assert_same(found[place], value, f"{where}[{place}]")
    elif isinstance(expected, float):
        both_nan = found != found and expected != expected
        assert both_nan or math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), where
    else:
        assert found == expected, where


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized:UserWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_case(name, way):
    _assert_same(_described(functionalize_cases.outcome(name, WAYS[way])), RECORDED[name], name)


def test_every_case_is_recorded():
    assert set(RECORDED) == set(CASES)
    assert len(RECORDED_PROGRAMS) == mutating_programs.SEEDS


# ---- random programs ----


def _error_is(found, kind, text):
    """Of errors about versions PyTorch's text names types and numbers of its own."""
    assert found[0] == "error"
    assert found[1] == kind
    assert found[2].partition(":")[0].partition(" is a view")[0] == text.partition(":")[0].partition(" is a view")[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(mutating_programs.SEEDS))
def test_seeded_program(seed, way):
    """Programs that are the same everywhere, against PyTorch's numbers."""
    program, aliasing = mutating_programs.seeded(seed)
    function = WAYS[way](mutating_programs.body(torch, program))
    found = mutating_programs.outcome(torch, function, aliasing, grad=seed % 2 == 0)
    expected = RECORDED_PROGRAMS[str(seed)]
    if expected[0] == "error":
        _error_is(found, *expected[1:])
    else:
        _assert_same(mutating_programs.summary(found), expected, f"seed {seed}")


# What random programs have found, one each.
FOUND = {
    "a mask of no dimensions": (
        [("pure", "sum", 0, 0, 0), ("write", "setitem_mask", 3, 0, 0)],
        "none",
    ),
    "a view of several by a base written later": (
        [("view", "chunk", 0, 0, 0), ("write", "add", 0, 0, 0)],
        "none",
    ),
}


def _with_found(test):
    for program, aliasing in FOUND.values():
        for remove in ("mutations", "mutations_and_views"):
            for with_gradients in (False, True):
                test = example(program, aliasing, with_gradients, remove)(test)
    return test


@settings(max_examples=320, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    mutating_programs.PROGRAMS,
    mutating_programs.ALIASING,
    st.booleans(),
    st.sampled_from(["mutations", "mutations_and_views"]),
)
@_with_found
def test_random_programs(program, aliasing, with_gradients, remove):
    """Views, writes and other operators, on arguments that share memory: the same values, gradients and errors."""
    function = mutating_programs.body(torch, program)
    expected = mutating_programs.outcome(torch, function, aliasing, with_gradients)
    found = mutating_programs.outcome(torch, functionalize(function, remove=remove), aliasing, with_gradients)
    mutating_programs.assert_same(torch, found, expected)


@settings(max_examples=100, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(mutating_programs.PROGRAMS, mutating_programs.ALIASING, st.booleans())
def test_random_programs_live(request, program, aliasing, with_gradients):
    """The programs mean in PyTorch what they mean here."""
    if not request.config.getoption("--live"):
        pytest.skip("compares with an installed PyTorch: --live")
    import reference

    theirs = reference.pytorch()
    expected = mutating_programs.outcome(theirs, mutating_programs.body(theirs, program), aliasing, with_gradients)
    function = functionalize(mutating_programs.body(torch, program))
    found = mutating_programs.outcome(torch, function, aliasing, with_gradients)
    if expected[0] == "error":
        _error_is(found, *expected[1:])
    else:
        _assert_same(mutating_programs.summary(found), mutating_programs.summary(expected))


# ---- with the other transforms ----


def _written(x):
    y = x * 2
    rows = y[1:]
    rows.mul_(y[0].clone())
    turned = y.t()
    turned[0].cos_()
    return (y * x).sum()


def _plain(x):
    """The same without a write."""
    y = torch.cat([x[:1] * 2, x[1:] * 2 * (x[0] * 2)])
    y = torch.cat([y[:, :1].cos(), y[:, 1:]], 1)
    return (y * x).sum()


def _numbers(*shape):
    return (torch.arange(math.prod(shape), dtype=torch.float64) * 0.3).sin().reshape(shape)


@pytest.mark.parametrize(
    "transformed",
    {
        "grad of functionalize": lambda f: grad(functionalize(f)),
        "functionalize of grad": lambda f: functionalize(grad(f)),
        "vmap of functionalize": lambda f: vmap(functionalize(f)),
        "functionalize of vmap": lambda f: functionalize(vmap(f)),
        "vmap of grad of functionalize": lambda f: vmap(grad(functionalize(f))),
        "functionalize of vmap of grad": lambda f: functionalize(vmap(grad(f))),
        "grad through vmap of functionalize": lambda f: grad(lambda xs: vmap(functionalize(f))(xs).sum()),
        "jvp of functionalize": lambda f: lambda x: jvp(functionalize(f), (x,), (x.cos(),)),
        "functionalize of jvp": lambda f: functionalize(lambda x: jvp(f, (x,), (x.cos(),))),
        "second derivatives": lambda f: grad(lambda x: grad(functionalize(f))(x).square().sum()),
        "functionalized second derivatives": lambda f: functionalize(
            grad(lambda x: grad(functionalize(f))(x).square().sum())
        ),
    }.items(),
    ids=lambda item: item[0],
)
def test_transforms(transformed):
    name, transform = transformed
    x = _numbers(4, 3, 3) if "vmap" in name else _numbers(3, 3)
    found, expected = transform(_written)(x), transform(_plain)(x)
    for mine, theirs in zip(
        found if isinstance(found, tuple) else (found,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        assert torch.allclose(mine, theirs)
