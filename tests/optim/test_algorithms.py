"""Optimizers against PyTorch's single-tensor forms: parameters and state after several steps, errors, state dicts."""

import copy
import math
import pickle
import warnings

import pytest
from agreement import same, same_error
from recording import error

import mindtorch_v2

SETTINGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    (
        "SGD",
        {
            "lr": 0.1,
            "momentum": 0.9,
            "dampening": 0.3,
            "weight_decay": 0.01,
            "maximize": True,
        },
    ),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True}),
    (
        "Adam",
        {
            "lr": 0.01,
            "weight_decay": 0.1,
            "maximize": True,
            "decoupled_weight_decay": True,
        },
    ),
    ("Adam", {"lr": 0.01, "foreach": True}),
    ("AdamW", {"lr": 0.01}),
    (
        "AdamW",
        {
            "lr": 0.01,
            "betas": (0.8, 0.9),
            "eps": 1e-6,
            "amsgrad": True,
            "weight_decay": 0.3,
        },
    ),
    ("AdamW", {"lr": 0.01, "fused": True}),
    ("AdamW", {"lr": 0.01, "fused": False}),
    ("Adagrad", {"lr": 0.1}),
    (
        "Adagrad",
        {
            "lr": 0.1,
            "lr_decay": 0.1,
            "weight_decay": 0.1,
            "initial_accumulator_value": 0.2,
            "maximize": True,
        },
    ),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "centered": True, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    (
        "NAdam",
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 0.01},
    ),
    ("NAdam", {"weight_decay": 0.1, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"betas": (0.9, 0.5), "weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.05), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"t0": 2, "weight_decay": 0.1, "lambd": 0.01}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "d": 2.0, "eps": (1e-6, 1e-2)}),
]


_SHAPES = [(4, 3), (7,), (2, 3, 2)]


def parameters(lib, dtype="float32"):
    kind = getattr(lib, dtype)
    waves = [lib.arange(1, 1 + math.prod(shape), dtype=kind).mul(0.7).sin().reshape(shape) for shape in _SHAPES]
    return [lib.nn.Parameter(wave) for wave in waves]


def train(lib, name, settings, steps=6, dtype="float32"):
    params = parameters(lib, dtype)
    optimizer = getattr(lib.optim, name)(params, **settings)
    for step in range(steps):
        optimizer.zero_grad()
        loss = sum((p * p * p).sum() + ((step + 1) * p).sin().sum() for p in params)
        loss.backward()
        if step == 2:
            # A parameter without a gradient is left alone.
            params[1].grad = None
        optimizer.step()
    return params, optimizer


def as_lists(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: as_lists(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_lists(item) for item in value]
    return value


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps_follow_pytorch(name, settings, dtype):
    def program(lib):
        params, optimizer = train(lib, name, settings, dtype=dtype)
        return params, optimizer.state_dict()

    tolerance = 2e-5 if dtype == "float32" else 1e-11
    same(program, tolerance, tolerance)


@pytest.mark.parametrize("name", sorted({name for name, _ in SETTINGS}))
def test_continues_from_a_state_dict(name):
    params, optimizer = train(mindtorch_v2, name, {})
    saved = copy.deepcopy(optimizer.state_dict())
    again = [mindtorch_v2.nn.Parameter(p.detach().clone()) for p in params]
    resumed = getattr(mindtorch_v2.optim, name)(again)
    resumed.load_state_dict(saved)
    for group in (params, again):
        for p in group:
            p.grad = mindtorch_v2.ones_like(p)
    optimizer.step()
    resumed.step()
    assert [p.tolist() for p in params] == [p.tolist() for p in again]


@pytest.mark.parametrize("name", sorted({name for name, _ in SETTINGS}))
def test_repr_and_defaults(name):
    def program(lib):
        optimizer = getattr(lib.optim, name)(parameters(lib))
        return repr(optimizer), optimizer.defaults

    same(program)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_learning_rate_as_tensor(name):
    same(lambda lib: train(lib, name, {"lr": lib.tensor(0.05)})[0], 1e-5, 1e-5)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs(search):
    def program(lib):
        p = lib.nn.Parameter(lib.tensor([-1.2, 1.0, 0.3], dtype=lib.float64))
        optimizer = lib.optim.LBFGS([p], lr=0.1 if search is None else 1, max_iter=12, line_search_fn=search)

        def closure(p=p, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(3)]
        state = optimizer.state[p]
        return losses, p, state["func_evals"], state["n_iter"]

    same(program, 1e-7, 1e-7)


@pytest.mark.parametrize(("lr", "max_iter"), [(0.01, 1), (4, 1), (4, 3), (20, 3)])
def test_lbfgs_search_stops_at_max_eval(lr, max_iter):
    def program(lib):
        p = lib.nn.Parameter(lib.tensor([-1.5, 0.3, 2.0], dtype=lib.float64))
        optimizer = lib.optim.LBFGS([p], lr=lr, max_iter=max_iter, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = (lib.sin(3 * p) + p**2 / 10).sum()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(3)]
        return losses, p, optimizer.state[p]["func_evals"], optimizer.state[p]["n_iter"]

    same(program, 1e-7, 1e-7)


def test_muon():
    def program(lib):
        p = lib.nn.Parameter(lib.arange(12, dtype=lib.float32).reshape(4, 3) / 7)
        optimizer = lib.optim.Muon([p], lr=0.1, adjust_lr_fn="match_rms_adamw")
        for _ in range(2):
            optimizer.zero_grad()
            (p**3).sum().backward()
            optimizer.step()
        return p

    same(program, 2e-2, 2e-2)  # The iteration runs in bfloat16.


BAD = [
    ("SGD", {"lr": -1.0}),
    ("SGD", {"momentum": -1.0}),
    ("SGD", {"weight_decay": -1.0}),
    ("SGD", {"nesterov": True}),
    ("SGD", {"fused": True, "foreach": True}),
    ("SGD", {"fused": True, "differentiable": True}),
    ("Adam", {"lr": -1.0}),
    ("Adam", {"eps": -1.0}),
    ("Adam", {"betas": (1.0, 0.9)}),
    ("Adam", {"betas": (0.9, 1.0)}),
    ("Adam", {"weight_decay": -1.0}),
    ("Adam", {"fused": True, "foreach": True}),
    ("Adam", {"fused": True, "differentiable": True}),
    ("AdamW", {"lr": -1.0}),
    ("Adagrad", {"lr": -1.0}),
    ("Adagrad", {"lr_decay": -1.0}),
    ("Adagrad", {"eps": -1.0}),
    ("Adagrad", {"initial_accumulator_value": -1.0}),
    ("Adagrad", {"weight_decay": -1.0}),
    ("RMSprop", {"alpha": -1.0}),
    ("RMSprop", {"momentum": -1.0}),
    ("Adadelta", {"rho": 2.0}),
    ("Adadelta", {"eps": -1.0}),
    ("Adamax", {"betas": (0.9, 1.0)}),
    ("NAdam", {"momentum_decay": -1.0}),
    ("RAdam", {"betas": (1.9, 1.0)}),
    ("Rprop", {"etas": (1.5, 1.2)}),
    ("ASGD", {"weight_decay": -1.0}),
    ("LBFGS", {"lr": -1.0}),
    ("Adafactor", {"lr": -1.0}),
    ("Adafactor", {"beta2_decay": 1.0}),
    ("Adafactor", {"eps": (-1.0, 0.0)}),
    ("Adafactor", {"d": 0.5}),
]


@pytest.mark.parametrize(("name", "settings"), BAD)
def test_bad_settings(name, settings):
    same_error(lambda lib: getattr(lib.optim, name)(parameters(lib), **settings))


def _shared(lib):
    p = lib.nn.Parameter(lib.ones(2))
    return lib.optim.SGD([{"params": [p]}, {"params": [p]}])


def _grown(lib, first_named, second_named):
    p, q = lib.nn.Parameter(lib.ones(2)), lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.SGD([("p", p)] if first_named else [p])
    optimizer.add_param_group({"params": [("q", q)] if second_named else [q]})


def _load(lib, groups):
    optimizer = lib.optim.SGD([lib.nn.Parameter(lib.ones(2))])
    optimizer.load_state_dict({"state": {}, "param_groups": groups})


BAD_PARAMETERS = {
    "tensor": lambda lib: lib.optim.SGD(lib.ones(2)),
    "empty": lambda lib: lib.optim.SGD([]),
    "no tensor": lambda lib: lib.optim.SGD([3]),
    "set": lambda lib: lib.optim.SGD([{"params": {lib.nn.Parameter(lib.ones(2))}}]),
    "non-leaf": lambda lib: lib.optim.SGD([lib.nn.Parameter(lib.ones(2)) * 2]),
    "shared": _shared,
    "some named": lambda lib: lib.optim.SGD([("a", lib.ones(2)), lib.ones(2)]),
    "names missing": lambda lib: _grown(lib, True, False),
    "names added": lambda lib: _grown(lib, False, True),
    "group no dict": lambda lib: lib.optim.SGD([lib.ones(2)]).add_param_group([lib.ones(2)]),
    "groups differ": lambda lib: _load(lib, []),
    "sizes differ": lambda lib: _load(lib, [{"params": [0, 1]}]),
    "required": lambda lib: lib.optim.Optimizer([lib.ones(2)], {"lr": _required(lib)}),
    "fused int": lambda lib: _fused_int(lib),
}


def _required(lib):
    return __import__(f"{lib.__name__}.optim.optimizer", fromlist=["required"]).required


def _fused_int(lib):
    p = lib.zeros(2, dtype=lib.int64)
    p.grad = lib.zeros(2, dtype=lib.int64)
    lib.optim.AdamW([p], fused=True).step()


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters(case):
    kinds, text = error(BAD_PARAMETERS[case])
    with pytest.raises(Exception) as ours:  # its class is compared below
        BAD_PARAMETERS[case](mindtorch_v2)
    assert type(ours.value).__name__ == kinds[0]
    assert str(ours.value).replace("mindtorch_v2.", "torch.") == text.replace("privateuseone", "npu")


def test_duplicate_parameters_warn():
    p = mindtorch_v2.nn.Parameter(mindtorch_v2.ones(2))
    with pytest.warns(UserWarning, match="duplicate parameters"):
        mindtorch_v2.optim.SGD([p, p])


def test_hooks_run_in_order():
    lib = mindtorch_v2
    p = lib.nn.Parameter(lib.ones(2))
    p.grad = lib.ones(2)
    optimizer = lib.optim.SGD([p], lr=0.1)
    seen = []
    optimizer.register_step_pre_hook(lambda *a: seen.append("pre"))
    optimizer.register_step_post_hook(lambda *a: seen.append("post"))
    handle = lib.optim.optimizer.register_optimizer_step_pre_hook(lambda *a: seen.append("global"))
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert seen == ["global", "pre", "post", "pre", "post"]


def test_state_dict_hooks():
    lib = mindtorch_v2
    optimizer = lib.optim.SGD([lib.nn.Parameter(lib.ones(2))], lr=0.1)
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda opt, state: {k: v for k, v in state.items() if k != "extra"})
    seen = []
    optimizer.register_load_state_dict_post_hook(lambda opt: seen.append(opt))
    state = optimizer.state_dict()
    assert state["extra"] == 1
    optimizer.load_state_dict(state)
    assert seen == [optimizer]


def test_closure_runs_with_gradients():
    lib = mindtorch_v2
    p = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.Adam([p])

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with lib.no_grad():
        assert optimizer.step(closure).item() == 2.0


def test_zero_grad():
    lib = mindtorch_v2
    p = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.SGD([p])
    p.grad = lib.ones(2)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert p.grad is None


@pytest.mark.parametrize(
    "name",
    [
        "SGD",
        "Adam",
        "RMSprop",
        "Adagrad",
        "NAdam",
        "Adamax",
        "RAdam",
        "Adadelta",
        "ASGD",
    ],
)
def test_differentiable(name):
    def program(lib):
        start = lib.tensor([0.5, -1.0], dtype=lib.float64, requires_grad=True)
        p = start.clone()
        settings = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        optimizer = getattr(lib.optim, name)([p], differentiable=True, **settings)
        p.grad = start * start + 1
        optimizer.step()
        if name != "Adamax":
            # PyTorch's Adamax cannot be differentiated through two steps.
            p.grad = start**3
            optimizer.step()
        (p * p).sum().backward()
        return start.grad

    same(program, 1e-9)


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "Adagrad", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD"]
)
def test_complex_parameters(name):
    def program(lib):
        p = lib.nn.Parameter(lib.tensor([0.5 + 1j, -1.0 - 0.3j]))
        optimizer = getattr(lib.optim, name)([p])
        for _ in range(3):
            p.grad = p.detach() * 2 + 1
            optimizer.step()
        return p

    same(program, 1e-5)


def test_pickles():

    _, optimizer = train(mindtorch_v2, "AdamW", {})
    again = pickle.loads(pickle.dumps(optimizer))
    assert as_lists(again.state_dict()) == as_lists(optimizer.state_dict())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.step()


def test_dampening_without_foreach():
    p = mindtorch_v2.nn.Parameter(mindtorch_v2.tensor([1.0]))
    made = mindtorch_v2.optim.SGD([p], lr=0.1, momentum=0.5, dampening=0.25, foreach=False)
    for _ in range(2):
        p.grad = mindtorch_v2.tensor([2.0])
        made.step()
    # The first step moves by 0.1 * 2, the second by 0.1 * (0.5 * 2 + 0.75 * 2).
    assert abs(p.item() - 0.55) < 1e-6
