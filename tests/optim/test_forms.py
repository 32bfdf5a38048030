"""Every option of every optimizer alone and with every other; every schedule by steps, by epochs and from a state dict."""

import itertools
import warnings
from types import ModuleType
from typing import Any

import pytest
from agreement import same
from expressions import lines

COMMON = [{"maximize": True}, {"foreach": True}, {"foreach": False}, {"differentiable": True}, {"weight_decay": 0.1}]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "SGD": [*COMMON, {"momentum": 0.9}, {"dampening": 0.3}, {"nesterov": True}, {"fused": True}, {"fused": False}, {"lr": 0.3}],
    "Adam": [*COMMON, {"betas": (0.6, 0.7)}, {"eps": 0.1}, {"amsgrad": True}, {"decoupled_weight_decay": True}, {"fused": True}, {"lr": 0.3}],
    "AdamW": [*COMMON, {"betas": (0.6, 0.7)}, {"eps": 0.1}, {"amsgrad": True}, {"fused": True}, {"lr": 0.3}],
    "Adagrad": [*COMMON, {"lr_decay": 0.3}, {"eps": 0.1}, {"initial_accumulator_value": 0.2}, {"fused": True}, {"lr": 0.3}],
    "RMSprop": [*COMMON, {"alpha": 0.6}, {"eps": 0.1}, {"momentum": 0.9}, {"centered": True}, {"capturable": False}, {"lr": 0.3}],
    "Adadelta": [*COMMON, {"rho": 0.6}, {"eps": 0.1}, {"lr": 0.3}],
    "Adamax": [*COMMON, {"betas": (0.6, 0.7)}, {"eps": 0.1}, {"lr": 0.3}],
    "NAdam": [*COMMON, {"betas": (0.6, 0.7)}, {"eps": 0.1}, {"momentum_decay": 0.3}, {"decoupled_weight_decay": True}, {"lr": 0.3}],
    "RAdam": [*COMMON, {"betas": (0.6, 0.7)}, {"betas": (0.9, 0.3)}, {"eps": 0.1}, {"decoupled_weight_decay": True}, {"lr": 0.3}],
    "Rprop": [*COMMON[:4], {"etas": (0.3, 1.5)}, {"step_sizes": (0.02, 0.2)}, {"lr": 0.3}],
    "ASGD": [*COMMON, {"lambd": 0.1}, {"alpha": 0.4}, {"t0": 2}, {"lr": 0.3}],
    "Adafactor": [COMMON[0], COMMON[1], COMMON[2], COMMON[4], {"beta2_decay": -0.3}, {"eps": (1e-3, 0.1)}, {"eps": (None, 0.01)}, {"d": 3.0}, {"lr": 0.3}],
    "Muon": [{"weight_decay": 0.0}, {"momentum": 0.5}, {"nesterov": False}, {"ns_steps": 3}, {"eps": 0.1}, {"lr": 0.3},
             {"adjust_lr_fn": "match_rms_adamw"}, {"adjust_lr_fn": "original"}, {"ns_coefficients": (3.0, -4.0, 2.0)}],
}  # fmt: skip
SETTINGS = [
    (name, {} if pair is None else pair[0] | pair[1])
    for name, options in OPTIONS.items()
    for pair in [None, *((each, {}) for each in options), *itertools.combinations(options, 2)]
    # PyTorch's lists of tensors cannot be differentiated; ours are single steps.
    if pair is None or not (pair[0] | pair[1]).keys() >= {"foreach", "differentiable"}
]
SHAPES = [(4, 3), (3, 5)]


def _wave(torch: ModuleType, shape: tuple[int, ...], first: int, dtype: str = "float64") -> Any:
    count = shape[0] * shape[1] if len(shape) == 2 else shape[0]
    return torch.arange(first, first + count, dtype=getattr(torch, dtype)).mul(0.7).sin().reshape(shape)


def _said(call: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:  # noqa: BLE001  (what PyTorch raises is what is expected)
        return type(error).__name__, str(error)


def _train(torch: ModuleType, name: str, settings: dict[str, Any], steps: int = 4) -> Any:
    leaves = [_wave(torch, shape, 1 + 20 * place).requires_grad_() for place, shape in enumerate(SHAPES)]
    params = [leaf.clone() for leaf in leaves] if settings.get("differentiable") else leaves
    optimizer = getattr(torch.optim, name)(params, **settings)
    for step in range(steps):
        for place, param in enumerate(params):
            param.grad = (param.detach() * 3).cos() * (step + 1) + 0.1 * place
        if step == 1:
            params[0].grad = None
        optimizer.step()
    state = optimizer.state_dict()["state"]
    return params, {key: list(value.values()) if isinstance(value, dict) else value for key, value in state.items()}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_in_pairs(name: str) -> None:
    def program(torch: ModuleType) -> Any:
        chosen = [settings for each, settings in SETTINGS if each == name]
        return {str(settings): _said(lambda settings=settings: _train(torch, name, settings)) for settings in chosen}

    same(program, *((3e-2, 3e-2) if name == "Muon" else (1e-5, 1e-8)))  # Muon's iteration runs in bfloat16


@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in ("Muon",)])
def test_groups_states_and_loading(name: str) -> None:
    def program(torch: ModuleType) -> Any:
        first, second, third = (_wave(torch, shape, 5).requires_grad_() for shape in ((2, 3), (4, 2), (3, 3)))
        optimizer = getattr(torch.optim, name)([{"params": [first], "lr": 0.3}, {"params": [second]}], lr=0.02)
        found: list[Any] = []

        def step() -> None:
            for param in (first, second, third):
                param.grad = (param.detach() * 2).sin()
            found.append(optimizer.step(lambda: torch.tensor(3.0)))
            found.extend(param.detach().clone() for param in (first, second, third))

        step()
        optimizer.add_param_group({"params": [third], "lr": 0.5})
        step()
        saved = optimizer.state_dict()
        found.append([sorted(group.items(), key=str) for group in saved["param_groups"]])
        found.append(sorted(saved["state"]))
        optimizer = getattr(torch.optim, name)([{"params": [first]}, {"params": [second]}, {"params": [third]}], lr=0.7)
        optimizer.load_state_dict(saved)
        step()
        optimizer.zero_grad()
        found.append([param.grad is None for param in (first, second, third)])
        step()
        optimizer.zero_grad(set_to_none=False)
        found.append([param.grad for param in (first, second, third)])
        found.append(repr(optimizer))
        return found

    same(lambda torch: _said(lambda: program(torch)), 1e-9, 1e-12)


@pytest.mark.parametrize(
    "name", ["SGD", "Adagrad", "SparseAdam", "Adam", "AdamW", "RMSprop", "Adadelta", "NAdam", "Rprop", "ASGD", "Adamax"]
)
@pytest.mark.parametrize("settings", [{}, {"maximize": True}, {"foreach": False}, {"lr": 0.3}])
def test_sparse_gradients(name: str, settings: dict[str, Any]) -> None:
    def program(torch: ModuleType) -> Any:
        param = _wave(torch, (4, 2), 3).requires_grad_()
        optimizer = getattr(torch.optim, name)([param], **settings)
        for step in range(3):
            rows = torch.tensor([[0, 2, 2]])
            param.grad = torch.sparse_coo_tensor(rows, _wave(torch, (3, 2), step), (4, 2))
            optimizer.step()
        return param, [list(state.values()) for state in optimizer.state_dict()["state"].values()]

    same(lambda torch: _said(lambda: program(torch)), 1e-9, 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "complex64"])
@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in ("Muon", "Adafactor")])
def test_dtypes(name: str, dtype: str) -> None:
    def program(torch: ModuleType) -> Any:
        wave = _wave(torch, (3, 4), 3, "float32")
        param = (torch.complex(wave, wave.cos()) if dtype == "complex64" else wave).to(getattr(torch, dtype))
        optimizer = getattr(torch.optim, name)([param.requires_grad_()], lr=0.1)
        for step in range(4):
            param.grad = param.detach() * (2 + step) - 1
            optimizer.step()
        return param, [list(state.values()) for state in optimizer.state_dict()["state"].values()]

    tolerance = {"bfloat16": 4e-2, "float16": 6e-3}.get(dtype, 2e-5)
    same(lambda torch: _said(lambda: program(torch)), tolerance, tolerance)


LBFGS = lines("""
lr=0.1
lr=1, max_iter=5
lr=1, max_iter=30, max_eval=7
lr=1, tolerance_grad=0.5
lr=1, tolerance_change=0.1
lr=1, history_size=2, max_iter=15
lr=1, history_size=1, line_search_fn="strong_wolfe"
lr=1, max_iter=3, line_search_fn="strong_wolfe"
lr=5, max_eval=6, line_search_fn="strong_wolfe"
lr=1, tolerance_change=0.5, line_search_fn="strong_wolfe"
lr=1, line_search_fn="other"
""")
LOSSES = {
    "valley": lambda t, p: (100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum(),
    "bowl": lambda t, p: (p**2 * t.arange(1, 5, dtype=t.float64)).sum(),
    "waves": lambda t, p: (p.sin() * (3 * p).cos()).sum() + (p**4).sum() / 10,
    "flat": lambda t, p: (p * 0).sum(),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("settings", LBFGS)
def test_lbfgs(settings: str, loss: str) -> None:
    def program(torch: ModuleType) -> Any:
        param = _wave(torch, (4,), 2).requires_grad_()
        optimizer = eval(f"make([param], {settings})", {"make": torch.optim.LBFGS, "param": param})

        def closure() -> Any:
            optimizer.zero_grad()
            value = LOSSES[loss](torch, param)
            value.backward()
            return value

        found = [(optimizer.step(closure), param.detach().clone()) for _ in range(3)]
        state = optimizer.state[param]
        return (
            found,
            state["func_evals"],
            state["n_iter"],
            len(state.get("old_dirs") or []),
            state.get("t"),
            state.get("d"),
        )

    same(lambda torch: _said(lambda: program(torch)), 1e-6, 1e-9)


SCHEDULES = lines("""
s.LambdaLR(o, lambda e: 0.9 ** e)
s.LambdaLR(o, [lambda e: 0.9 ** e, lambda e: 1 / (1 + e)])
s.MultiplicativeLR(o, lambda e: 0.95 - 0.01 * e)
s.MultiplicativeLR(o, [lambda e: 0.9, lambda e: 0.5])
s.StepLR(o, 3)
s.StepLR(o, 2, 0.7)
s.MultiStepLR(o, [2, 5])
s.MultiStepLR(o, [1, 1, 4], 0.7)
s.ConstantLR(o)
s.ConstantLR(o, 0.7, 3)
s.ConstantLR(o, factor=0.0, total_iters=2)
s.LinearLR(o)
s.LinearLR(o, 0.7, 0.2, 4)
s.LinearLR(o, start_factor=1.0, end_factor=0.5, total_iters=3)
s.ExponentialLR(o, 0.7)
s.PolynomialLR(o)
s.PolynomialLR(o, 6, 2.5)
s.CosineAnnealingLR(o, 6)
s.CosineAnnealingLR(o, 4, 0.03)
s.CosineAnnealingLR(o, 1)
s.CosineAnnealingWarmRestarts(o, 3)
s.CosineAnnealingWarmRestarts(o, 2, 2, 0.01)
s.CosineAnnealingWarmRestarts(o, 1, 3)
s.CosineAnnealingWarmRestarts(o, 2, T_mult=3)
s.CyclicLR(o, 0.01, 0.3)
s.CyclicLR(o, 0.01, 0.3, 3)
s.CyclicLR(o, 0.01, 0.3, 3, 2, mode="triangular2")
s.CyclicLR(o, [0.01, 0.02], [0.3, 0.4], 2, 4, mode="exp_range", gamma=0.8)
s.CyclicLR(o, 0.01, 0.3, 3, scale_fn=lambda x: 1 / (5 ** (x * 0.1)), scale_mode="iterations")
s.CyclicLR(o, 0.01, 0.3, 3, scale_fn=lambda x: 0.5 ** (x - 1))
s.CyclicLR(o, 0.01, 0.3, 3, cycle_momentum=False)
s.CyclicLR(o, 0.01, 0.3, 3, base_momentum=0.6, max_momentum=0.8)
s.CyclicLR(o, 0.01, 0.3, 3, base_momentum=[0.6, 0.5], max_momentum=[0.8, 0.7])
s.OneCycleLR(o, 0.5, 12)
s.OneCycleLR(o, [0.5, 0.7], total_steps=10, pct_start=0.5)
s.OneCycleLR(o, 0.5, epochs=3, steps_per_epoch=4, anneal_strategy="linear")
s.OneCycleLR(o, 0.5, 12, three_phase=True)
s.OneCycleLR(o, 0.5, 12, three_phase=True, pct_start=0.25, anneal_strategy="linear")
s.OneCycleLR(o, 0.5, 12, cycle_momentum=False)
s.OneCycleLR(o, 0.5, 12, base_momentum=0.7, max_momentum=0.8)
s.OneCycleLR(o, 0.5, 12, base_momentum=[0.7, 0.6], max_momentum=[0.8, 0.9], div_factor=5.0, final_div_factor=50.0)
s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [2])
s.SequentialLR(o, [s.LinearLR(o, 0.5, 1.0, 3), s.StepLR(o, 2), s.CosineAnnealingLR(o, 4)], [3, 7])
s.SequentialLR(o, [s.ExponentialLR(o, 0.9)], [])
s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)])
s.ChainedScheduler([s.StepLR(o, 2), s.LinearLR(o, 0.5, 1.0, 3)], optimizer=o)
s.ChainedScheduler([s.CyclicLR(o, 0.01, 0.3, 3), s.ExponentialLR(o, 0.9)])
w.SWALR(o, 0.05)
w.SWALR(o, 0.05, 4, "linear")
w.SWALR(o, [0.05, 0.02], anneal_epochs=3, anneal_strategy="cos")
w.SWALR(o, 0.05, anneal_epochs=0)
w.SWALR(o, 0.05, anneal_epochs=-1)
w.SWALR(o, 0.05, anneal_strategy="other")
w.SWALR(o, [0.05], anneal_epochs=3)
s.StepLR(o, 2, last_epoch=3)
s.CyclicLR(o, 0.01, 0.3, 3, mode="other")
s.CyclicLR(o, 0.01, [0.3], 3)
s.OneCycleLR(o, 0.5)
s.OneCycleLR(o, 0.5, epochs=3)
s.OneCycleLR(o, 0.5, total_steps=0)
s.OneCycleLR(o, 0.5, epochs=0, steps_per_epoch=3)
s.OneCycleLR(o, 0.5, epochs=3, steps_per_epoch=0)
s.OneCycleLR(o, 0.5, total_steps=2.5)
s.OneCycleLR(o, 0.5, 12, pct_start=-0.1)
s.OneCycleLR(o, 0.5, 12, pct_start=1)
s.OneCycleLR(o, [0.5], 12)
s.LambdaLR(o, [lambda e: 1])
s.LambdaLR(o, 3)
s.MultiplicativeLR(o, [lambda e: 1])
s.SequentialLR(o, [s.ConstantLR(o), s.ExponentialLR(o, 0.9)], [2, 4])
s.SequentialLR(o, [s.ConstantLR(o), s.ExponentialLR(optimizer(), 0.9)], [2])
s.ChainedScheduler([s.ConstantLR(o), s.ExponentialLR(optimizer(), 0.9)])
s.CosineAnnealingWarmRestarts(o, 2.5)
s.CosineAnnealingWarmRestarts(o, 2, 1.5)
s.LinearLR(o, 1.5)
s.LinearLR(o, 0.5, -0.1)
s.ConstantLR(o, 1.1)
""")
OPTIMIZERS = {
    "momentum": lambda t, p: t.optim.SGD([{"params": p[:1], "lr": 0.1}, {"params": p[1:], "lr": 0.2}], momentum=0.9),
    "Adam": lambda t, p: t.optim.Adam([{"params": p[:1], "lr": 0.1}, {"params": p[1:], "lr": 0.2}]),
    "plain": lambda t, p: t.optim.SGD([{"params": p[:1], "lr": 0.1}, {"params": p[1:], "lr": 0.2}]),
    "tensor": lambda t, p: t.optim.Adam(
        [{"params": p[:1], "lr": t.tensor(0.1)}, {"params": p[1:], "lr": t.tensor(0.2)}]
    ),
}


def _scheduled(torch: ModuleType, text: str, kind: str) -> tuple[Any, Any]:
    def optimizer() -> Any:
        return OPTIMIZERS[kind](torch, [torch.nn.Parameter(torch.ones(1)) for _ in range(2)])

    made = optimizer()
    names = {"s": torch.optim.lr_scheduler, "w": torch.optim.swa_utils, "o": made, "optimizer": optimizer}
    return made, eval(text, names)


def _rates(optimizer: Any) -> list[Any]:
    names = ("lr", "momentum", "betas", "initial_lr", "max_lr", "min_lr", "base_momentum", "max_momentum", "swa_lr")
    return [{name: _number(group[name]) for name in names if name in group} for group in optimizer.param_groups]


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return "callable" if callable(value) else _number(value)


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("text", SCHEDULES)
def test_schedules(text: str, kind: str) -> None:
    def by_steps(torch: ModuleType) -> Any:
        optimizer, schedule = _scheduled(torch, text, kind)
        found = [_rates(optimizer), _plain(schedule.get_last_lr())]
        for _ in range(11):
            optimizer.step()
            schedule.step()
            found.append((_rates(optimizer), _plain(schedule.get_last_lr())))
        return found, _plain(schedule.state_dict())

    def by_epochs(torch: ModuleType) -> Any:
        optimizer, schedule = _scheduled(torch, text, kind)
        optimizer.step()
        found = []
        for epoch in (1, 4, 2, 9, 0, 3.5):
            schedule.step(epoch)
            found.append((_rates(optimizer), schedule.last_epoch))
        return found

    def resumed(torch: ModuleType) -> Any:
        optimizer, schedule = _scheduled(torch, text, kind)
        for _ in range(4):
            optimizer.step()
            schedule.step()
        state, rates = schedule.state_dict(), optimizer.state_dict()
        optimizer, schedule = _scheduled(torch, text, kind)
        optimizer.load_state_dict(rates)
        schedule.load_state_dict(state)
        optimizer.step()
        schedule.step()
        return _rates(optimizer), _plain(schedule.state_dict())

    same(
        lambda torch: [_said(lambda run=run: run(torch)) for run in (by_steps, by_epochs, resumed)],
        1e-6 if kind == "tensor" else 1e-12,
        1e-15,
    )


PLATEAUS = lines("""
s.ReduceLROnPlateau(o)
s.ReduceLROnPlateau(o, "max", patience=2)
s.ReduceLROnPlateau(o, patience=0, factor=0.5)
s.ReduceLROnPlateau(o, patience=1, cooldown=2)
s.ReduceLROnPlateau(o, patience=1, threshold=0.2)
s.ReduceLROnPlateau(o, patience=1, threshold=0.2, threshold_mode="abs")
s.ReduceLROnPlateau(o, "max", patience=1, threshold=0.2)
s.ReduceLROnPlateau(o, "max", patience=1, threshold=0.2, threshold_mode="abs")
s.ReduceLROnPlateau(o, patience=0, min_lr=0.05)
s.ReduceLROnPlateau(o, patience=0, min_lr=[0.05, 0.001])
s.ReduceLROnPlateau(o, patience=0, eps=0.01)
s.ReduceLROnPlateau(o, patience=0, eps=0.5)
s.ReduceLROnPlateau(o, factor=1.0)
s.ReduceLROnPlateau(o, min_lr=[0.1])
s.ReduceLROnPlateau(o, "other")
s.ReduceLROnPlateau(o, threshold_mode="other")
s.ReduceLROnPlateau(3)
""")
MEASURED = [
    1.0,
    0.9,
    0.95,
    0.9,
    0.7,
    0.71,
    0.69,
    0.69,
    0.69,
    0.69,
    0.3,
    0.5,
    0.5,
    0.5,
    0.5,
    0.5,
    0.5,
    float("nan"),
    0.5,
]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("text", PLATEAUS)
def test_plateaus(text: str, sign: int) -> None:
    def program(torch: ModuleType) -> Any:
        optimizer, schedule = _scheduled(torch, text, "momentum")
        found = []
        for measured in MEASURED:
            schedule.step(sign * measured)
            found.append((_rates(optimizer), _plain(schedule.state_dict()), schedule.in_cooldown))
        schedule.step(0.1, 40)
        return found, _plain(schedule.state_dict()), _plain(schedule.get_last_lr())

    same(lambda torch: _said(lambda: program(torch)), 1e-12, 1e-15)
