"""Settings on the bounds of what optimizers and schedules take, schedules that are resumed, and averages of weights, against PyTorch."""

import warnings
from types import ModuleType
from typing import Any

import pytest
from agreement import same
from expressions import lines

import mindtorch_v2

NAN = float("nan")
VALUES = [-1.0, -1e-300, 0.0, 0.5, 1.0, 1.5, NAN, 3]
PAIRS = [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (1.0, 0.5), (0.5, 1.0), (-1.0, 0.5), (0.5, -1.0), (NAN, 0.5), (0.5, NAN), (1.5, 0.5), (0.5, 1.5), (0.0, 1.0),
         (1.0, 1.5), (0.0, 1.5), (1.0, 1.0), (0.5, 0.5), (None, 0.0), (None, -1.0)]  # fmt: skip
NUMBERS = {
    "SGD": ["lr", "momentum", "dampening", "weight_decay"],
    "Adam": ["lr", "eps", "weight_decay"], "AdamW": ["lr", "eps", "weight_decay"],
    "Adagrad": ["lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"],
    "RMSprop": ["lr", "alpha", "eps", "weight_decay", "momentum"],
    "Adadelta": ["lr", "rho", "eps", "weight_decay"],
    "Adamax": ["lr", "eps", "weight_decay"],
    "NAdam": ["lr", "eps", "weight_decay", "momentum_decay"], "RAdam": ["lr", "eps", "weight_decay"],
    "Rprop": ["lr"], "ASGD": ["lr", "lambd", "alpha", "t0", "weight_decay"],
    "Adafactor": ["lr", "beta2_decay", "d", "weight_decay"],
    "Muon": ["lr", "weight_decay", "momentum", "eps", "ns_steps"],
    "SparseAdam": ["lr", "eps"],
    "LBFGS": ["lr", "max_iter", "tolerance_grad", "history_size"],
}  # fmt: skip
PAIRED = {
    **dict.fromkeys(("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam"), "betas"),
    "Rprop": "etas",
    "Adafactor": "eps",
}


def _said(call: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:  # noqa: BLE001  (what PyTorch raises is what is expected)
        return type(error).__name__, str(error)


def _made(torch: ModuleType, name: str, **settings: Any) -> str:
    return repr(getattr(torch.optim, name)([torch.zeros(2, 2, requires_grad=True)], **settings))


@pytest.mark.parametrize("name", NUMBERS)
def test_settings(name: str) -> None:
    def program(torch: ModuleType) -> Any:
        cases = [{setting: value} for setting in NUMBERS[name] for value in VALUES]
        if name == "SGD":
            cases.remove({"lr": NAN})  # which PyTorch's SGD alone takes
        cases += [{PAIRED[name]: pair} for pair in PAIRS if name in PAIRED]
        cases += [{"lr": torch.tensor(value)} for value in (0.5, -1.0, [0.5], [0.5, 0.5])]
        cases += [
            {"lr": torch.tensor(0.5), "foreach": True},
            {"fused": True},
            {"fused": True, "foreach": True},
            {"fused": True, "differentiable": True},
        ]
        if name == "SGD":
            cases += [
                {"nesterov": True, "momentum": momentum, "dampening": dampening}
                for momentum in (0.0, -1.0, 0.5)
                for dampening in (0.0, 0.5)
            ]
        if name == "Muon":
            cases += [{"adjust_lr_fn": each} for each in (None, "original", "match_rms_adamw", "other")]
        return {str(case): _said(lambda case=case: _made(torch, name, **case)) for case in cases}

    same(program)


def test_muon() -> None:
    def program(torch: ModuleType) -> Any:
        def step(*shape: int, count: int | None = None, **settings: Any) -> Any:
            param = torch.ones(shape, requires_grad=True)
            param.grad = torch.ones(shape if count is None else (count,))
            optimizer = torch.optim.Muon([param], **settings)
            optimizer.step()
            return "stepped"

        orthogonalize = (
            torch.optim._muon._zeropower_via_newtonschulz
            if hasattr(torch.optim, "_muon")
            else torch.optim.muon._orthogonalize
        )
        return [
            _said(lambda: step(2)), _said(lambda: step(2, 2, 2)), _said(lambda: step()), _said(lambda: step(2, 2)),
            _said(lambda: step(2, 2, ns_steps=99)), _said(lambda: step(2, 2, ns_steps=100)), _said(lambda: step(2, 2, ns_coefficients=(1.0, 2.0))),
            _said(lambda: step(2, 2, ns_coefficients=(1.0, 2.0, 3.0, 4.0))),
            _said(lambda: orthogonalize(torch.ones(3), (1.0, 2.0, 3.0), 2, 1e-7)),
            _said(lambda: orthogonalize(torch.ones(2, 2, 2), (1.0, 2.0, 3.0), 2, 1e-7)),
        ]  # fmt: skip

    same(program)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_sparse_adam(kind: str) -> None:
    def program(torch: ModuleType) -> Any:
        found: list[Any] = []
        for settings in (
            {},
            {"lr": 0.1, "betas": (0.5, 0.6), "eps": 0.1},
            {"maximize": True},
            {"lr": torch.tensor(0.1)},
        ):
            param = torch.arange(8.0, dtype=torch.float64).reshape(4, 2).requires_grad_()
            unused = torch.ones(2, 2, requires_grad=True)
            optimizer = torch.optim.SparseAdam([param, unused], **settings)
            for step in range(3):
                grad = torch.sparse_coo_tensor(
                    torch.tensor([[3, 1, 3]]), torch.arange(6.0, dtype=torch.float64).reshape(3, 2) + step, (4, 2)
                )
                param.grad = grad if kind == "sparse" else grad.to_dense()
                found.append(optimizer.step(lambda: torch.tensor(2.0)))
            empty = torch.sparse_coo_tensor(
                torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0, 2, dtype=torch.float64), (4, 2)
            )
            param.grad = empty
            optimizer.step()
            found += [param.detach().clone(), sorted(optimizer.state[param].items())]
        return found

    same(lambda torch: _said(lambda: program(torch)), 1e-6, 1e-9)


def test_sparse_adam_of_sparse_parameters() -> None:
    def program(torch: ModuleType) -> Any:
        sparse = torch.eye(2).to_sparse().requires_grad_()
        dense = torch.ones(2, requires_grad=True)
        return [
            _said(lambda: torch.optim.SparseAdam([sparse])),
            _said(
                lambda: torch.optim.SparseAdam(
                    [{"params": [dense]}, {"params": [dense.detach().requires_grad_(), sparse]}]
                )
            ),
            _said(lambda: torch.optim.SparseAdam([dense], betas=(0.5, 1.0))),
        ]

    same(program)


class Falling:
    """A callable object with a state."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, epoch: float) -> float:
        return self.factor**epoch


SCHEDULES = lines("""
s.LambdaLR(o, Falling(0.9))
s.LambdaLR(o, [Falling(0.9), lambda e: 0.5])
s.MultiplicativeLR(o, [Falling(0.99), Falling(0.95)])
s.StepLR(o, 1)
s.StepLR(o, 1, 0.5)
s.MultiStepLR(o, [0, 3, 3, 20], 0.5)
s.MultiStepLR(o, [])
s.ConstantLR(o, 1.0)
s.ConstantLR(o, 0.5, 1)
s.ConstantLR(o, 0.5, 0)
s.ConstantLR(o, 0.0, 20)
s.ConstantLR(o, -0.1)
s.ConstantLR(o, 1.0001)
s.LinearLR(o, 1.0, 0.0, 3)
s.LinearLR(o, 0.0)
s.LinearLR(o, 1.0001)
s.LinearLR(o, 0.25, 1.0, 1)
s.LinearLR(o, 0.25, 0.0, 11)
s.LinearLR(o, 0.25, 1.0001)
s.ExponentialLR(o, 1.0)
s.ExponentialLR(o, 0.0)
s.PolynomialLR(o, 1)
s.PolynomialLR(o, 11, 0.5)
s.CosineAnnealingLR(o, 2)
s.CosineAnnealingLR(o, 3, 0.3)
s.CosineAnnealingLR(o, 10, -0.1)
s.CosineAnnealingWarmRestarts(o, 1)
s.CosineAnnealingWarmRestarts(o, 1, 2, 0)
s.CosineAnnealingWarmRestarts(o, 4, 1, 1)
s.CosineAnnealingWarmRestarts(o, 0)
s.CosineAnnealingWarmRestarts(o, 2, 0)
s.CosineAnnealingWarmRestarts(o, 2, 2, eta_min="1")
s.CosineAnnealingWarmRestarts(o, 2, 2, eta_min=None)
s.CyclicLR(o, 0.1, 0.4, 1)
s.CyclicLR(o, 0.1, 0.4, 2, 1, "triangular2")
s.CyclicLR(o, 0.1, 0.4, 2, 3, "exp_range", 0.5)
s.CyclicLR(o, 0.1, 0.4, 2, mode="own", scale_fn=Falling(0.9))
s.CyclicLR(o, 0.1, 0.4, 2, mode="own", scale_fn=lambda x: 0.5, scale_mode="iterations")
s.CyclicLR(o, 0.1, 0.4, 2, scale_fn=Falling(0.9), scale_mode="iterations")
s.CyclicLR(o, [0.1, 0.2, 0.3], 0.4)
s.CyclicLR(o, 0.1, 0.4, 2, base_momentum=[0.5])
s.CyclicLR(o, 0.1, 0.4, 2, max_momentum=[0.5])
s.CyclicLR(rprop, 0.1, 0.4, 2)
s.CyclicLR(rprop, 0.1, 0.4, 2, cycle_momentum=False)
s.CyclicLR(3, 0.1, 0.4, 2)
s.OneCycleLR(o, 0.5, 1)
s.OneCycleLR(o, 0.5, 2)
s.OneCycleLR(o, 0.5, 11)
s.OneCycleLR(o, 0.5, epochs=1, steps_per_epoch=12)
s.OneCycleLR(o, 0.5, epochs=12, steps_per_epoch=1)
s.OneCycleLR(o, 0.5, steps_per_epoch=1)
s.OneCycleLR(o, 0.5, 0)
s.OneCycleLR(o, 0.5, -1)
s.OneCycleLR(o, 0.5, epochs=2.0, steps_per_epoch=1)
s.OneCycleLR(o, 0.5, epochs=2, steps_per_epoch=1.0)
s.OneCycleLR(o, 0.5, 12, pct_start=0.0)
s.OneCycleLR(o, 0.5, 12, pct_start=1.0)
s.OneCycleLR(o, 0.5, 12, pct_start=1.1)
s.OneCycleLR(o, 0.5, 12, pct_start=0)
s.OneCycleLR(o, 0.5, 12, anneal_strategy="linear", three_phase=True, div_factor=2.0)
s.OneCycleLR(o, 0.5, 12, base_momentum=[0.5])
s.OneCycleLR(o, 0.5, 12, max_momentum=[0.5])
s.OneCycleLR(rprop, 0.5, 12)
s.OneCycleLR(rprop, 0.5, 12, cycle_momentum=False)
s.OneCycleLR(3, 0.5, 12)
s.SequentialLR(o, [s.SequentialLR(o, [s.ConstantLR(o, 0.5, 2), s.StepLR(o, 1, 0.5)], [2]), s.LambdaLR(o, Falling(0.9))], [5])
s.SequentialLR(o, [s.ChainedScheduler([s.ConstantLR(o, 0.5, 2), s.ExponentialLR(o, 0.9)]), s.StepLR(o, 2)], [3])
s.SequentialLR(o, [s.CosineAnnealingWarmRestarts(o, 2), s.OneCycleLR(o, 0.5, 12)], [4])
s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 2), s.CyclicLR(o, 0.1, 0.3, 2)], [1])
s.SequentialLR(o, [s.StepLR(o, 1), s.StepLR(o, 2), s.StepLR(o, 3)], [2, 2])
s.SequentialLR(o, [s.StepLR(o, 1), s.StepLR(o, 2)], [0])
s.SequentialLR(o, [], [])
s.SequentialLR(o, [s.StepLR(o, 1)], [1])
s.ChainedScheduler([s.SequentialLR(o, [s.StepLR(o, 1), s.StepLR(o, 2)], [2]), s.ExponentialLR(o, 0.9)])
s.ChainedScheduler([s.MultiplicativeLR(o, Falling(0.9)), s.LinearLR(o)])
s.ChainedScheduler([])
s.ChainedScheduler([3])
w.SWALR(o, 0.05, 1)
w.SWALR(o, 0.05, 0, "linear")
w.SWALR(o, 0.05, 2.5)
w.SWALR(o, [0.05, 0.06, 0.07])
s.StepLR(3, 1)
s.LRScheduler(o)
""")


def _scheduled(torch: ModuleType, text: str, optimizer: Any = None) -> tuple[Any, Any]:
    params = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]
    groups = [{"params": params[:1], "lr": 0.5}, {"params": params[1:], "lr": 0.25}]
    made = optimizer or torch.optim.SGD(groups, momentum=0.5)
    rprop = torch.optim.Rprop([{"params": params[:1], "lr": 0.5}, {"params": params[1:], "lr": 0.25}])
    names = {"s": torch.optim.lr_scheduler, "w": torch.optim.swa_utils, "o": made, "rprop": rprop, "Falling": Falling}
    schedule = eval(text, names)
    return getattr(schedule, "optimizer", made), schedule


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return "callable" if callable(value) else value


def _rates(optimizer: Any) -> list[Any]:
    return [
        _plain({key: value for key, value in group.items() if "lr" in key or "moment" in key})
        for group in optimizer.param_groups
    ]


@pytest.mark.parametrize("text", SCHEDULES)
def test_schedules(text: str) -> None:
    def by_steps(torch: ModuleType) -> Any:
        optimizer, schedule = _scheduled(torch, text)
        found = [_rates(optimizer), _plain(schedule.get_last_lr())]
        for _ in range(12):
            optimizer.step()
            schedule.step()
            found.append([group["lr"] for group in optimizer.param_groups] + _plain(schedule.get_last_lr()))
        return found, _plain(schedule.state_dict())

    def by_epochs(torch: ModuleType) -> Any:
        found = []
        for epoch in (0, 1, 2, 3, 7, 11, 2.5, -1):
            optimizer, schedule = _scheduled(torch, text)
            schedule.step(epoch)
            found.append([[group["lr"] for group in optimizer.param_groups], schedule.last_epoch])
        return found

    def resumed(torch: ModuleType) -> Any:
        optimizer, schedule = _scheduled(torch, text)
        for _ in range(3):
            optimizer.step()
            schedule.step()
        state, before = schedule.state_dict(), _plain(schedule.state_dict())
        other, again = _scheduled(torch, text.replace("0.9", "0.8"))
        again.load_state_dict(state)
        if torch is mindtorch_v2:
            assert _plain(state) == before  # PyTorch takes the function out of the caller's dict
        found = [_plain(again.state_dict())]
        again.step()
        found.append(_rates(other))
        if "last_epoch" not in text and not text.startswith(("s.Seq", "s.Chain")):
            optimizer, schedule = _scheduled(
                torch, text[:-1] + ", last_epoch=2)", optimizer if "rprop" not in text else None
            )
            found += [_rates(optimizer), schedule.last_epoch, schedule._step_count, _plain(schedule.base_lrs)]
            schedule.step()
            found.append(_rates(optimizer))
        return found

    same(lambda torch: [_said(lambda run=run: run(torch)) for run in (by_steps, by_epochs, resumed)], 1e-12, 1e-15)


def test_what_schedules_warn_of() -> None:
    def program(torch: ModuleType) -> Any:
        def heard(*calls: Any) -> list[str]:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                for call in calls:
                    call()
            return [f"{each.category.__name__}: {each.message}" for each in seen]

        found = []
        optimizer, schedule = _scheduled(torch, "s.StepLR(o, 1)")
        found.append(heard(schedule.step, optimizer.step, schedule.step))
        optimizer, schedule = _scheduled(torch, "s.StepLR(o, 1)")
        found.append(heard(optimizer.step, schedule.step, schedule.get_lr, lambda: schedule.step(3)))
        optimizer, schedule = _scheduled(torch, "s.StepLR(o, 1)")
        optimizer.step = lambda: None
        found.append(heard(optimizer.step, schedule.step, schedule.step))
        optimizer, schedule = _scheduled(torch, "s.ReduceLROnPlateau(o)")
        found.append(heard(lambda: schedule.step(1.0), lambda: schedule.step(1.0, 3)))
        for text in ("LambdaLR(o, abs)", "MultiplicativeLR(o, abs)", "MultiStepLR(o, [1])", "ConstantLR(o)", "LinearLR(o)", "ExponentialLR(o, 0.5)",
                     "PolynomialLR(o)", "CosineAnnealingLR(o, 3)", "CosineAnnealingWarmRestarts(o, 3)", "CyclicLR(o, 0.1, 0.2)", "OneCycleLR(o, 0.1, 5)"):  # fmt: skip
            found.append(heard(_scheduled(torch, f"s.{text}")[1].get_lr))
        found.append(heard(_scheduled(torch, "w.SWALR(o, 0.1)")[1].get_lr))
        found.append(
            heard(lambda: _scheduled(torch, "s.SequentialLR(o, [s.StepLR(o, 1), s.StepLR(o, 2)], [1])")[1].step())
        )
        return found

    same(program)


def test_tensor_rates_are_not_shared() -> None:
    def program(torch: ModuleType) -> Any:
        found: list[Any] = []
        for text in SCHEDULES[3:6] + [
            "w.SWALR(o, t, 3)",
            "s.CyclicLR(o, t, 0.5, 2)",
            "s.ExponentialLR(o, 0.5)",
            "s.SequentialLR(o, [s.StepLR(o, 1), s.StepLR(o, 2)], [1])",
            "s.ReduceLROnPlateau(o, patience=0)",
        ]:
            rate, target = torch.tensor(0.5), torch.tensor(0.125)
            optimizer = torch.optim.Adam(
                [
                    {"params": [torch.ones(1, requires_grad=True)], "lr": rate},
                    {"params": [torch.ones(1, requires_grad=True)], "lr": rate.clone()},
                ]
            )
            schedule = eval(
                text, {"s": torch.optim.lr_scheduler, "w": torch.optim.swa_utils, "o": optimizer, "t": target}
            )
            last = []
            for _ in range(3):
                optimizer.step()
                schedule.step(*((1.0,) if "Plateau" in text else ()))
                last.append(schedule.get_last_lr())
            found.append([[float(each) for each in rates] for rates in last])
            found.append([float(each) for each in (rate, target)])
            found.append([type(group["lr"]).__name__ for group in optimizer.param_groups])
            found.append(optimizer.param_groups[0]["lr"] is rate)
        return found

    same(program, 1e-6)


def test_plateaus_on_their_bounds() -> None:
    def program(torch: ModuleType) -> Any:
        found = []
        for mode in ("min", "max"):
            for kind in ("rel", "abs"):
                for settings in (
                    {"threshold": 0.5},
                    {"threshold": 0.0},
                    {"threshold": 0.5, "cooldown": 1, "patience": 1},
                    {"eps": 0.25},
                    {"eps": 0.125},
                    {"min_lr": 0.25},
                    {"min_lr": [0.0, 0.25]},
                ):
                    optimizer, schedule = _scheduled(
                        torch,
                        f"s.ReduceLROnPlateau(o, mode='{mode}', threshold_mode='{kind}', factor=0.5, **{ ({'patience': 0} | settings)!r})",
                    )
                    for measured in (
                        1.0,
                        0.5,
                        0.5,
                        0.25,
                        0.0,
                        0.0,
                        2.0,
                        3.0,
                        3.0,
                        4.5,
                        4.5,
                        4.5,
                        float("inf"),
                        -float("inf"),
                    ):
                        schedule.step(torch.tensor(measured))
                        found.append(
                            [
                                [group["lr"] for group in optimizer.param_groups],
                                schedule.num_bad_epochs,
                                schedule.cooldown_counter,
                                schedule.best,
                                schedule.last_epoch,
                            ]
                        )
        return found

    same(program)


def test_plateaus_and_groups_that_came_later() -> None:
    def program(torch: ModuleType) -> Any:
        found = []
        for low in ("0.01", "[0.01, 0.02]"):
            optimizer, schedule = _scheduled(torch, f"s.ReduceLROnPlateau(o, patience=0, min_lr={low})")
            optimizer.add_param_group({"params": [torch.ones(1, requires_grad=True)], "lr": 4.0})
            found.append(_said(lambda schedule=schedule: [schedule.step(1.0), schedule.step(1.0)]))
            found.append(([group["lr"] for group in optimizer.param_groups], schedule.min_lrs, schedule.get_last_lr()))
            saved = schedule.state_dict()
            other, again = _scheduled(torch, "s.ReduceLROnPlateau(o, 'max', threshold_mode='abs')")
            again.load_state_dict({key: value for key, value in saved.items() if key != "optimizer"})
            again._reset()
            found.append((again.mode_worse, again.mode, again.threshold_mode, again.best, again.num_bad_epochs))
        return found

    same(program)


def _model(torch: ModuleType) -> Any:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    with torch.no_grad():
        for place, param in enumerate(model.parameters()):
            param.copy_(torch.arange(param.numel()).reshape(param.shape) * 0.5 + place)
    return model


@pytest.mark.parametrize("kind", ["default", "ema", "multi ema", "swa", "multi swa", "ema 0.5", "multi ema 0.5", "own"])
@pytest.mark.parametrize("use_buffers", [True, False])
def test_averages(kind: str, use_buffers: bool) -> None:
    def program(torch: ModuleType) -> Any:
        w = torch.optim.swa_utils
        settings = {
            "default": {}, "ema": {"avg_fn": w.get_ema_avg_fn()}, "multi ema": {"multi_avg_fn": w.get_ema_multi_avg_fn()},
            "swa": {"avg_fn": w.get_swa_avg_fn()}, "multi swa": {"multi_avg_fn": w.get_swa_multi_avg_fn()},
            "ema 0.5": {"avg_fn": w.get_ema_avg_fn(0.5)}, "multi ema 0.5": {"multi_avg_fn": w.get_ema_multi_avg_fn(0.5)},
            "own": {"avg_fn": lambda average, new, count: average + new * count},
        }[kind]  # fmt: skip
        model = _model(torch)
        if kind == "multi swa":  # PyTorch's function takes no whole numbers
            model[0].num_batches_tracked = model[0].num_batches_tracked.double()
        averaged = w.AveragedModel(model, use_buffers=use_buffers, **settings)
        found = []
        for step in range(4):
            with torch.no_grad():
                for each in [*model.parameters(), *model.buffers()]:
                    each.add_(step + 1)
            averaged.update_parameters(model)
            found.append({key: value.clone() for key, value in averaged.state_dict().items()})
        return found, averaged(torch.ones(3, 2)), averaged.module is not model, averaged.n_averaged

    same(program, 1e-5, 1e-6)


def test_averages_of_whole_numbers() -> None:
    torch = mindtorch_v2
    averages, news = [torch.arange(4)], [torch.arange(4) * 5]
    update = torch.optim.swa_utils.get_swa_multi_avg_fn()
    update(averages, news, 1)
    assert averages[0].tolist() == [0, 3, 6, 9]
    update(averages, news, torch.tensor(3))
    assert averages[0].tolist() == [0, 3, 7, 10]  # 3.5, 7 and 10.5, cut off
    assert averages[0].dtype == torch.int64


def test_averages_of_other_dtypes() -> None:
    def program(torch: ModuleType) -> Any:
        w = torch.optim.swa_utils
        found = []
        for dtype in ("int64", "float64", "complex64", "float16"):
            kind = getattr(torch, dtype)
            for make in (w.get_ema_multi_avg_fn(0.75), w.get_swa_multi_avg_fn()):
                if dtype == "int64" and "swa" in make.__qualname__:
                    continue
                averages, news = [torch.arange(4).to(kind)], [torch.arange(4).to(kind) * 5]
                for count in (1, 2, torch.tensor(3)):
                    make(averages, news, count)
                found.append(averages[0])
            for make in (w.get_ema_avg_fn(0.75), w.get_swa_avg_fn()):
                found.append(make(torch.arange(4).to(kind), torch.arange(4).to(kind) * 5, 3))
        return found

    same(program, 1e-3, 1e-3)


def test_decays_and_functions() -> None:
    def program(torch: ModuleType) -> Any:
        w = torch.optim.swa_utils
        found = [
            _said(lambda make=make, decay=decay: callable(make(decay)))
            for make in (w.get_ema_avg_fn, w.get_ema_multi_avg_fn)
            for decay in (-0.1, 0.0, 0.5, 1.0, 1.1)
        ]
        found.append(
            _said(
                lambda: w.AveragedModel(_model(torch), avg_fn=w.get_swa_avg_fn(), multi_avg_fn=w.get_swa_multi_avg_fn())
            )
        )
        one = torch.ones(2, requires_grad=True)
        for make in (w.get_ema_avg_fn(), w.get_swa_avg_fn()):
            found.append(make(one, one * 3, 4).requires_grad)
        averaged = w.AveragedModel(_model(torch), device="cpu")
        found.append(
            (averaged.n_averaged, averaged.n_averaged.device.type, [name for name, _ in averaged.named_buffers()])
        )
        on_meta = w.AveragedModel(_model(torch), device="meta")
        found.append(
            (on_meta.n_averaged.device.type, {param.device.type for param in on_meta.parameters()} == {"meta"})
        )
        return found

    same(program, 1e-6)


def test_updates_of_batch_norms() -> None:
    def program(torch: ModuleType) -> Any:
        batches = [torch.arange(6.0).reshape(3, 2) * k for k in (1, 2, 4)]
        found = []
        for training in (True, False):
            for given in (batches, [(each, 1) for each in batches], [[each] for each in batches]):
                for settings in ({}, {"device": "cpu"}):
                    model = _model(torch).train(training)
                    model[0].momentum = 0.25
                    torch.optim.swa_utils.update_bn(given, model, **settings)
                    found.append(
                        (
                            model[0].running_mean,
                            model[0].running_var,
                            model[0].num_batches_tracked,
                            model[0].momentum,
                            model.training,
                        )
                    )
        plain = torch.nn.Linear(2, 1)
        found.append(torch.optim.swa_utils.update_bn([3], plain))
        found.append(_said(lambda: torch.optim.swa_utils.update_bn([3], _model(torch))) is not None)
        model = _model(torch)
        torch.optim.swa_utils.update_bn(batches, model)
        found.append(model[1].weight.grad is None)
        return found

    same(program, 1e-6)


def test_decays_of_sparse_gradients() -> None:
    def program(torch: ModuleType) -> Any:
        found = []
        for name in ("Adagrad", "SGD"):
            for settings in ({"weight_decay": 0.1}, {"weight_decay": 0.1, "foreach": False}):
                param = torch.arange(8.0, dtype=torch.float64).reshape(4, 2).requires_grad_()
                param.grad = torch.sparse_coo_tensor(
                    torch.tensor([[3, 1]]), torch.ones(2, 2, dtype=torch.float64), (4, 2)
                )
                optimizer = getattr(torch.optim, name)([param], **settings)
                found.append((_said(optimizer.step), param.detach().clone()))
        return found

    same(program, 1e-9)


@pytest.mark.parametrize("name", ["Adafactor", "Adam", "NAdam", "ASGD", "Rprop", "Adamax"])
def test_numbers_that_are_none(name: str) -> None:
    def program(torch: ModuleType) -> Any:
        found = []
        for values, slopes in (
            ([NAN, 1.0], [1.0, 1.0]),
            ([1.0, 1.0], [NAN, 1.0]),
            ([float("inf"), 1.0], [1.0, 1.0]),
            ([1.0, 1.0], [float("inf"), 0.0]),
            ([0.0, 0.0], [0.0, 0.0]),
        ):
            param = torch.tensor(values, dtype=torch.float64, requires_grad=True)
            optimizer = getattr(torch.optim, name)([param], foreach=False)
            for _ in range(2):
                param.grad = torch.tensor(slopes, dtype=torch.float64)
                optimizer.step()
            found.append((param, [value for _, value in sorted(optimizer.state[param].items())]))
        return found

    same(program, 1e-9)


@pytest.mark.parametrize(
    "text", [text for text in SCHEDULES if "Restarts" in text or "Cosine" in text or "Cyclic" in text]
)
def test_schedules_that_go_to_and_fro(text: str) -> None:
    def program(torch: ModuleType) -> Any:
        optimizer, schedule = _scheduled(torch, text)
        found = []
        for epoch in (5, 1, 9, 0.5, None, 30, None, 0.25, 3, None):
            schedule.step(*(() if epoch is None else (epoch,)))
            found.append(([group["lr"] for group in optimizer.param_groups], schedule.last_epoch))
        return found

    same(lambda torch: _said(lambda: program(torch)), 1e-12, 1e-15)
