"""`Optimizer`: parameter groups, per-parameter state, hooks and state dicts; and what every algorithm shares."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import mindtorch_v2 as torch
from mindtorch_v2.utils import hooks
from mindtorch_v2.utils._foreach_utils import (
    _get_fused_kernels_supported_devices,
    _group_tensors_by_device_and_dtype,
)
from mindtorch_v2.utils._profiled import profiler_that_runs

if TYPE_CHECKING:
    from mindtorch_v2._core.hooks import RemovableHandle


__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT: TypeAlias = Iterable[Any]
StateDict: TypeAlias = dict[str, Any]
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
DeviceDict: TypeAlias = dict[Any, Any]
DeviceDtypeDict: TypeAlias = dict[Any, Any]
GlobalOptimizerPreHook: TypeAlias = Callable[..., Any]
GlobalOptimizerPostHook: TypeAlias = Callable[..., None]

_global_optimizer_pre_hooks: dict[int, GlobalOptimizerPreHook] = OrderedDict()
_global_optimizer_post_hooks: dict[int, GlobalOptimizerPostHook] = OrderedDict()


class _RequiredParameter:
    """Mark a default that every parameter group must give a value of its own."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _use_grad_for_differentiable(func):
    """Run a `step` with gradients recorded only if the optimizer was made with `differentiable=True`."""

    @functools.wraps(func)
    def _use_grad(*args, **kwargs) -> torch.Tensor | None:
        self = args[0]
        previous = torch.is_grad_enabled()
        try:
            torch.set_grad_enabled(self.defaults["differentiable"])
            return func(*args, **kwargs)
        finally:
            torch.set_grad_enabled(previous)

    return _use_grad


def _get_value(x) -> float:
    """The Python number in a one-element tensor; numbers as they are."""
    return x.item() if isinstance(x, torch.Tensor) else x


def _stack_if_compiling(x):
    """Lists of step sizes stay lists in eager mode."""
    return x


def _to_scalar(x):
    """A one-element tensor as a 0-d tensor, so that it broadcasts; numbers as they are."""
    if isinstance(x, torch.Tensor) and x.dim() != 0:
        return x.squeeze()
    return x


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """Decorator of the functional forms; there is no graph compiler to exclude here, so the function is unchanged."""
    del single_tensor_fn

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        return func

    return decorate


def _get_scalar_dtype(is_fused=None):
    """The dtype of step counters: float32 where kernels read them, else the default dtype if that is float64."""
    if is_fused:
        return torch.float32
    return torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32


def _get_capturable_supported_devices(supports_xla=True):
    """Devices on which `capturable=True` may be used."""
    devices = ["cuda", "xpu", "hpu", "npu"]
    if supports_xla:
        devices.append("xla")
    return devices


def _check_capturable(params, state_steps, name="capturable") -> None:
    """Raise AssertionError unless parameters and their counters are on one device that supports capture."""
    devices = _get_capturable_supported_devices()
    for param, step in zip(params, state_steps, strict=True):
        if not (param.device.type == step.device.type and param.device.type in devices):
            raise AssertionError(f"If {name}=True, params and state_steps must be on supported devices: {devices}.")


def _device_dtype_check_for_fused(p, cuda_unsupported=False) -> None:
    """Raise RuntimeError for a parameter that the fused kernels cannot update."""
    devices = _get_fused_kernels_supported_devices()
    if cuda_unsupported:
        devices.remove("cuda")
    if not (p.device.type in devices and torch.is_floating_point(p)):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {devices} but {p.dtype} and {p.device.type}"
        )


def _default_to_fused_or_foreach(params, differentiable, use_fused=False) -> tuple:
    """Which form to use when the user chose none: `(fused, foreach)`.

    A fused step is chosen on the CPU for float32 and float64, where it computes what the loop of operators computes;
    in float16 and bfloat16 it rounds once per step instead of once per operator, so those wait for `fused=True`.
    """
    if differentiable or not use_fused:
        return False, False
    kinds, dtypes = _plain_tensor_types(), _fused_dtypes()
    for p in params:  # a plain loop: this runs at every step
        if p is not None and (type(p) not in kinds or p.dtype not in dtypes or p.device.type != "cpu"):
            return False, False
    return True, False


def _plain_tensor_types() -> tuple:
    return (torch.nn.Parameter, torch.Tensor)


def _fused_dtypes() -> tuple:
    return (torch.float32, torch.float64)


def _view_as_real(params, *state_and_grads) -> None:
    """Replace, in place in the lists, each complex parameter and its companions by their real views."""
    for i, param in enumerate(params):
        if torch.is_complex(param):
            params[i] = torch.view_as_real(param)
            for column in state_and_grads:
                column[i] = torch.view_as_real(column[i])


def _zero_step(capturable=False, fused=None, device=None) -> torch.Tensor:
    """A fresh step counter: on the parameter's device where kernels read it, else on the CPU."""
    if capturable or fused:
        return torch.zeros((), dtype=_get_scalar_dtype(is_fused=fused), device=device)
    return torch.tensor(0.0, dtype=_get_scalar_dtype())


def _check_lr(lr, foreach=False, capturable=False) -> None:
    """The checks on `lr` that all algorithms share."""
    if isinstance(lr, torch.Tensor):
        if foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        if lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(f"Invalid learning rate: {lr}")


def _check_not_negative(**values) -> None:
    """ValueError for the first of `values` that is negative or NaN; the keyword is the name that it is called by."""
    for name, value in values.items():
        if not 0.0 <= value:
            raise ValueError(f"Invalid {name} value: {value}")


def _check_beta_range(betas) -> None:
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def _check_fused(optimizer, fused, foreach, differentiable) -> None:
    """The checks on `fused=True` that all algorithms with a fused step share."""
    if not fused:
        return
    if differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    optimizer._step_supports_amp_scaling = True
    optimizer._need_device_dtype_check_for_fused = True
    if foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _step_counters_to_tensors(optimizer, dtype_of_group=None) -> None:
    """Old state dicts kept `step` as a Python number; counters are tensors."""
    for group in optimizer.param_groups:
        fused = group.get("fused")
        on_device = group.get("capturable") or fused
        for p in group["params"]:
            state = optimizer.state.get(p, [])
            if len(state) != 0 and not torch.is_tensor(state["step"]):
                device = p.device if on_device else None
                state["step"] = torch.tensor(
                    float(state["step"]), dtype=_get_scalar_dtype(is_fused=fused), device=device
                )


def _run_closure(closure) -> torch.Tensor | None:
    """The loss from `closure`, evaluated with gradients on; None without one."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def _require_tensor_steps(state_steps) -> None:
    for step in state_steps:
        if not isinstance(step, torch.Tensor):
            raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")


_params_doc = "params (iterable): parameters, named parameters or parameter groups (dicts) to optimize"
_foreach_doc = "foreach (bool, optional): ask for the multi-tensor form"
_fused_doc = (
    "fused (bool, optional): ask for (True) or decline (False) the fused step; by default it is used where exact"
)
_capturable_doc = "capturable (bool, optional): keep step counters on the parameters' device"
_differentiable_doc = "differentiable (bool, optional): let gradients flow through the step"
_maximize_doc = "maximize (bool, optional): ascend instead of descend"


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register `hook(optimizer, args, kwargs)` before every optimizer's step; return a removable handle.

    >>> from mindtorch_v2.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__))
    >>> torch.optim.SGD([torch.nn.Parameter(torch.ones(1))]).step()
    SGD
    >>> handle.remove()
    """
    handle = hooks.RemovableHandle(_global_optimizer_pre_hooks)
    _global_optimizer_pre_hooks[handle.id] = hook
    return handle


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register `hook(optimizer, args, kwargs)` after every optimizer's step; return a removable handle.

    >>> from mindtorch_v2.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__))
    >>> torch.optim.SGD([torch.nn.Parameter(torch.ones(1))]).step()
    SGD
    >>> handle.remove()
    """
    handle = hooks.RemovableHandle(_global_optimizer_post_hooks)
    _global_optimizer_post_hooks[handle.id] = hook
    return handle


_HOOK_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class Optimizer:
    """Base of all optimizers (`torch.optim.Optimizer`).

    `params` is an iterable of tensors, of `(name, tensor)` pairs, or of dicts with a `params` entry and settings of
    their own; `defaults` gives the settings that a group leaves out. A subclass implements `step`.

    Raises TypeError for a single tensor or a non-tensor parameter, ValueError for an empty list, a non-leaf
    parameter or one that appears in two groups.

    >>> class Signs(torch.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @torch.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for parameter in group["params"]:
    ...                 parameter.sub_(parameter.grad.sign(), alpha=group["lr"])
    >>> x = torch.nn.Parameter(torch.tensor([1.0, -1.0]))
    >>> (x**2).sum().backward()
    >>> Signs([x], lr=0.5).step()
    >>> x.data
    tensor([ 0.5000, -0.5000])
    """

    _optimizer_load_state_dict_post_hooks: Any
    _optimizer_load_state_dict_pre_hooks: Any
    _optimizer_state_dict_post_hooks: Any
    _optimizer_state_dict_pre_hooks: Any

    OptimizerPreHook: TypeAlias = Callable[..., Any]
    OptimizerPostHook: TypeAlias = Callable[..., None]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for table in _HOOK_TABLES:
            setattr(self, table, OrderedDict())
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + torch.typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Any] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        # False from the moment that a step of a capturable optimizer ran outside of a capture and said so.
        self._warned_capturable_if_run_uncaptured = True

    def __getstate__(self) -> dict:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _HOOK_TABLES:
            if not hasattr(self, table):
                setattr(self, table, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            if i:
                lines.append("")
            lines.append(f"Parameter Group {i}")
            lines.extend(f"    {key}: {group[key]}" for key in sorted(group) if key != "params")
        lines.append(")")
        return "\n".join(lines)

    def _accelerator_graph_capture_health_check(self) -> None:
        """A capture of device graphs cannot be under way on the devices that exist here: nothing to check."""

    def _cuda_graph_capture_health_check(self) -> None:
        self._accelerator_graph_capture_health_check()

    def _optimizer_step_code(self) -> None:
        """Entry for profilers, called after each step; does nothing by itself."""

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a `step` so that the pre- and post-hooks run around it, and so that profiles have all of it as one range."""

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> torch.Tensor | None:
            profiler = profiler_that_runs()
            if profiler is None:
                return hooked(*args, **kwargs)
            with profiler.record_function(f"Optimizer.step#{type(args[0]).__name__}.step"):
                return hooked(*args, **kwargs)

        def hooked(*args: Any, **kwargs: Any) -> torch.Tensor | None:
            self = args[0]
            for pre_hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                result = pre_hook(self, args, kwargs)
                if result is None:
                    continue
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                    )
                args, kwargs = result
            out = func(*args, **kwargs)
            self._optimizer_step_code()
            for post_hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
                post_hook(self, args, kwargs)
            return out

        return wrapper

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def _patch_step_function(self) -> None:
        name = type(self).__name__
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{name}.zero_grad"
        step = type(self).step
        if not getattr(step, "hooked", None):
            wrapped: Any = self.profile_hook_step(step)
            wrapped.hooked = True
            type(self).step = wrapped  # type: ignore[method-assign]  # (wrapped once for each class)

    def _register(self, table, hook, prepend=False):
        hooks_of = getattr(self, table)
        handle = hooks.RemovableHandle(hooks_of)
        hooks_of[handle.id] = hook
        if prepend:
            hooks_of.move_to_end(handle.id, last=False)
        return handle

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs) -> None or (args, kwargs)` runs before each step."""
        return self._register("_optimizer_step_pre_hooks", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs) -> None` runs after each step."""
        return self._register("_optimizer_step_post_hooks", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer) -> None` runs before `state_dict`."""
        return self._register("_optimizer_state_dict_pre_hooks", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict) -> state_dict or None` runs after `state_dict`."""
        return self._register("_optimizer_state_dict_post_hooks", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict) -> state_dict or None` runs before `load_state_dict`."""
        return self._register("_optimizer_load_state_dict_pre_hooks", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer) -> None` runs after `load_state_dict`."""
        return self._register("_optimizer_load_state_dict_post_hooks", hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """The state as `{"state": {index: {...}}, "param_groups": [...]}`: parameters are named by their position."""
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        index_of: dict[Any, Any] = {}
        packed_groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            for param in group["params"]:
                index_of.setdefault(id(param), len(index_of))
            packed["params"] = [index_of[id(param)] for param in group["params"]]
            packed_groups.append(packed)
        packed_state = {
            (index_of[id(key)] if isinstance(key, torch.Tensor) else key): value for key, value in self.state.items()
        }
        state_dict = {"state": packed_state, "param_groups": packed_groups}
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            result = post_hook(self, state_dict)
            if result is not None:
                state_dict = result
        return state_dict

    @staticmethod
    def _process_value_according_to_param_policy(param, value, param_id, param_groups, key=None) -> torch.Tensor:
        """A loaded state tensor, on its parameter's device and in its dtype; step counters keep their own.

        Step counters are read to full precision whatever the parameter's dtype, and stay on the CPU unless the group
        is capturable or fused.
        """
        fused = capturable = False
        for group in param_groups:
            if param_id in group["params"]:
                fused = group.get("fused", False)
                capturable = group.get("capturable", False)
                break
        if key == "step":
            if capturable or fused:
                return value.to(dtype=torch.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a `state_dict`; tensors are cast to their parameters' dtype and device.

        Raises ValueError if the groups differ in number or size from this optimizer's.
        """
        state_dict = state_dict.copy()
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = pre_hook(self, state_dict)
            if result is not None:
                state_dict = result

        groups = self.param_groups
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        saved_ids = chain.from_iterable(group["params"] for group in saved_groups)
        param_of = dict(zip(saved_ids, chain.from_iterable(group["params"] for group in groups), strict=True))

        def cast(
            param: torch.Tensor, value: dict[str, torch.Tensor] | torch.Tensor, param_id: int, key: str | None = None
        ) -> Any:
            if isinstance(value, torch.Tensor):
                return Optimizer._process_value_according_to_param_policy(
                    param, value, param_id, state_dict["param_groups"], key
                )
            if isinstance(value, dict):
                return {k: cast(param, v, param_id, k) for k, v in value.items()}
            if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
                return type(value)(cast(param, v, param_id) for v in value)
            return value

        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                state[param_of[key]] = cast(param_of[key], value, key)
            else:
                state[key] = value
        for group, saved in zip(groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group and "param_names" not in saved:
                saved["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros if `set_to_none` is False."""
        profiler = profiler_that_runs()
        if profiler is None:
            self._zero_grad(set_to_none)
            return
        with profiler.record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
            self._zero_grad(set_to_none)

    def _zero_grad(self, set_to_none: bool) -> None:
        to_zero = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                    continue
                if p.grad.grad_fn is not None:
                    p.grad.detach_()
                else:
                    p.grad.requires_grad_(False)
                to_zero.append(p.grad)
        if to_zero:
            torch._foreach_zero_(to_zero)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step; `closure` re-evaluates the model and returns the loss."""
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a dict with `params` and settings; what it leaves out comes from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, torch.Tensor):
            param_group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will change between runs. Please use a list instead."
            )
        else:
            param_group["params"] = list(params)
        self._split_names(param_group)

        for param in param_group["params"]:
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is " + torch.typename(param)
                )
            if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)

        params = param_group["params"]
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        known = set()
        for group in self.param_groups:
            known.update(group["params"])
            if ("param_names" in param_group) != ("param_names" in group):
                given = "with names" if "param_names" in group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {'without names' if given == 'with names' else 'with names'} "
                    "to the optimizer"
                )
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    @staticmethod
    def _split_names(param_group) -> None:
        """Split `(name, tensor)` pairs of a group into its `params` and `param_names`."""
        tensors, names = [], []
        for param in param_group["params"]:
            if isinstance(param, tuple):
                names.append(param[0])
                tensors.append(param[1])
            else:
                tensors.append(param)
        param_group["params"] = tensors
        if not names:
            return
        if len(names) != len(tensors):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        param_group["param_names"] = names
