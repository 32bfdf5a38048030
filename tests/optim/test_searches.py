"""L-BFGS and its line search where losses and slopes lie exactly on the bounds, against PyTorch: every point that it tries."""

import copy
import random
from types import ModuleType
from typing import Any

import pytest
from agreement import same

import mindtorch_v2

STARTS = [1.0, 4.0, 0.25]
FLAT, ARMIJO = 0.9, 1e-4


class Scripted:
    """A closure whose losses and slopes come from a list, whatever the parameters are; it notes where it was asked."""

    def __init__(self, torch: ModuleType, seed: int, count: int = 1) -> None:
        draw = random.Random(seed)
        self.param = torch.zeros(count, dtype=torch.float64, requires_grad=True)
        self.torch, self.asked = torch, []
        first = draw.choice([1.0, 2.0, 0.5])
        # The direction is minus the gradient: at step length t the line of sufficient decrease is at -t * first ** 2 * c1.
        bounds = [-ARMIJO * t * first**2 * count for t in (1.0, 0.5, 2.0, 1 / first, 0.1)]
        losses = [0.0, -1.0, 1.0, -0.5, *bounds]
        slopes = [sign * first * scale for sign in (1, -1) for scale in (0.0, FLAT, 0.5, 1.0, 2.0, 0.95)]
        self.script = [(0.0, first)] + [(draw.choice(losses), draw.choice(slopes)) for _ in range(40)]

    def __call__(self) -> Any:
        loss, slope = self.script[min(len(self.asked), 40)]
        self.asked.append(self.param.detach().tolist())
        self.param.grad = self.torch.full_like(self.param, slope)
        return self.torch.tensor(loss, dtype=self.torch.float64)


def _searched(torch: ModuleType, seed: int, lr: float, **settings: Any) -> Any:
    closure = Scripted(torch, seed)
    optimizer = torch.optim.LBFGS([closure.param], lr=lr, line_search_fn="strong_wolfe", **settings)
    found = []
    for _ in range(2):
        found.append(optimizer.step(closure).item())
        state = optimizer.state[closure.param]
        found.append(
            (
                closure.param.detach().tolist(),
                state["func_evals"],
                state["n_iter"],
                float(state["t"]) if "t" in state else None,
            )
        )
    return found, closure.asked


@pytest.mark.parametrize("lr", STARTS)
@pytest.mark.parametrize("block", range(4))
def test_scripted_searches(block: int, lr: float) -> None:
    def program(torch: ModuleType) -> Any:
        seeds = range(25 * block, 25 * (block + 1))
        return [_searched(torch, seed, lr, max_iter=3, max_eval=12 + seed % 5) for seed in seeds]

    same(program, 1e-12, 1e-15)


FUNCTIONS = {
    "wave": lambda t, p, k: (t.sin(k * p) + p**2 / 10).sum(),
    "steep": lambda t, p, k: (t.exp(k * p) - 2 * p).sum(),
    # Rounded off: at a real kink the last digit of a cosine, in which processors differ, decides on the way of a search.
    "bend": lambda t, p, k: ((p - k / 3) ** 2 + 0.5).sqrt().sum() + (p * k).cos().sum(),
    "ridge": lambda t, p, k: ((p[0] - k) ** 4 + 100 * (p[1] - p[0] ** 2) ** 2) / (1 + k),
    "flat": lambda t, p, k: (p - k).clamp(min=0).pow(3).sum(),
}


def _minimized(torch: ModuleType, name: str, number: int, **settings: Any) -> Any:
    param = torch.tensor([0.3 * number - 1, 0.7 - 0.2 * number], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([param], **settings)
    asked = []

    def closure() -> Any:
        asked.append(param.detach().tolist())
        optimizer.zero_grad()
        loss = FUNCTIONS[name](torch, param, 1 + number / 2)
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(2)]
    state = optimizer.state[param]
    return losses, asked, param.detach().tolist(), state["n_iter"], state["func_evals"]


SETTINGS: list[dict[str, Any]] = [
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "lr": 0.1},
    {"line_search_fn": "strong_wolfe", "lr": 8},
    {"line_search_fn": "strong_wolfe", "lr": 3, "max_eval": 4},
    {"line_search_fn": "strong_wolfe", "history_size": 1, "max_iter": 6},
    {"line_search_fn": "strong_wolfe", "tolerance_change": 1e-2},
    {"lr": 0.05, "max_iter": 7},
    {"lr": 0.3, "history_size": 2, "max_iter": 9},
    {"lr": 1, "max_eval": 3},
    {"lr": 0.1, "tolerance_grad": 0.5},
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_searches(name: str) -> None:
    def program(torch: ModuleType) -> Any:
        return [
            _minimized(
                torch,
                name,
                number,
                max_iter=settings.get("max_iter", 5),
                **{k: v for k, v in settings.items() if k != "max_iter"},
            )
            for settings in SETTINGS
            for number in range(6)
        ]

    same(program, 1e-5, 1e-7)


def test_several_parameters() -> None:
    """Without a gradient, complex."""

    def program(torch: ModuleType) -> Any:
        real = torch.arange(6, dtype=torch.float64).reshape(2, 3).requires_grad_()
        imaginary = torch.tensor([1 + 2j, -0.5 - 1j], dtype=torch.complex128, requires_grad=True)
        unused = torch.ones(2, dtype=torch.float64, requires_grad=True)
        found: list[Any] = []
        for params in ([real, unused, imaginary], [imaginary, unused.detach().requires_grad_()]):
            optimizer = torch.optim.LBFGS(
                params, lr=0.1, max_iter=4, line_search_fn="strong_wolfe" if len(params) == 3 else None
            )

            def closure(optimizer: Any = optimizer) -> Any:
                optimizer.zero_grad()
                loss = (real**2).sum() + (imaginary.abs() ** 2).sum() + imaginary.real.sin().sum()
                loss.backward()
                return loss

            found.append(optimizer.step(closure))
            found.extend(param.detach().clone() for param in params)
            found.append(optimizer._numel())
        return found

    same(program, 1e-9, 1e-12)


def test_parameters_of_another_memory_format() -> None:
    torch = mindtorch_v2
    wave = torch.arange(6, dtype=torch.float64).sin()
    found = []
    for param in (wave.reshape(2, 3).t(), wave.reshape(2, 3).t().contiguous()):
        param = param.detach().requires_grad_()
        optimizer = torch.optim.LBFGS([param], lr=0.3, max_iter=3)

        def closure(param: Any = param, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = (param**2).cos().sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        found.append(param.tolist())
    assert found[0] == found[1]


def test_states() -> None:
    def program(torch: ModuleType) -> Any:
        param = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS([param], lr=0.2, max_iter=3, history_size=2)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (param**4).sum()
            loss.backward()
            return loss

        found = []
        with torch.no_grad():
            for _ in range(2):
                optimizer.step(closure)
                state = optimizer.state[param]
                found.append(copy.deepcopy({key: state[key] for key in sorted(state) if key != "al"}))
        saved = optimizer.state_dict()
        found.append({key: value for key, value in saved["param_groups"][0].items() if key != "lr"})
        other = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
        again = torch.optim.LBFGS([other], max_iter=3, history_size=2)
        again.load_state_dict(saved)
        found.append(sorted(key for key in again.state[other] if key != "al"))
        return found

    same(program, 1e-9, 1e-12)
