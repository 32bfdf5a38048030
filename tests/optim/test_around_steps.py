"""Parts around an optimizer's step: states of older versions, gradient scalers, counters on devices, the fused step, subclasses."""

import io
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from agreement import same

import mindtorch_v2
from mindtorch_v2.optim import optimizer as base

NAMES = [
    "SGD",
    "Adam",
    "AdamW",
    "Adagrad",
    "RMSprop",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "Rprop",
    "ASGD",
    "Adafactor",
    "Muon",
    "SparseAdam",
    "LBFGS",
]
STEPPED = [name for name in NAMES if name not in ("SparseAdam", "LBFGS")]
FUSED = ["SGD", "Adam", "AdamW", "Adagrad"]


def _param(torch: ModuleType, *shape: int, dtype: str = "float64") -> Any:
    count = 1
    for n in shape:
        count *= n
    return (
        torch.arange(1, count + 1, dtype=torch.float64)
        .mul(0.7)
        .sin()
        .reshape(shape)
        .to(getattr(torch, dtype))
        .requires_grad_()
    )


def _stepped(torch: ModuleType, name: str, steps: int = 2, **settings: Any) -> tuple[Any, Any]:
    param = _param(torch, 3, 2)
    optimizer = getattr(torch.optim, name)([param], **settings)
    for step in range(steps):
        param.grad = (param.detach() * (2 + step)).cos()
        optimizer.step()
    return param, optimizer


def _said(call: Callable[[], Any]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:  # noqa: BLE001  (what PyTorch raises is what is expected)
        return type(error).__name__, str(error)


@pytest.mark.parametrize("name", NAMES)
def test_groups_that_lack_settings(name: str) -> None:
    """Groups as a version saved them that did not have the settings yet."""

    def program(torch: ModuleType) -> Any:
        found = []
        for kept in ({"lr"}, {"lr", "betas", "momentum", "weight_decay", "eps"}):
            _, optimizer = (
                _stepped(torch, name) if name in STEPPED else (None, getattr(torch.optim, name)([_param(torch, 2)]))
            )
            groups = [
                {key: value for key, value in group.items() if key in kept | {"params"}}
                for group in optimizer.param_groups
            ]
            optimizer.__setstate__({"state": optimizer.state, "param_groups": groups})
            found.append(sorted((key, value) for key, value in optimizer.param_groups[0].items() if key != "params"))
            found.append(sorted(optimizer.defaults.items(), key=str))
        return found

    same(lambda torch: _said(lambda: program(torch)))


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.parametrize("kind", ["plain", "capturable", "fused"])
def test_counters_that_were_numbers(name: str, kind: str) -> None:
    def program(torch: ModuleType) -> Any:
        param, optimizer = _stepped(torch, name)
        state = optimizer.state[param]
        for key in ("step", "eta", "mu"):
            if key in state:
                state[key] = state[key].item()
        if kind != "plain":
            optimizer.param_groups[0][kind] = True
        optimizer.__setstate__({"state": optimizer.state, "param_groups": optimizer.param_groups})
        found = {key: (str(type(value).__name__), value) for key, value in sorted(optimizer.state[param].items())}
        if kind == "plain":
            optimizer.step()
        return found, param

    same(lambda torch: _said(lambda: program(torch)), 1e-9, 1e-12)


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.parametrize("settings", [{}, {"fused": True}, {"foreach": False}])
@pytest.mark.parametrize("given", ["grad_scale", "found_inf", "inf", "both"])
def test_what_a_gradient_scaler_leaves(name: str, settings: dict[str, Any], given: str) -> None:
    if "fused" in settings and name not in FUSED:
        settings = {"maximize": False} if name != "Muon" else {}

    def program(torch: ModuleType) -> Any:
        param, optimizer = _stepped(torch, name, **(settings if name != "Muon" else {}))
        if given in ("grad_scale", "both"):
            optimizer.grad_scale = torch.tensor(4.0)
        if given != "grad_scale":
            optimizer.found_inf = torch.tensor(1.0 if given == "inf" else 0.0)
        param.grad = param.detach().sin()
        optimizer.step()
        return param, list(optimizer.state[param].values())

    # PyTorch's default is the loop, which refuses these; ours is the fused step where that is exact.
    if not settings and name in FUSED:
        return
    same(lambda torch: _said(lambda: program(torch)), 1e-9, 1e-12)


@pytest.mark.parametrize("name", FUSED)
def test_a_scaled_first_step_that_is_skipped(name: str) -> None:
    def program(torch: ModuleType) -> Any:
        found = []
        param = _param(torch, 3, 2)
        optimizer = getattr(torch.optim, name)([param, _param(torch, 2)], fused=True)
        optimizer.grad_scale, optimizer.found_inf = torch.tensor(2.0), torch.tensor(1.0)
        for infinite in (1.0, 0.0, 0.0):
            optimizer.found_inf.fill_(infinite)
            param.grad = param.detach().sin() * 2
            optimizer.step()
            found.append(param.detach().clone())
        return found

    same(program, 1e-9, 1e-12)


def test_a_skipped_first_step_leaves_no_momentum() -> None:
    """PyTorch's second step goes on from memory that nothing was written to."""
    torch = mindtorch_v2
    found = []
    for scaled in (True, False):
        params = [_param(torch, 3, 2), _param(torch, 2)]
        optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.5, fused=True)
        for infinite in (1.0, 0.0, 0.0) if scaled else (0.0, 0.0):
            if scaled:
                optimizer.grad_scale, optimizer.found_inf = torch.tensor(2.0), torch.tensor(infinite)
            params[0].grad = params[0].detach().sin() * (2 if scaled else 1)
            if infinite == 0.0 and optimizer.state[params[0]].get("momentum_buffer") is not None:
                # A parameter that joins at the second step has its first one then.
                params[1].grad = params[1].detach().cos() * (2 if scaled else 1)
            optimizer.step()
        found.append([param.tolist() for param in params])
    assert found[0][0] == [pytest.approx(row) for row in found[1][0]]
    assert found[0][1] == pytest.approx(found[1][1])


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the fused kernels that are called."""
    called: list[str] = []
    for kernel in ("_fused_sgd_", "_fused_adam_", "_fused_adamw_", "_fused_adagrad_"):
        own = getattr(mindtorch_v2, kernel)

        def call(*args: Any, own: Any = own, kernel: str = kernel, **named: Any) -> Any:
            called.append(kernel)
            return own(*args, **named)

        monkeypatch.setattr(mindtorch_v2, kernel, call)
    return called


@pytest.mark.parametrize("name", FUSED)
def test_when_the_fused_step_is_taken(name: str, kernels: list[str]) -> None:
    def takes(dtype: str = "float32", kind: Any = None, **settings: Any) -> list[str]:
        kernels.clear()
        param = _param(mindtorch_v2, 3, dtype=dtype)
        param = param if kind is None else kind(param.detach())
        params = [param.clone()] if settings.get("differentiable") else [param]
        params[0].grad = params[0].detach() * 2
        getattr(mindtorch_v2.optim, name)(params, **settings).step()
        return list(kernels)

    own = [f"_fused_{name.lower()}_"]
    assert takes() == takes("float64") == takes(fused=True) == takes("bfloat16", fused=True) == own
    assert takes(kind=mindtorch_v2.nn.Parameter) == own
    for settings in ({"fused": False}, {"foreach": True}, {"foreach": False}, {"differentiable": True}):
        assert takes(**settings) == []
    assert takes("float16") == takes("bfloat16") == []

    class Own(mindtorch_v2.Tensor):
        pass

    assert takes(kind=lambda x: x.as_subclass(Own).requires_grad_()) == []
    if name == "Adam":
        assert takes(decoupled_weight_decay=True) == ["_fused_adamw_"]
    assert takes(weight_decay=0.1) == own
    if name == "SGD":
        assert takes(weight_decay=mindtorch_v2.tensor(0.1)) == []
        assert takes(momentum=0.9) == own
    # A decay of an optimizer's own group is taken up by the kernel, not by the loop before it.
    kernels.clear()
    params = [_param(mindtorch_v2, 2), _param(mindtorch_v2, 3, dtype="float32"), _param(mindtorch_v2, 4)]
    for param in params:
        param.grad = param.detach() * 2
    getattr(mindtorch_v2.optim, name)(params).step()
    assert kernels == own * 2  # one call for each dtype


@pytest.fixture
def capturable_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(base, "_get_capturable_supported_devices", lambda supports_xla=True: ["cpu"])
    yield


CAPTURABLE: dict[str, list[dict[str, Any]]] = {
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1, "maximize": True}, {"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "AdamW": [{}, {"amsgrad": True, "eps": 0.1}],
    "RMSprop": [{}, {"momentum": 0.9, "centered": True, "weight_decay": 0.1}],
    "Adadelta": [{}, {"weight_decay": 0.1, "maximize": True}],
    "Adamax": [{}, {"weight_decay": 0.1, "betas": (0.5, 0.6), "eps": 0.1}],
    "NAdam": [{}, {"weight_decay": 0.1, "momentum_decay": 0.3, "decoupled_weight_decay": True, "eps": 0.1}],
    "RAdam": [{}, {"betas": (0.5, 0.6), "weight_decay": 0.1, "eps": 0.1}, {"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "Rprop": [{}, {"etas": (0.3, 1.5), "step_sizes": (0.02, 0.2)}],
    "ASGD": [{}, {"t0": 2, "lambd": 0.1, "alpha": 0.4, "weight_decay": 0.1}],
}  # fmt: skip


@pytest.mark.usefixtures("capturable_on_the_cpu")
@pytest.mark.parametrize("name", CAPTURABLE)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_capturable_step_is_the_same_step(name: str, dtype: str) -> None:
    torch = mindtorch_v2

    def train(**settings: Any) -> Any:
        params = [
            _param(torch, 3, 2, dtype=dtype).detach() * (1 + 1j if dtype == "complex128" else 1),
            _param(torch, 2),
        ]
        params = [param.detach().requires_grad_() for param in params]
        optimizer = getattr(torch.optim, name)(params, **settings)
        for step in range(9):
            for param in params:
                param.grad = param.detach() * (0.5 + 0.1 * step) - 0.3
            optimizer.step()
        return params, [optimizer.state[param] for param in params]

    for settings in CAPTURABLE[name]:
        expected, found = train(capturable=False, foreach=False, **settings), train(capturable=True, **settings)
        for one, other in zip(expected[0], found[0], strict=True):
            assert torch.allclose(one, other, rtol=1e-4 if name == "RAdam" else 1e-6)
        for one, other in zip(expected[1], found[1], strict=True):
            assert list(one) == list(other)
            assert all(
                torch.allclose(torch.as_tensor(one[key]).to(other[key].dtype), other[key], rtol=1e-4) for key in one
            )
            assert other["step"].item() == 9.0


@pytest.mark.parametrize("name", CAPTURABLE)
def test_capturable_needs_a_device(name: str) -> None:
    param = _param(mindtorch_v2, 3)
    param.grad = param.detach()
    optimizer = getattr(mindtorch_v2.optim, name)([param], capturable=True)
    with pytest.raises(
        AssertionError, match="If capturable=True, params and state_steps must be on supported devices: "
    ):
        optimizer.step()
    assert base._get_capturable_supported_devices() == ["cuda", "xpu", "hpu", "npu", "xla"]
    assert base._get_capturable_supported_devices(supports_xla=False) == ["cuda", "xpu", "hpu", "npu"]


FUNCTIONAL = {
    "adam": {"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "eps": 0.1, "weight_decay": 0.1, "amsgrad": False, "maximize": False},
    "adagrad": {"lr": 0.1, "lr_decay": 0.1, "eps": 0.1, "weight_decay": 0.1, "maximize": False},
    "adadelta": {"lr": 0.1, "rho": 0.9, "eps": 0.1, "weight_decay": 0.1, "maximize": False},
    "rmsprop": {"lr": 0.1, "alpha": 0.9, "eps": 0.1, "weight_decay": 0.1, "momentum": 0.9, "centered": False},
    "asgd": {"lr": 0.1, "lambd": 0.1, "t0": 1, "alpha": 0.75, "weight_decay": 0.1},
    "nadam": {"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "eps": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1},
    "radam": {"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "eps": 0.1, "weight_decay": 0.1},
    "rprop": {"step_size_min": 0.1, "step_size_max": 1.0, "etaminus": 0.5, "etaplus": 1.2, "maximize": False},
    "adamax": {"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "eps": 0.1, "weight_decay": 0.1},
}  # fmt: skip
LISTS = {
    "adam": 3,
    "adagrad": 1,
    "adadelta": 2,
    "rmsprop": 3,
    "asgd": 3,
    "nadam": 3,
    "radam": 2,
    "rprop": 2,
    "adamax": 2,
}


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functions_want_counters_that_are_tensors(name: str) -> None:
    module = __import__(f"mindtorch_v2.optim.{name}", fromlist=[name])
    param = _param(mindtorch_v2, 3).detach()
    lists = [[mindtorch_v2.ones(3, dtype=mindtorch_v2.float64)] for _ in range(LISTS[name])]
    with pytest.raises(
        RuntimeError, match="API has changed, `state_steps` argument must contain a list of singleton tensors"
    ):
        getattr(module, name)([param], [param.clone()], *lists, [1], **FUNCTIONAL[name])


@pytest.mark.parametrize("name", STEPPED)
def test_states_are_cast_to_their_parameters(name: str) -> None:
    def program(torch: ModuleType) -> Any:
        settings = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        _, optimizer = _stepped(torch, name, **settings)
        stream = io.BytesIO()
        torch.save(optimizer.state_dict(), stream)
        stream.seek(0)
        saved = torch.load(stream)
        found = []
        for dtype in ("float32", "float16"):
            param = _param(torch, 3, 2, dtype=dtype)
            other = getattr(torch.optim, name)([param], **settings)
            other.load_state_dict(saved)
            found.append({key: (str(value.dtype), value.float()) for key, value in other.state[param].items()})
        return found, sorted(saved["state"][0])

    same(program, 1e-3, 1e-3)


@pytest.mark.parametrize("settings", [{"fused": True}, {"capturable": True}, {}])
def test_where_counters_are_loaded_to(settings: dict[str, Any]) -> None:
    def program(torch: ModuleType) -> Any:
        _, optimizer = _stepped(torch, "Adam")
        saved = optimizer.state_dict()
        saved["state"][0]["step"] = torch.tensor(3.0, dtype=torch.float64)
        saved["state"][0]["own"] = {
            "deep": torch.ones(2, dtype=torch.float64),
            "list": [torch.ones(1, dtype=torch.float64), 3],
            "pair": (1, 2),
        }
        saved["state"]["other"] = 5
        saved["param_groups"][0].update(settings)
        param = _param(torch, 3, 2, dtype="float32")
        other = torch.optim.Adam([param])
        other.load_state_dict(saved)
        state = other.state[param]
        own = state["own"]
        unfused = torch.optim.RAdam([param])  # its groups say nothing of fused steps
        unfused.load_state_dict(
            {
                "state": {0: {"step": torch.tensor(3.0, dtype=torch.float64)}},
                "param_groups": unfused.state_dict()["param_groups"],
            }
        )
        where = unfused.state[param]["step"]
        return state["step"], own["deep"], own["list"], own["pair"], other.state["other"], state["exp_avg"], where

    same(program, 1e-6)


def test_states_of_whole_numbers_keep_their_dtype() -> None:
    torch = mindtorch_v2
    param = torch.ones(2, dtype=torch.int64)
    optimizer = torch.optim.SGD([param], lr=1)
    saved = optimizer.state_dict()
    saved["state"] = {0: {"momentum_buffer": torch.ones(2)}}
    optimizer.load_state_dict(saved)
    assert optimizer.state[param]["momentum_buffer"].dtype == torch.float32


class Own(mindtorch_v2.optim.Optimizer):
    def __init__(self, params: Any, lr: float = 0.1) -> None:
        super().__init__(params, {"lr": lr, "differentiable": False})


def test_hooks() -> None:
    torch = mindtorch_v2
    param = torch.ones(2, requires_grad=True)
    param.grad = torch.ones(2)
    optimizer = torch.optim.SGD([param], lr=1.0)
    seen: list[Any] = []

    class Seen(torch.optim.SGD):
        def step(self, closure: Any = None, scale: float = 1.0) -> Any:
            seen.append((closure, scale))
            return None

    own = Seen([param], lr=1.0)
    handle = own.register_step_pre_hook(lambda opt, args, kwargs: ((*args, None), {"scale": 3.0}))
    own.step()
    assert seen == [(None, 3.0)]
    handle.remove()
    own.step(scale=2.0)
    assert seen.pop() == (None, 2.0)
    for made in (3, (1,), (1, 2, 3)):
        handle = own.register_step_pre_hook(lambda opt, args, kwargs, made=made: made)
        with pytest.raises(RuntimeError, match="must return None or a tuple of \\(new_args, new_kwargs\\), but got"):
            own.step()
        handle.remove()
    order: list[str] = []
    handles = [
        optimizer.register_step_post_hook(lambda *a: order.append("own after")),
        base.register_optimizer_step_post_hook(lambda opt, args, kwargs: order.append("all after")),
        base.register_optimizer_step_pre_hook(lambda opt, args, kwargs: order.append("all before")),
        optimizer.register_step_pre_hook(lambda *a: order.append("own before")),
    ]
    optimizer.step()
    assert order == ["all before", "own before", "own after", "all after"]
    for each in handles:
        each.remove()
    optimizer.step()
    assert len(order) == 4


@pytest.mark.parametrize("kind", ["state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"])
def test_hooks_of_states(kind: str) -> None:
    torch = mindtorch_v2
    optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    order: list[str] = []
    register = getattr(optimizer, f"register_{kind}_hook")
    register(lambda *a: order.append("first"))
    last = register(lambda *a: order.append("second"))
    register(lambda *a: order.append("before"), prepend=True)

    def run() -> list[str]:
        order.clear()
        saved = optimizer.state_dict()
        optimizer.load_state_dict(saved)
        return list(order)

    assert run() == ["before", "first", "second"]
    last.remove()
    assert run() == ["before", "first"]


def test_hooks_that_change_a_state() -> None:
    torch = mindtorch_v2
    optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "mark": opt is optimizer})
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "again": state["mark"]})
    saved = optimizer.state_dict()
    assert saved["mark"] is saved["again"] is True

    def load(opt: Any, state: Any) -> Any:
        assert opt is optimizer
        state["param_groups"] = [{**group, "lr": 7.0} for group in state["param_groups"]]
        return {**state, "seen": True}

    def after(opt: Any, state: Any) -> None:
        assert state["seen"] is True

    optimizer.register_load_state_dict_pre_hook(load)
    optimizer.register_load_state_dict_pre_hook(after)
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 7.0
    assert saved["param_groups"][0]["lr"] == 1.0


def test_names_of_parameters() -> None:
    def program(torch: ModuleType) -> Any:
        first, second = _param(torch, 2), _param(torch, 3)
        optimizer = torch.optim.SGD([("a", first), ("b", second)], lr=0.1)
        saved = optimizer.state_dict()
        found = [saved["param_groups"][0]["param_names"], saved["param_groups"][0]["params"]]
        plain = torch.optim.SGD([first, second], lr=0.2)
        found.append("param_names" in plain.state_dict()["param_groups"][0])
        plain.load_state_dict(saved)
        found.append(plain.param_groups[0]["param_names"])
        unnamed = torch.optim.SGD([first, second], lr=0.2).state_dict()
        optimizer.load_state_dict(unnamed)
        found.append((optimizer.param_groups[0]["param_names"], optimizer.param_groups[0]["lr"]))
        optimizer.add_param_group({"params": [("c", _param(torch, 1))], "lr": 5.0})
        found.append([group["param_names"] for group in optimizer.param_groups])
        found.append(repr(optimizer))
        return found

    same(program)


def test_groups_and_defaults() -> None:
    def program(torch: ModuleType) -> Any:
        one, two = _param(torch, 2), _param(torch, 3)
        optimizer = torch.optim.SGD(
            [{"params": one}, {"params": (each for each in [two]), "lr": 3.0}], lr=0.5, momentum=0.9
        )
        found: list[Any] = [[(len(g["params"]), g["lr"], g["momentum"]) for g in optimizer.param_groups]]
        optimizer.add_param_group({"params": _param(torch, 1), "own": "word"})
        found.append([(len(g["params"]), g["lr"], g.get("own")) for g in optimizer.param_groups])
        found.append(repr(optimizer))
        found.append(_said(lambda: optimizer.add_param_group({"params": [one]})))
        found.append(_said(lambda: optimizer.add_param_group({"params": [_param(torch, 1) * 2]})))
        found.append(len(optimizer.param_groups))
        kept = _param(torch, 1) * 2
        kept.retain_grad()
        optimizer.add_param_group({"params": [kept]})
        found.append(len(optimizer.param_groups))
        found.append(_said(lambda: torch.optim.LBFGS([{"params": [one]}, {"params": [two]}])))
        found.append(_said(lambda: torch.optim.LBFGS([{"params": [one, two]}])) is not None)
        found.append(_said(lambda: torch.optim.SGD([_param(torch, 1) * 2], differentiable=True)) is not None)
        return found

    same(program)


def test_zero_grad_of_gradients_with_history() -> None:
    def program(torch: ModuleType) -> Any:
        one, two, three = _param(torch, 2), _param(torch, 2), _param(torch, 2)
        one.grad, two.grad = one * 2, torch.ones(2, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.SGD([{"params": [one, three]}, {"params": [two]}], lr=0.1)
        optimizer.zero_grad(set_to_none=False)
        found = [
            (each.grad is None, None if each.grad is None else (each.grad.requires_grad, each.grad.tolist()))
            for each in (one, two, three)
        ]
        optimizer.zero_grad()
        return found, [each.grad is None for each in (one, two, three)]

    same(program)


def test_copies_and_pickles() -> None:
    import copy
    import pickle

    torch = mindtorch_v2
    param, optimizer = _stepped(torch, "Adam", amsgrad=True)
    optimizer.register_step_pre_hook(lambda *a: None)
    assert sorted(optimizer.__getstate__()) == ["defaults", "param_groups", "state"]
    for again in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
        own = again.param_groups[0]["params"][0]
        for each in (own, param):
            each.grad = each.detach() * 3
        assert len(again._optimizer_step_pre_hooks) == 0
        again.step()
        assert again.state[own]["step"].item() == 3.0
        assert again.defaults == optimizer.defaults
    del optimizer.defaults["differentiable"]
    optimizer.__setstate__({"state": optimizer.state})
    assert optimizer.defaults["differentiable"] is False


def test_a_step_is_wrapped_once() -> None:
    torch = mindtorch_v2
    param = torch.ones(1, requires_grad=True)
    one, two = Own([param]), Own([param])
    assert type(one).step is type(two).step
    assert one._zero_grad_profile_name == "Optimizer.zero_grad#Own.zero_grad"
    with pytest.raises(NotImplementedError):
        one.step()
    assert torch.optim.SGD.step.hooked is True


def test_grad_mode_is_put_back() -> None:
    torch = mindtorch_v2
    seen: list[bool] = []
    for name in ("SGD", "Adam", "LBFGS", "Adafactor", "Muon"):
        param = _param(torch, 3, 2)

        def closure(param: Any = param) -> Any:
            seen.append(torch.is_grad_enabled())
            param.grad = param.detach()
            return (param * 2).sum()

        optimizer = getattr(torch.optim, name)([param])
        for enabled in (True, False):
            with torch.set_grad_enabled(enabled):
                loss = optimizer.step(closure)
                assert torch.is_grad_enabled() is enabled
            assert loss.requires_grad
    assert all(seen) and len(seen) >= 10
    with pytest.raises(ValueError, match="in the closure"):
        torch.optim.SGD([_param(torch, 1)]).step(lambda: (_ for _ in ()).throw(ValueError("in the closure")))
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("name", [name for name in STEPPED if name not in ("Adafactor", "Muon", "SGD")])
def test_lists_of_complex_parameters(name: str) -> None:
    """The word of `_init_group` to subclasses."""
    torch = mindtorch_v2
    for dtype, expected in (("float32", False), ("complex64", True)):
        param = _param(torch, 2, dtype=dtype)
        param.grad = param.detach()
        optimizer = getattr(torch.optim, name)([param])
        lists: list[list] = [[] for _ in range(2 + len(type(optimizer)._state))]
        told = optimizer._init_group(optimizer.param_groups[0], *lists)
        assert told == ((False, expected) if name == "Adagrad" else expected)


def test_shared_accumulators() -> None:
    torch = mindtorch_v2
    params = [_param(torch, 2), _param(torch, 3)]
    optimizer = torch.optim.Adagrad([{"params": params[:1]}, {"params": params[1:]}])
    assert not any(optimizer.state[param]["sum"].is_shared() for param in params)
    optimizer.share_memory()
    assert all(optimizer.state[param]["sum"].is_shared() for param in params)


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_rates_and_betas_that_are_tensors(name: str) -> None:
    def program(torch: ModuleType) -> Any:
        def number(value: float) -> Any:
            return torch.tensor(value, dtype=torch.float64)

        cases = [
            {"betas": (number(0.8), number(0.9))}, {"betas": (0.8, number(0.9))}, {"betas": (number(0.8), 0.9)},
            {"betas": (number(0.8), number(0.9)), "foreach": True}, {"betas": (number(0.8).reshape(1), number(0.9))},
            {"betas": (torch.ones(2) / 2, number(0.9))}, {"betas": (number(0.8), torch.ones(2) / 2)},
            {"lr": number(0.1)}, {"lr": number(0.1).reshape(1)}, {"lr": torch.ones(2)}, {"lr": number(0.1), "foreach": True},
            {"lr": number(0.1), "fused": True}, {"lr": number(-0.1)}, {"lr": number(0.1), "amsgrad": True, "weight_decay": 0.1},
            {"lr": number(0.1), "betas": (number(0.8), number(0.9)), "fused": True},
        ]  # fmt: skip
        return [
            _said(lambda case=case: _stepped(torch, name, foreach=case.pop("foreach", None), **case)[0])
            for case in cases
        ]

    same(program, 1e-9, 1e-12)


def test_gradients_by_settings() -> None:
    """Rates, betas and decays that need gradients themselves, through a differentiable step."""

    def program(torch: ModuleType) -> Any:
        found = []
        for name, key, value in (
            ("SGD", "lr", 0.1), ("SGD", "weight_decay", 0.2), ("Adam", "lr", 0.1), ("Adam", "weight_decay", 0.2), ("AdamW", "lr", 0.1),
            ("AdamW", "weight_decay", 0.2), ("Adam", "betas", None),
        ):  # fmt: skip
            setting = torch.tensor(value or 0.9, dtype=torch.float64, requires_grad=True)
            other = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)
            given = {key: setting if value else (other, setting)}
            start = _param(torch, 3).detach()
            param = start.clone().requires_grad_().clone()
            optimizer = getattr(torch.optim, name)([param], differentiable=True, **given)
            for step in range(2):
                param.grad = (start * (step + 2)).sin()
                optimizer.step()
            (param**2).sum().backward()
            found.append((name, key, setting.grad, other.grad))
        return found

    same(lambda torch: _said(lambda: program(torch)), 1e-8, 1e-10)


RATED = ["RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD", "Adagrad"]


@pytest.mark.parametrize(
    ("name", "differentiable"),
    [*((name, True) for name in RATED), *((name, False) for name in (*RATED, "Adafactor", "Muon"))],
)
def test_rates_that_are_tensors(name: str, differentiable: bool) -> None:
    """Their step is that of the number; a differentiable one says how the result changes with the rate."""
    torch = mindtorch_v2
    found = []
    for tensor in (False, True):
        rate = torch.tensor(0.05, dtype=torch.float64) if tensor else 0.05
        start = _param(torch, 3, 2).detach()
        param = start.clone().requires_grad_()
        param = param.clone() if differentiable else param
        settings = {"differentiable": True} if differentiable else {}
        optimizer = getattr(torch.optim, name)([param], lr=rate, **settings)
        for step in range(2):
            param.grad = (start * (step + 2)).sin()
            optimizer.step()
        found.append(param.detach())
    assert torch.allclose(found[0], found[1], rtol=1e-6)


def test_marks_of_schedules() -> None:
    kind = mindtorch_v2.optim.lr_scheduler.LRScheduler
    assert (kind._is_initial, kind._get_lr_called_within_step) == (False, False)


def test_a_loaded_state_of_a_parameter_that_is_in_no_group():
    process = mindtorch_v2.optim.Optimizer._process_value_according_to_param_policy
    here, count = mindtorch_v2.zeros(1), mindtorch_v2.tensor(3, dtype=mindtorch_v2.int64)
    assert process(here, count, 9, [{"params": [1], "fused": True}], key="step") is count
    assert process(here, count, 1, [{"params": [1], "fused": True}], key="step").dtype == mindtorch_v2.float32
    there = mindtorch_v2.zeros(1, dtype=mindtorch_v2.bfloat16, device="meta")
    made = process(there, mindtorch_v2.ones(1), 1, [{"params": [1]}], key="exp_avg")
    assert (made.dtype, made.device.type) == (mindtorch_v2.bfloat16, "meta")
    assert process(there.long(), mindtorch_v2.ones(1), 1, [{"params": [1]}], key="mask").device.type == "meta"
