"""`capture`: graphs of whole functions, and the guards under which they hold."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._capture import Uncapturable, capture

FLAG = 3


class Settings:
    rounds = 2


SETTINGS = Settings()


def scaled(x, k=2):
    return x * k


def program(x, y, *, s=1.0):
    z = torch.relu(x) + y
    if FLAG > 2:
        z = z * s
    for i in range(SETTINGS.rounds):
        z += scaled(z, k=i + 1)
    a, (b, c) = z.shape[0], z.split(1)[:2]
    d = {"a": z, "n": [a, b.sum()]}
    with torch.no_grad():
        d["q"] = c.detach() + 1
    return d


def same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, torch.Tensor):
        assert torch.equal(found, expected) and found.requires_grad == expected.requires_grad
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            same(found[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for f, e in zip(found, expected):
            same(f, e)
    else:
        assert found == expected


def test_a_function_with_containers_and_state(monkeypatch):
    args, kwargs = (torch.randn(2, 3, requires_grad=True), torch.ones(3)), {"s": 2.0}
    captured = capture(program, args, kwargs)
    same(captured.run(captured.graph, args, kwargs), program(*args, **kwargs))
    assert captured.guards.check(args, kwargs)
    assert not captured.guards.check(args, {"s": 2})
    monkeypatch.setattr(SETTINGS, "rounds", 3, raising=False)
    assert not captured.guards.check(args, kwargs)
    monkeypatch.undo()
    assert captured.guards.check(args, kwargs)
    monkeypatch.setattr(f"{__name__}.FLAG", 1)
    assert not captured.guards.check(args, kwargs)
    assert "FLAG" in captured.guards.failures(args, kwargs)[0]


def test_what_depends_on_values_is_refused_with_its_line():
    def branches(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(Uncapturable) as caught:
        capture(branches, (torch.ones(2),), {})
    assert caught.value.kind == "data_dependent"
    assert caught.value.location[0] == __file__
    assert caught.value.location[2].strip() == "if x.sum() > 0:"
