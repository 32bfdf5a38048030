"""L-BFGS (Nocedal & Wright, ch. 7) with an optional strong-Wolfe line search (ch. 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import Optimizer, _check_lr, _to_scalar

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT


__all__ = ["LBFGS"]


class _Point(NamedTuple):
    """A trial on the search line: step length, loss, gradient there, its component along the direction."""

    t: float
    loss: float
    grad: torch.Tensor | None
    slope: float


def _cubic_minimum(a, b, bounds=None):
    """The minimum of the cubic through two points' losses and slopes, kept within `bounds` (by default their span)."""
    low, high = bounds if bounds is not None else (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:  # NaN comes of losses that are infinite
        return (low + high) / 2.0
    d2 = square.sqrt() if isinstance(square, torch.Tensor) else square**0.5
    if a.t <= b.t:
        best = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        best = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(best, low), high)


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """The minimum between `bounds` of the cubic through values `f` and slopes `g` at two points."""
    return _cubic_minimum(_Point(x1, f1, None, g1), _Point(x2, f2, None, g2), bounds)


def _step_length(evaluate, t, direction, start, max_ls, c1=1e-4, c2=0.9, tolerance_change=1e-9) -> tuple:
    """A step length with sufficient decrease (`c1`) and a flat enough slope (`c2`).

    `evaluate(t)` gives `(loss, gradient)`; `start` is the point at 0; `max_ls` bounds the trials after the first. Returns
    the chosen point and the number of evaluations.
    """
    size = direction.abs().max()

    def trial(t: Any) -> _Point:
        loss, grad = evaluate(t)
        return _Point(t, loss, grad, grad.dot(direction))

    def too_high(point: _Point) -> torch.Tensor:
        return point.loss > start.loss + c1 * point.t * start.slope

    def flat(point: _Point) -> torch.Tensor:
        return abs(point.slope) <= -c2 * start.slope

    # Bracketing: go outward until the interval holds a good point.
    previous, point = start, trial(t)
    evaluations, iterations, done = 1, 0, False
    bracket = None
    while iterations < max_ls:
        if too_high(point) or (iterations > 1 and point.loss >= previous.loss):
            bracket = [previous, point]
            break
        if flat(point):
            bracket, done = [point], True
            break
        if point.slope >= 0:
            bracket = [previous, point]
            break
        nearest = point.t + 0.01 * (point.t - previous.t)
        t = _cubic_minimum(previous, point, (nearest, point.t * 10))
        previous, point = point, trial(t)
        evaluations += 1
        iterations += 1
    if bracket is None:
        bracket = [start, point]

    # Zooming: shrink the interval around the good point.
    stalled = False
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    while not done and iterations < max_ls:
        if abs(bracket[1].t - bracket[0].t) * size < tolerance_change:
            break
        t = _cubic_minimum(bracket[0], bracket[1])
        left, right = min(bracket[0].t, bracket[1].t), max(bracket[0].t, bracket[1].t)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            # Close to an end of the interval: the second time in a row, move inward.
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        point = trial(t)
        evaluations += 1
        iterations += 1
        if too_high(point) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        else:
            if flat(point):
                done = True
            elif point.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
    return bracket[low if len(bracket) > 1 else 0], evaluations


def _strong_wolfe(obj_func, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25) -> tuple:
    """`_step_length` with the arguments and results that other optimizers call PyTorch's by: loss, gradient, step length, evaluations."""
    start = _Point(0, f, g, gtd)
    point, evaluations = _step_length(
        lambda step: obj_func(x, step, d), t, d, start, max_ls, c1=c1, c2=c2, tolerance_change=tolerance_change
    )
    return point.loss, point.grad, point.t, evaluations


class LBFGS(Optimizer):
    """L-BFGS (`torch.optim.LBFGS`); `step` needs a closure that clears the gradients and returns the loss.

    `max_iter` iterations and `max_eval` evaluations a step; `history_size` pairs of steps and gradient changes stand
    for the inverse Hessian. `line_search_fn` is None (fixed step `lr`) or "strong_wolfe". One parameter group only.
    The state is kept under the first parameter.

    >>> x = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([x], lr=1.0)
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (x**2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> bool((x.abs() < 1e-5).all())
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        _check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache = None

    def _numel(self):
        """The number of real numbers in all parameters (a complex one counts twice)."""
        if self._numel_cache is None:
            self._numel_cache = sum(2 * p.numel() if torch.is_complex(p) else p.numel() for p in self._params)
        return self._numel_cache

    def _gather_flat_grad(self) -> torch.Tensor:
        views = []
        for p in self._params:
            grad = p.new_zeros(p.numel()) if p.grad is None else p.grad.reshape(-1)
            views.append(torch.view_as_real(grad).reshape(-1) if torch.is_complex(grad) else grad)
        return torch.cat(views, 0)

    def _add_grad(self, step_size, direction) -> None:
        offset = 0
        for p in self._params:
            target = torch.view_as_real(p) if torch.is_complex(p) else p
            count = target.numel()
            target.add_(direction[offset : offset + count].view_as(target), alpha=float(step_size))
            offset += count

    def _clone_param(self) -> list:
        return [p.clone() for p in self._params]

    def _set_param(self, params_data) -> None:
        for p, data in zip(self._params, params_data, strict=True):
            p.copy_(data)

    def _directional_evaluate(self, closure, x, t, d) -> tuple:
        """Loss and gradient at `x + t d`; the parameters are put back to `x`."""
        self._add_grad(t, d)
        loss = float(closure())
        grad = self._gather_flat_grad()
        self._set_param(x)
        return loss, grad

    def _direction(self, state, grad, history_size) -> torch.Tensor:
        """The search direction from the history, which is brought up to date in `state`."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        old_dirs, old_stps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        change = grad.sub(state["prev_flat_grad"])
        step = state["d"].mul(state["t"])
        curvature = change.dot(step)
        if curvature > 1e-10:
            if len(old_dirs) == history_size:
                for column in (old_dirs, old_stps, ro):
                    column.pop(0)
            old_dirs.append(change)
            old_stps.append(step)
            ro.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        # The two-loop recursion (Nocedal & Wright, algorithm 7.4).
        weights: list[Any] = [None] * len(old_dirs)
        q = grad.neg()
        for i in range(len(old_dirs) - 1, -1, -1):
            weights[i] = old_stps[i].dot(q) * ro[i]
            q.add_(old_dirs[i], alpha=float(-weights[i]))
        r = q * state["H_diag"]
        for i in range(len(old_dirs)):
            beta = old_dirs[i].dot(r) * ro[i]
            r.add_(old_stps[i], alpha=float(weights[i] - beta))
        return r

    @torch.no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]  # (it has to be given)
        """Make up to `max_iter` iterations; return the loss before the first."""
        closure = torch.enable_grad()(closure)
        group = self.param_groups[0]
        lr = _to_scalar(group["lr"])
        lr = lr.item() if isinstance(lr, torch.Tensor) else lr
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss = float(first_loss)
        state["func_evals"] += 1
        evaluations = 1
        grad = self._gather_flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss

        iteration = 0
        while iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            state["prev_flat_grad"] = grad.clone()
            previous_loss = loss
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            state.update(d=direction, t=t, prev_loss=previous_loss)
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            left = group["max_eval"] - evaluations
            loss, grad, t, used = self._move(closure, group, direction, t, loss, grad, slope, iteration, left)
            state["t"] = t
            evaluations += used
            state["func_evals"] += used
            if iteration == group["max_iter"] or evaluations >= group["max_eval"]:
                break
            if grad.abs().max() <= group["tolerance_grad"]:
                break
            if direction.mul(t).abs().max() <= group["tolerance_change"]:
                break
            if abs(loss - previous_loss) < group["tolerance_change"]:
                break
        return first_loss

    def _move(self, closure, group, direction, t, loss, grad, slope, iteration, left) -> tuple:
        """Move the parameters along `direction`; return loss, gradient, step length, evaluations used.

        `left` evaluations are left to this step, which bound the line search.
        """
        if group["line_search_fn"] is not None:
            if group["line_search_fn"] != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            origin = self._clone_param()
            start = _Point(0, loss, grad, slope)
            point, used = _step_length(
                lambda t: self._directional_evaluate(closure, origin, t, direction), t, direction, start, left
            )
            self._add_grad(point.t, direction)
            return point.loss, point.grad, point.t, used
        self._add_grad(t, direction)
        if iteration == group["max_iter"]:
            # Another evaluation would have no reader.
            return loss, grad, t, 0
        loss = float(closure())
        return loss, self._gather_flat_grad(), t, 1
