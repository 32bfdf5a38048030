"""GradScaler on the CPU against PyTorch: scales, skipped steps, states, errors."""

import copy
import pickle

import pytest
from agreement import same, same_error

import mindtorch_v2 as torch

INF = float("inf")


def run(lib, name="SGD", **settings):
    """Ten steps, two of them with infinite gradients; scales and parameters after each."""
    p = lib.nn.Parameter(lib.ones(2))
    optimizer = getattr(lib.optim, name)([p], lr=0.1, **settings)
    scaler = lib.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    history = []
    for step in range(10):
        optimizer.zero_grad()
        loss = (p * p).sum() * (INF if step in (2, 6) else 1.0)
        scaler.scale(loss).backward()
        if step % 4 == 1:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        history.append([scaler.get_scale(), *p.tolist()])
    return history, scaler.state_dict()


@pytest.mark.parametrize("settings", [{"name": "SGD"}, {"name": "AdamW"}, {"name": "AdamW", "fused": True}])
def test_follows_pytorch(settings):
    same(lambda lib: run(lib, **settings), 1e-5)


def prepared(lib):
    p = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.SGD([p], lr=0.1)
    scaler = lib.amp.GradScaler("cpu")
    return p, optimizer, scaler


def _scaled(lib):
    p, optimizer, scaler = prepared(lib)
    scaler.scale((p * p).sum()).backward()
    return p, optimizer, scaler


def _twice(lib, first, second):
    _, optimizer, scaler = _scaled(lib)
    getattr(scaler, first)(optimizer)
    getattr(scaler, second)(optimizer)


def _no_gradients(lib):
    p, optimizer, scaler = _scaled(lib)
    p.grad = None
    scaler.step(optimizer)


def _half(lib):
    _, _, scaler = _scaled(lib)
    p = lib.nn.Parameter(lib.ones(2, dtype=lib.float16))
    p.grad = lib.ones(2, dtype=lib.float16)
    scaler.unscale_(lib.optim.SGD([p]))


def _closure(lib):
    _, optimizer, scaler = _scaled(lib)
    scaler.step(optimizer, closure=lambda: 1)


ERRORS = {
    "growth": lambda lib: lib.amp.GradScaler("cpu", growth_factor=1),
    "backoff": lambda lib: lib.amp.GradScaler("cpu", backoff_factor=1),
    "step first": lambda lib: prepared(lib)[2].step(prepared(lib)[1]),
    "update first": lambda lib: prepared(lib)[2].update(),
    "update without step": lambda lib: _scaled(lib)[2].update(),
    "unscale twice": lambda lib: _twice(lib, "unscale_", "unscale_"),
    "step twice": lambda lib: _twice(lib, "step", "step"),
    "unscale after step": lambda lib: _twice(lib, "step", "unscale_"),
    "no gradients": _no_gradients,
    "half": _half,
    "closure": _closure,
    "empty state": lambda lib: prepared(lib)[2].load_state_dict({}),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    same_error(ERRORS[case])


def test_disabled_passes_through():
    p, optimizer, _ = prepared(torch)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    loss = (p * p).sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.state_dict() == {}
    assert scaler.get_scale() == 1.0
    assert p.tolist() == pytest.approx([0.8, 0.8])


def test_without_cuda_it_is_disabled():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not torch.amp.GradScaler("cuda").is_enabled()


def test_states_and_copies():
    _, optimizer, scaler = _scaled(torch)
    scaler.step(optimizer)
    scaler.update()
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == scaler.state_dict()
    assert copy.deepcopy(scaler).get_scale() == scaler.get_scale()


def test_scale_of_containers():
    _, _, scaler = prepared(torch)
    scaled = scaler.scale([torch.ones(1), (torch.ones(1),)])
    assert scaled[0].item() == 65536.0
    assert isinstance(scaled[1], tuple)
    scaler.update(2.0) if scaler._scale is not None else None
    assert scaler.get_scale() == 2.0


def test_the_scale_grows_after_as_many_good_steps_as_asked_for():
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_factor=2.0, growth_interval=2)
    scales = []
    for factor in (1.0, 1.0, 1.0, float("inf"), 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale(parameter * factor).sum().backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [4, 8, 8, 4, 4, 8]
    assert parameter.item() == pytest.approx(0.5)  # five steps of 0.1: the one that overflowed was left out
