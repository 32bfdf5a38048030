"""Learning-rate schedules and weight averages against PyTorch: rates and momenta by epoch, state dicts, errors."""

import warnings

import pytest
from agreement import same, same_error

import mindtorch_v2


def optimizer_of(lib, name="SGD", groups=2, **settings):
    params = [{"params": [lib.nn.Parameter(lib.ones(1))], "lr": 0.1 * (i + 1)} for i in range(groups)]
    if name == "SGD":
        settings.setdefault("momentum", 0.9)
    return getattr(lib.optim, name)(params, **settings)


def sequential(lib, o):
    s = lib.optim.lr_scheduler
    return s.SequentialLR(
        o,
        [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 5)],
        milestones=[3, 7],
    )


def chained(lib, o):
    s = lib.optim.lr_scheduler
    return s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)])


MAKERS = {
    "lambda": lambda lib, o: lib.optim.lr_scheduler.LambdaLR(o, [lambda e: e // 3, lambda e: 0.9**e]),
    "multiplicative": lambda lib, o: lib.optim.lr_scheduler.MultiplicativeLR(o, lambda e: 0.95),
    "step": lambda lib, o: lib.optim.lr_scheduler.StepLR(o, 3, gamma=0.5),
    "multistep": lambda lib, o: lib.optim.lr_scheduler.MultiStepLR(o, [2, 5, 5, 8], gamma=0.5),
    "constant": lambda lib, o: lib.optim.lr_scheduler.ConstantLR(o, 0.2, 4),
    "linear": lambda lib, o: lib.optim.lr_scheduler.LinearLR(o, 0.2, 0.8, 6),
    "exponential": lambda lib, o: lib.optim.lr_scheduler.ExponentialLR(o, 0.9),
    "polynomial": lambda lib, o: lib.optim.lr_scheduler.PolynomialLR(o, 7, power=2.0),
    "cosine": lambda lib, o: lib.optim.lr_scheduler.CosineAnnealingLR(o, 4, eta_min=0.01),
    "restarts": lambda lib, o: lib.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2, eta_min=0.001),
    "cyclic": lambda lib, o: lib.optim.lr_scheduler.CyclicLR(o, 0.01, 0.2, step_size_up=3, step_size_down=2),
    "cyclic2": lambda lib, o: lib.optim.lr_scheduler.CyclicLR(o, [0.01, 0.02], 0.2, 3, mode="triangular2"),
    "cyclic_exp": lambda lib, o: lib.optim.lr_scheduler.CyclicLR(o, 0.01, 0.2, 3, mode="exp_range", gamma=0.9),
    "cyclic_fn": lambda lib, o: lib.optim.lr_scheduler.CyclicLR(o, 0.01, 0.2, 3, scale_fn=lambda x: 1 / x),
    "onecycle": lambda lib, o: lib.optim.lr_scheduler.OneCycleLR(o, 0.5, total_steps=14),
    "onecycle3": lambda lib, o: lib.optim.lr_scheduler.OneCycleLR(
        o,
        [0.5, 0.6],
        epochs=7,
        steps_per_epoch=2,
        three_phase=True,
        anneal_strategy="linear",
    ),
    "sequential": sequential,
    "chained": chained,
    "swalr": lambda lib, o: lib.optim.swa_utils.SWALR(o, [0.05, 0.01], anneal_epochs=5),
    "swalr_linear": lambda lib, o: lib.optim.swa_utils.SWALR(o, 0.05, anneal_epochs=5, anneal_strategy="linear"),
}


def rates(optimizer):
    return [(g["lr"], g.get("momentum"), g.get("betas")) for g in optimizer.param_groups]


def flat(history):
    numbers = []
    for item in history:
        if isinstance(item, (list, tuple)):
            numbers.extend(flat(item))
        elif item is not None:
            numbers.append(float(item))
    return numbers


def run(lib, maker, optimizer="SGD", steps=12):
    o = optimizer_of(lib, optimizer)
    scheduler = maker(lib, o)
    history = [rates(o), scheduler.get_last_lr()]
    for _ in range(steps):
        o.step()
        scheduler.step()
        history += [rates(o), scheduler.get_last_lr()]
    return history, scheduler


@pytest.mark.parametrize("case", MAKERS)
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_rates_follow_pytorch(case, optimizer):
    def program(lib):
        history, scheduler = run(lib, MAKERS[case], optimizer)
        return flat(history), list(scheduler.state_dict())

    same(program, 1e-14, 1e-300)


@pytest.mark.parametrize("case", MAKERS)
def test_continues_from_a_state_dict(case):
    whole, _ = run(mindtorch_v2, MAKERS[case], steps=12)
    o = optimizer_of(mindtorch_v2)
    scheduler = MAKERS[case](mindtorch_v2, o)
    for _ in range(5):
        o.step()
        scheduler.step()
    scheduler_state, optimizer_state = scheduler.state_dict(), o.state_dict()
    o = optimizer_of(mindtorch_v2)
    scheduler = MAKERS[case](mindtorch_v2, o)
    o.load_state_dict(optimizer_state)
    scheduler.load_state_dict(scheduler_state)
    for _ in range(7):
        o.step()
        scheduler.step()
    assert flat(rates(o)) == flat(whole[-2])


@pytest.mark.parametrize("name", ["StepLR", "ExponentialLR", "CosineAnnealingLR", "LinearLR", "PolynomialLR"])
@pytest.mark.filterwarnings("ignore")
def test_closed_form_and_resume(name):
    argument = {
        "StepLR": 3,
        "ExponentialLR": 0.9,
        "CosineAnnealingLR": 5,
        "LinearLR": 0.3,
        "PolynomialLR": 8,
    }[name]

    def program(lib):
        o = optimizer_of(lib)
        scheduler = getattr(lib.optim.lr_scheduler, name)(o, argument)
        history = []
        for epoch in (3, 1, 7):
            scheduler.step(epoch)
            history.append(rates(o))
        resumed = getattr(lib.optim.lr_scheduler, name)(o, argument, last_epoch=4)
        history.append(rates(o))
        resumed.step()
        history.append(rates(o))
        return flat(history)

    same(program, 1e-14)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateau(mode, threshold_mode):
    metrics = [1.0, 0.9, 0.9, 0.91, 0.9, 0.9, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3]

    def program(lib):
        o = optimizer_of(lib)
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(
            o,
            mode=mode,
            patience=1,
            cooldown=1,
            threshold_mode=threshold_mode,
            min_lr=[0.001, 0.05],
            threshold=0.01,
        )
        history = []
        for metric in metrics:
            scheduler.step(lib.tensor(metric))
            history.append(rates(o))
        return flat(history), scheduler.state_dict()

    same(program)


def test_tensor_rate_is_filled_in_place():
    lib = mindtorch_v2
    rate = lib.tensor(0.1)
    o = lib.optim.AdamW([lib.nn.Parameter(lib.ones(1))], lr=rate)
    scheduler = lib.optim.lr_scheduler.ExponentialLR(o, 0.5)
    o.step()
    scheduler.step()
    assert o.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.05)


BAD = {
    "no optimizer": lambda s, o: s.StepLR(3, 1),
    "resume": lambda s, o: s.StepLR(o, 1, last_epoch=3),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda e: 1]),
    "constant": lambda s, o: s.ConstantLR(o, factor=2),
    "linear start": lambda s, o: s.LinearLR(o, start_factor=0),
    "linear end": lambda s, o: s.LinearLR(o, end_factor=2),
    "sequential none": lambda s, o: s.SequentialLR(o, [], []),
    "sequential count": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [1, 2]),
    "sequential plateau": lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o), s.StepLR(o, 1)], [1]),
    "sequential other": lambda s, o: s.SequentialLR(o, [3, s.StepLR(o, 1)], [1]),
    "chained none": lambda s, o: s.ChainedScheduler([]),
    "chained plateau": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "plateau factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1),
    "plateau min": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[1]),
    "plateau mode": lambda s, o: s.ReduceLROnPlateau(o, mode="x"),
    "plateau threshold": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="x"),
    "cyclic mode": lambda s, o: s.CyclicLR(o, 1, 1, mode="x"),
    "cyclic list": lambda s, o: s.CyclicLR(o, [1], 1),
    "restarts T_0": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "restarts T_mult": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 0),
    "restarts eta": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, eta_min="s"),
    "restarts epoch": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5).step(-1),
    "onecycle none": lambda s, o: s.OneCycleLR(o, 1),
    "onecycle steps": lambda s, o: s.OneCycleLR(o, 1, total_steps=-1),
    "onecycle epochs": lambda s, o: s.OneCycleLR(o, 1, epochs=0, steps_per_epoch=1),
    "onecycle pct": lambda s, o: s.OneCycleLR(o, 1, total_steps=4, pct_start=2),
    "onecycle anneal": lambda s, o: s.OneCycleLR(o, 1, total_steps=4, anneal_strategy="x"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_settings(case):
    same_error(lambda lib: BAD[case](lib.optim.lr_scheduler, optimizer_of(lib)))


def test_warnings_of_call_order():
    lib = mindtorch_v2
    o = optimizer_of(lib)
    scheduler = lib.optim.lr_scheduler.StepLR(o, 1)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`"):
        scheduler.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()
    o = optimizer_of(lib)
    scheduler = lib.optim.lr_scheduler.StepLR(o, 1)
    o.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()


@pytest.mark.parametrize("kind", ["default", "ema", "multi_ema", "avg", "buffers"])
def test_averaged_model(kind):
    def program(lib):
        swa = lib.optim.swa_utils
        settings = {
            "default": {},
            "ema": {"avg_fn": swa.get_ema_avg_fn(0.9)},
            "multi_ema": {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
            "avg": {"avg_fn": swa.get_swa_avg_fn()},
            "buffers": {"use_buffers": True},
        }[kind]
        model = lib.nn.BatchNorm1d(3)
        averaged = swa.AveragedModel(model, **settings)
        for step in range(4):
            with lib.no_grad():
                model.weight.add_(0.1 * step)
                model.bias.sub_(0.2)
                model.running_mean.add_(1.0)
                model.num_batches_tracked.add_(2)
            averaged.update_parameters(model)
        return dict(averaged.state_dict())

    same(program, 1e-6)


def test_update_bn():
    def program(lib):
        model = lib.nn.BatchNorm1d(3)
        model.eval()
        batches = [lib.arange(12, dtype=lib.float32).reshape(4, 3) * k for k in (1, 2, 5)]
        lib.optim.swa_utils.update_bn([(b, None) for b in batches], model)
        assert not model.training
        assert model.momentum == 0.1
        return model.running_mean, model.running_var

    same(program, 1e-6)


def test_rates_of_a_scheduler_that_has_not_begun():
    """`get_lr` reads marks that only the first step sets: a class says what they are before."""
    made = mindtorch_v2.optim.lr_scheduler.ExponentialLR.__new__(mindtorch_v2.optim.lr_scheduler.ExponentialLR)
    made.optimizer, made.gamma, made.last_epoch = mindtorch_v2.optim.SGD([mindtorch_v2.zeros(1)], lr=2.0), 0.5, 1
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        assert made.get_lr() == [1.0]
