"""PyTorch's own operator database: a sample of its calls, with what PyTorch answered (tools/record_operator_database.py).

Each operator's values, gradients, gradients of gradients and refusals are PyTorch's; its other forms are compared with these.
What is known to differ stands in tests/snapshots/operator_database_differences.json, with a reason; what no longer does
fails too.
"""

import functools
import gzip
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from operator_calls import Call, Made, first_order, second_order, upstream
from weighed import is_tensor, unlike

import mindtorch_v2 as torch
from mindtorch_v2.autograd import forward_ad

_SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
_FEW = 4  # How many calls of an operator are made in each of its forms.
_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, OverflowError, ArithmeticError)


@functools.cache
def _lines() -> dict[str, str]:
    text = gzip.decompress((_SNAPSHOTS / "operator_database.jsonl.gz").read_bytes()).decode()
    return {line[len('{"name":"') : line.index('"', len('{"name":"'))]: line for line in text.splitlines()}


@functools.cache
def _differences() -> dict[str, set[str]]:
    """Known differences: check of an operator -> calls."""
    stated = json.loads((_SNAPSHOTS / "operator_database_differences.json").read_text(encoding="utf-8"))
    found: dict[str, set[str]] = {}
    for each in stated:
        for place in each["calls"]:
            check, _, number = place.rpartition(" ")
            found.setdefault(check, set()).add(number)
    return found


def _calls(name: str) -> list[Call]:
    return json.loads(_lines()[name])["calls"]  # type: ignore[no-any-return]


def _of_primary(name: str) -> list[tuple[int, Call]]:
    """The first calls that have results, with their numbers."""
    return [(number, call) for number, call in enumerate(_calls(name)) if "o" in call][:_FEW]


def _judge(check: str, name: str, found: Iterator[tuple[int, str | None]]) -> None:
    """Assert that the calls that differ are the ones that are known to."""
    problems = {str(number): problem for number, problem in found if problem is not None}
    known = _differences().get(f"{check} {name}", set())
    new = {number: problem for number, problem in problems.items() if number not in known}
    assert not new, "\n".join(f"call {number}: {problem}" for number, problem in new.items())
    assert known <= set(problems), f"these no longer differ: {sorted(known - set(problems))}"


def _attempt(check: Any, *arguments: Any) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return check(*arguments)  # type: ignore[no-any-return]
    except Exception as error:  # noqa: BLE001  (whatever it is, it is a difference)
        return f"{type(error).__name__}: {error}"


def _unlike_all(ours: list[Any], theirs: list[Any]) -> str | None:
    if len(ours) != len(theirs):
        return f"{len(ours)} results for {len(theirs)}"
    found = [
        f"result {place}: {problem}"
        for place, pair in enumerate(zip(ours, theirs, strict=True))
        if (problem := unlike(*pair))
    ]
    return "; ".join(found) or None


def _unlike_gradients(ours: list[Any], theirs: list[Any]) -> str | None:
    """No gradient and zeros may stand for each other."""
    if not theirs or not ours:
        ours, theirs = ours or [None] * len(theirs), theirs or [None] * len(ours)
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if other is None:
            if one is not None and bool((one.abs() > 1e-9).any()):
                return f"leaf {place}: a gradient for none"
        elif one is None:
            if any(other[2]) or any(other[3]):
                return f"leaf {place}: no gradient for {other}"
        elif problem := unlike(one, other):
            return f"leaf {place}: {problem}"
    return None


def _values(call: Call) -> str | None:
    return _unlike_all(Made(torch, call).results, call["o"])


@pytest.mark.parametrize("name", _lines())
def test_values(name: str) -> None:
    _judge("values", name, ((n, _attempt(_values, call)) for n, call in enumerate(_calls(name)) if "o" in call))


def _gradients(call: Call) -> str | None:
    return _unlike_gradients(first_order(torch, Made(torch, call)), call["g"])


@pytest.mark.parametrize("name", _lines())
def test_gradients(name: str) -> None:
    _judge("gradients", name, ((n, _attempt(_gradients, call)) for n, call in enumerate(_calls(name)) if "g" in call))


def _second(call: Call) -> str | None:
    return _unlike_gradients(second_order(torch, Made(torch, call)), call["h"])


@pytest.mark.parametrize("name", _lines())
def test_gradients_of_gradients(name: str) -> None:
    _judge("second", name, ((n, _attempt(_second, call)) for n, call in enumerate(_calls(name)) if "h" in call))


def _alone(call: Call) -> str | None:
    """The gradient of each leaf where the others need none."""
    for place, theirs in enumerate(call["g"]):
        made = Made(torch, call, instead=lambda other, leaf, place=place: leaf.requires_grad_(other == place))
        results = made.differentiable()
        leaf = made.leaves[place]
        ours = (
            list(torch.autograd.grad(results, [leaf], upstream(torch, results), allow_unused=True))
            if results
            else [None]
        )
        if problem := _unlike_gradients(ours, [theirs]):
            return f"{place} alone: {problem}"
    return None


@pytest.mark.parametrize("name", _lines())
def test_gradients_of_one_input(name: str) -> None:
    calls = [(n, call) for n, call in _of_primary(name) if len(call.get("g", ())) > 1]
    _judge("alone", name, ((n, _attempt(_alone, call)) for n, call in calls))


def _forward(call: Call) -> str | None:
    """Compare what the forward formula says of a direction, weighed, with what the gradients say of it."""
    made = Made(torch, call)
    results = made.differentiable()
    grads = first_order(torch, made)
    directions = upstream(torch, made.leaves)
    expected = sum(
        (grad.conj() * way).sum().real.item() if way.is_complex() else (grad * way).sum().item()
        for grad, way in zip(grads, directions, strict=True)
        if grad is not None
    )
    size = sum(
        grad.abs().mul(way.abs()).sum().item() for grad, way in zip(grads, directions, strict=True) if grad is not None
    )
    places = [place for place, item in enumerate(made.results) if is_tensor(item) and item.requires_grad]
    weighed = upstream(torch, results)
    with forward_ad.dual_level():
        moved = Made(
            torch, call, instead=lambda place, leaf: forward_ad.make_dual(leaf.detach(), directions[place])
        ).results
        tangents = [forward_ad.unpack_dual(moved[place]).tangent for place in places]
        found = sum(
            (weight.conj() * tangent).sum().real.item()
            for weight, tangent in zip(weighed, tangents, strict=True)
            if tangent is not None
        )
    exact = all(item.dtype in (torch.float64, torch.complex128) for item in (*made.leaves, *results))
    if found != pytest.approx(expected, rel=1e-7, abs=(1e-8 if exact else 2e-3) * (1 + size), nan_ok=True):
        return f"{found} along the direction for {expected}"
    return None


@pytest.mark.parametrize("name", _lines())
def test_forward_mode(name: str) -> None:
    calls = [(n, call) for n, call in _of_primary(name) if any(call.get("g", ()))]
    _judge("forward", name, ((n, _attempt(_forward, call)) for n, call in calls))


def _plain(call: Call) -> Call:
    return json.loads(json.dumps(call).replace(', "g": 1}', "}"))  # type: ignore[no-any-return]


def _forms(call: Call) -> str | None:
    """The method, the form that writes to its first argument and `out=`."""
    plain = _plain(call)
    if "m" in call and (problem := _unlike_all(Made(torch, plain, path=f".{call['m']}").results, call["o"])):
        return f"method: {problem}"
    if "i" in call and (problem := _in_place(plain, *call["i"])):
        return f"in place: {problem}"
    if "w" in call:
        before = Made(torch, plain).results
        places = [torch.empty(0, dtype=item.dtype) for item in before]
        made = Made(torch, plain, more={"out": places[0] if len(places) == 1 else tuple(places)})
        if any(one is not other for one, other in zip(made.results, places, strict=True)):
            return "out=: what is returned is not what was given"
        if problem := _unlike_all(places, call["o"]):
            return f"out=: {problem}"
    return None


def _in_place(plain: Call, name: str, theirs: Any) -> str | None:
    try:
        made = Made(torch, plain, path=f".{name}")
    except _REFUSALS as error:
        return None if type(error).__name__ == theirs else f"{type(error).__name__}: {error}, for {theirs}"
    if isinstance(theirs, str):
        return f"no {theirs}"
    if made.results[0] is not made.args[0]:
        return "what is returned is not what was written"
    return unlike(made.args[0], theirs)


@pytest.mark.parametrize("name", _lines())
def test_forms(name: str) -> None:
    calls = [(n, call) for n, call in enumerate(_calls(name)) if {"m", "i", "w"} & set(call)]
    _judge("forms", name, ((n, _attempt(_forms, call)) for n, call in calls))


def _refusal(call: Call) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Made(torch, call)
    except Exception as error:  # noqa: BLE001  (its class is compared)
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return None if call["x"] in kinds else f"{type(error).__name__}: {error}, for {call['x']}"
    return f"no {call['x']}"


@pytest.mark.parametrize("name", [name for name, line in _lines().items() if '"x":"' in line])
def test_refusals(name: str) -> None:
    _judge("refusals", name, ((n, _refusal(call)) for n, call in enumerate(_calls(name)) if "x" in call))
