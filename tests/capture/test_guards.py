"""The quick check of guards sees every kind of change, also those that specialised bytecode makes."""

import collections
import gc
import sys
import threading
import types
import weakref

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C, nn
from mindtorch_v2._capture import capture

SCALE = 1.0
QUICK = sys.version_info < (3, 12)  # dictionaries of later Pythons have no versions: all guards are evaluated


class Plain:
    k = 1


def captured(f, *args):
    made = capture(f, args, {})
    assert made.guards.check(args, {})
    assert made.guards._watching._watch.check() is QUICK
    return made.guards


def test_attributes_written_by_hot_code():
    mine = Plain()
    mine.k = 0
    x = (torch.ones(2),)
    guards = captured(lambda x: x * mine.k, *x)

    def write(value):
        mine.k = value

    for number in range(200):
        write(number + 1)
        assert not guards.check(x, {})
        write(0)
        assert guards.check(x, {})


def test_globals_written_by_hot_code():
    global SCALE
    SCALE = 1.0
    x = (torch.ones(2),)
    guards = captured(lambda x: x * SCALE, *x)
    for number in range(200):
        SCALE = number + 2.0
        assert not guards.check(x, {})
        SCALE = 1.0
        assert guards.check(x, {})


def test_cells_written_by_hot_code():
    k = 1
    x = (torch.ones(2),)
    guards = captured(lambda x: x * k, *x)
    for number in range(200):
        k = number + 2
        assert not guards.check(x, {})
        k = 1
        assert guards.check(x, {})


def changes():
    """(state, what reads it, how it is changed): each change must be seen."""

    def case(name, state, read, change):
        return pytest.param(state, read, change, id=name)

    def swap_dict(s):
        s.inner.__dict__ = {"k": 2}

    def set_class(s):
        s.inner.__class__ = type("Other", (), {"k": 7})

    return [
        case("list append", lambda: [1], lambda s: len(s), lambda s: s.append(1)),
        case("list item", lambda: [1, 2], lambda s: s[1], lambda s: s.__setitem__(1, 3)),
        case("list item of another class", lambda: [1], lambda s: s[0], lambda s: s.__setitem__(0, 1.0)),
        case("list item True", lambda: [1], lambda s: s[0], lambda s: s.__setitem__(0, True)),
        case("dict update", lambda: {"a": 1}, lambda s: s["a"], lambda s: s.update(a=2)),
        case("dict ior", lambda: {"a": 1}, lambda s: s["a"], lambda s: s.__ior__({"a": 2})),
        case("dict pop", lambda: {"a": 1, "b": 2}, lambda s: s.get("b", 5), lambda s: s.pop("b")),
        case("dict setdefault", lambda: {"a": 1}, lambda s: s.get("b", 5), lambda s: s.setdefault("b", 2)),
        case("dict clear", lambda: {"a": 1}, lambda s: len(s), lambda s: s.clear()),
        case("dict emptied", lambda: {"a": 1}, lambda s: 1 if s else 2, lambda s: s.popitem()),
        case(
            "order of an OrderedDict",
            lambda: collections.OrderedDict(a=1, b=2),
            lambda s: [*s][0] == "a",
            lambda s: s.move_to_end("a"),
        ),
        case("set", lambda: {1}, lambda s: 1 if 2 in s else 0, lambda s: s.add(2)),
        case(
            "__dict__ replaced",
            lambda: types.SimpleNamespace(inner=Plain()),
            lambda s: s.inner.k,
            swap_dict,
        ),
        case("__class__ replaced", lambda: types.SimpleNamespace(inner=Plain()), lambda s: s.inner.k, set_class),
        case(
            "nested",
            lambda: {"a": [{"b": (1, [2])}]},
            lambda s: s["a"][0]["b"][1][0],
            lambda s: s["a"][0]["b"][1].pop(),
        ),
        case("replaced", lambda: {"a": [1]}, lambda s: s["a"][0], lambda s: s.__setitem__("a", [2])),
        case("delattr", lambda: types.SimpleNamespace(k=1), lambda s: getattr(s, "k", 3), lambda s: delattr(s, "k")),
        case("shadowed method", Plain, lambda s: getattr(s, "k", 3), lambda s: setattr(s, "k", 9)),
    ]


@pytest.mark.parametrize(("make", "read", "change"), changes())
def test_a_change_is_seen(make, read, change):
    state = make()
    x = (torch.ones(2),)
    guards = captured(lambda x: x * read(state), *x)
    change(state)
    assert not guards.check(x, {})
    assert guards.failures(x, {})


def tensor_changes():
    def requires_grad(p):
        p.requires_grad_(False)

    def data(p):
        p.data = torch.ones(3, 5)

    def dtype(p):
        p.data = p.data.double()

    def strides(p):
        p.data = p.data.t().contiguous().t()

    return [requires_grad, data, dtype, strides]


@pytest.mark.parametrize("change", tensor_changes(), ids=lambda f: f.__name__)
def test_a_change_of_a_parameter_is_seen(change):
    p = nn.Parameter(torch.ones(3, 4))
    x = (torch.ones(4),)
    guards = captured(lambda x: p @ x, *x)
    with torch.no_grad():
        p.mul_(2)
    assert guards.check(x, {}) and guards._watching._watch.check() is QUICK
    change(p)
    assert not guards.check(x, {})


def changes_in_place():
    def becomes_a_parameter(b):
        b.__class__ = nn.Parameter

    def gets_a_history(b):
        b.add_(torch.ones(1, requires_grad=True))

    def reserved(b):
        b.set_(torch.ones(3, 3))

    return [
        becomes_a_parameter,
        gets_a_history,
        reserved,
        lambda b: b.transpose_(0, -1),
        lambda b: b.unsqueeze_(0),
        lambda b: b.resize_(1),
        lambda b: b.requires_grad_(),
    ]


@pytest.mark.parametrize("ndim", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("change", changes_in_place())
def test_each_of_many_tensors_is_looked_at(change, ndim):
    if ndim == 1 and "transpose_" in change.__code__.co_names:
        pytest.skip("nothing changes")
    shape = range(2, 2 + ndim)
    buffers = [torch.ones(*shape) for _ in range(3)]
    x = (torch.ones(2),)
    guards = captured(lambda x: x * sum(b.sum() for b in buffers), *x)
    change(buffers[1])
    assert not guards.check(x, {})


def test_arguments_by_keyword():
    x, y = torch.ones(2), torch.ones(3)
    guards = capture(lambda x, **others: x.sum() + others["a"].sum() * others["b"], (x,), {"a": y, "b": 2}).guards
    first = {"a": y, "b": 2}
    assert guards.check((x,), first) and guards.check((x,), {"a": torch.zeros(3), "b": 2})
    assert (guards.check is guards._watching._watch) is QUICK
    assert not guards.check((x,), {"b": 2, "a": y})
    assert not guards.check((x,), {"a": y, "c": 2})
    assert not guards.check((x,), {"a": y})
    assert not guards.check((x,), {"a": x, "b": 2})
    assert not guards.check((y,), first)
    assert not guards.check((y, x), first)
    same = torch.ones(3)
    twice = capture(lambda x, y: x + y, (same, y), {}).guards
    assert twice.check((same, y), {}) and not twice.check((same, same), {})


def test_settings_of_autocast_are_those_of_the_thread():
    x = (torch.ones(2),)
    guards = captured(lambda x: x * 2, *x)
    found = []

    def in_a_thread():
        found.append(guards.check(x, {}))
        torch.set_autocast_dtype("cpu", torch.float16)
        found.append(guards.check(x, {}))
        torch.set_autocast_dtype("cpu", torch.bfloat16)
        torch.set_autocast_cache_enabled(False)
        found.append(guards.check(x, {}))

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert found == [True, False, False] and guards.check(x, {})


def test_states_of_the_framework():
    x = (torch.ones(2),)
    guards = captured(lambda x: x * 2, *x)
    with torch.no_grad():
        assert not guards.check(x, {})
        assert "grad mode" in guards.failures(x, {})[0]
    with torch.inference_mode():
        assert not guards.check(x, {})
    with torch.autocast("cpu"):
        assert not guards.check(x, {})
    with torch.device("meta"):
        assert not guards.check(x, {})
    torch.set_default_dtype(torch.float64)
    assert not guards.check(x, {})
    torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(True)
    assert not guards.check(x, {})
    torch.use_deterministic_algorithms(False)
    torch.set_autocast_dtype("cpu", torch.float16)
    assert not guards.check(x, {})
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    assert guards.check(x, {})


def test_hooks_of_all_modules():
    net = nn.Linear(2, 2)
    x = (torch.ones(1, 2),)
    guards = captured(net, *x)
    handle = nn.modules.module.register_module_forward_hook(lambda module, args, out: None)
    assert not guards.check(x, {})
    handle.remove()
    assert guards.check(x, {})


def test_arguments_of_another_kind():
    x = torch.ones(2)
    guards = capture(lambda x, *rest, k=1: x * k, (x,), {}).guards
    assert guards.check((x,), {})
    for args, kwargs in (((), {}), ((x, 1), {}), ((x,), {"k": 1}), ((1,), {}), ((None,), {}), (([x],), {})):
        assert not guards.check(args, kwargs)
    assert not guards.check((nn.Parameter(x),), {})
    assert not guards.check((torch.ones(2, device="meta"),), {})


def test_a_model_is_freed():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    x = (torch.ones(1, 2),)
    made = capture(net, x, {})
    assert made.guards.check(x, {})
    net.compiled = made  # a cycle through the watch
    gone = weakref.ref(net)
    del net, made
    gc.collect()
    assert gone() is None


@pytest.mark.skipif(not QUICK, reason="natives that nothing arms")
def test_the_natives_refuse_what_they_cannot_use():
    with pytest.raises(TypeError):
        _C._TensorGuard(1, ())
    with pytest.raises(IndexError):
        _C._TensorGuard(torch.ones(2), (1,))
    with pytest.raises(TypeError):
        _C._TensorGuard(torch.ones(2), ())()
    watch = _C._Watch()
    assert not watch.check()
    with pytest.raises(TypeError):
        watch.apart(True)
    with pytest.raises(TypeError):
        watch((), {})

    def arm(dicts=(), instances=(), tensors=(), keywords=(), looks=(), apart=()):
        state = ([*dicts], [*instances], [], [], [], [], [])
        call = (0, keywords, [*looks], [*apart], False, None, None)
        return watch.arm(state, [], [*tensors], False, call)

    x = torch.ones(2)
    for wrong in ({"dicts": [1]}, {"tensors": [x]}, {"instances": [1]}, {"looks": [(0, 1)]}, {"keywords": ["k"]}):
        with pytest.raises(TypeError):
            arm(**wrong)
    for wrong in ({"apart": [0]}, {"looks": [(0, _C._TensorGuard(x, ()))]}):
        with pytest.raises(TypeError):
            arm(**wrong)
    with pytest.raises(ValueError):
        arm(apart=["k"])
    with pytest.raises(IndexError):
        arm(apart=[-1])
    assert not watch.check()
