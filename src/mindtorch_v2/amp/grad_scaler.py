"""`GradScaler`: scales the loss so that small float16 gradients survive, and skips steps whose gradients overflowed."""

from __future__ import annotations

import warnings
from collections import abc, defaultdict
from enum import Enum
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import Optimizer
    from mindtorch_v2.types import Device


__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far an optimizer has come since the last `update`.

    >>> torch.amp.grad_scaler.OptState.STEPPED.value
    2
    """

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _check(condition, message) -> None:
    if not condition:
        raise AssertionError(message)


class GradScaler:
    """Gradient scaling (`torch.amp.GradScaler`).

    `scale(loss).backward()`, `step(optimizer)`, `update()`: the step is skipped if a gradient is infinite or NaN;
    then the scale is multiplied by `backoff_factor`, and after `growth_interval` good steps by `growth_factor`.
    With `enabled=False`, or for a device that is not there, everything passes through unchanged.

    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(torch.tensor(2.0))
    tensor(16.)
    """

    def __init__(
        self,
        device: Device = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled and not torch.cuda.is_available():
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            _check(growth_factor > 1.0, "The growth factor must be > 1.0.")
            _check(backoff_factor < 1.0, "The backoff factor must be < 1.0.")
            self._init_scale = init_scale
            self._scale: Any = None
            self._growth_factor = growth_factor
            self._backoff_factor = backoff_factor
            self._growth_interval: Any = growth_interval
            self._init_growth_tracker: Any = 0
            self._growth_tracker: Any = None
            self._per_optimizer_states: defaultdict[Any, Any] = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, funcname) -> tuple:
        fix = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        _check(self._scale is not None, f"Attempted {funcname} but _scale is None.  {fix}")
        _check(self._growth_tracker is not None, f"Attempted {funcname} but _growth_tracker is None.  {fix}")
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev) -> None:
        _check(self._growth_tracker is None, "_growth_tracker initialized before _scale")
        self._scale = torch.full((), self._init_scale, dtype=torch.float32, device=dev)
        self._growth_tracker = torch.full((), self._init_growth_tracker, dtype=torch.int32, device=dev)

    def scale(self, outputs: Any) -> Any:
        """A tensor, or an iterable of tensors, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(device=outputs.device, non_blocking=True)
        if isinstance(outputs, abc.Iterable) and not isinstance(outputs, str):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        """Multiply all gradients by `inv_scale`, in place; per device, a float that is 1 if one was not finite."""
        found = {}
        with torch.no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    if param.grad is None:
                        continue
                    if not allow_fp16 and param.grad.dtype == torch.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    grad = param.grad
                    device = grad.device
                    if device not in found:
                        found[device] = found_inf.to(device, copy=True)
                    found[device].copy_(torch.maximum(found[device], _not_finite(grad)))
                    grad.mul_(inv_scale.to(device=device, dtype=grad.dtype))
        return found

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients by the scale, so that they can be clipped; once per optimizer and update."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        # In float64: the reciprocal of a large scale would lose bits.
        inv_scale = self._scale.double().reciprocal().float()
        found_inf = torch.full((), 0.0, dtype=torch.float32, device=self._scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, found_inf, False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        if not sum(value.item() for value in optimizer_state["found_inf_per_device"].values()):
            return optimizer.step(*args, **kwargs)
        return None

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients if that was not done and step the optimizer, unless one was not finite.

        Return what `optimizer.step(*args, **kwargs)` returns; None for a skipped step.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._fused_step(optimizer, state, args, kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        _check(len(state["found_inf_per_device"]) > 0, "No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _fused_step(self, optimizer, state, args, kwargs):
        """Hand scale and overflow flag to an optimizer whose kernel unscales and skips by itself."""
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale = self._get_scale_async()
        found = sum(value.to(scale.device) for value in state["found_inf_per_device"].values())
        # A gradient that was unscaled already must not be divided again.
        optimizer.grad_scale = None if state["stage"] is OptState.UNSCALED else scale
        optimizer.found_inf = found
        try:
            result = optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale
            del optimizer.found_inf
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Adapt the scale to what the last steps found, or set it to `new_scale` (a number or float tensor)."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            if isinstance(new_scale, float):
                scale.fill_(new_scale)
            else:
                reason = (
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
                _check(new_scale.device.type == self._device, reason)
                _check(new_scale.numel() == 1, reason)
                _check(not new_scale.requires_grad, reason)
                scale.copy_(new_scale)
        else:
            found = [
                value.item()
                for state in self._per_optimizer_states.values()
                for value in state["found_inf_per_device"].values()
            ]
            _check(len(found) > 0, "No inf checks were recorded prior to update.")
            self._adapt(scale, tracker, any(found))
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _adapt(self, scale, tracker, overflowed) -> None:
        if overflowed:
            scale.mul_(self._backoff_factor)
            tracker.zero_()
            return
        good_steps = int(tracker.item()) + 1
        if good_steps == self._growth_interval:
            grown = scale.item() * self._growth_factor
            # A scale that is itself infinite would never recover.
            if grown <= torch.finfo(torch.float32).max:
                scale.fill_(grown)
            good_steps = 0
        tracker.fill_(good_steps)

    def _get_scale_async(self) -> torch.Tensor:
        return self._scale

    def get_scale(self) -> float:
        """The scale, as a Python float; 1.0 if scaling is off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """The factor after `growth_interval` good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the growth factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the backoff factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """The number of good steps before the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the growth interval."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self) -> bool:
        """Whether scaling is on."""
        return self._enabled

    def state_dict(self) -> dict:
        """Scale, factors, interval and counter; an empty dict if scaling is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, float]) -> None:
        """Take over a `state_dict`; RuntimeError for an empty one."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            _check(
                len(self._per_optimizer_states) == 0,
                "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                "scaler.update().",
            )
            # Tensors are remade on first use, on the device of that day.
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = None
            state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer):
        """Look for gradients that are not finite, without changing any."""
        self._check_scale_growth_tracker("_check_inf_per_device")
        found: dict[Any, Any] = {}
        with torch.no_grad():
            for group in optimizer.param_groups:
                for param in group["params"]:
                    if param.grad is None:
                        continue
                    device = param.grad.device
                    flag = _not_finite(param.grad)
                    found[device] = torch.maximum(found[device], flag) if device in found else flag
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]


def _not_finite(grad) -> torch.Tensor:
    """A 0-d float32 tensor: 1 if an element is infinite or NaN, else 0."""
    return (~torch.isfinite(grad)).any().to(torch.float32)
