"""States of models and optimizers by the parameters' names, whatever wraps or shards them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _groups as world
from mindtorch_v2.distributed import _objects as objects
from mindtorch_v2.distributed import _operations as collectives
from mindtorch_v2.distributed.tensor._api import DTensor
from mindtorch_v2.distributed.tensor._pieces import lying_like, state_in_pieces

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

_WRAPPERS = ("module", "_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module")
Module = torch.nn.Module
Optimizer = torch.optim.Optimizer


@dataclasses.dataclass
class StateDictOptions:
    """How states are given and taken.

    full_state_dict: whole tensors, and not the ranks' pieces.
    cpu_offload: tensors are on the CPU; with `full_state_dict` only the first rank gets them, the others an empty dictionary.
    ignore_frozen_params: parameters that do not require gradients are left out.
    keep_submodule_prefixes: whether names of chosen submodules are those in the model.
    strict: whether names have to be the same when a model is given a state.
    broadcast_from_rank0: the first rank has the whole state, and the others take it from there.
    flatten_optimizer_state_dict: the optimizer's state as one dictionary of names with dots.
    dsd_fqn_modifiers: accepted as in PyTorch.

    >>> from mindtorch_v2.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
    >>> layer = torch.nn.Linear(2, 1)
    >>> _ = layer.bias.requires_grad_(False)
    >>> list(get_model_state_dict(layer, options=StateDictOptions(ignore_frozen_params=True)))
    ['weight']
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _names(model: Module) -> dict[str, str]:
    """The names that wrappers give parameters and buffers -> their names without wrappers."""
    found = {}
    for path, module in model.named_modules(remove_duplicate=False):
        for name in (*module._parameters, *module._buffers):
            own = f"{path}.{name}" if path else name
            found[own] = own
    for path, module in model.named_modules(remove_duplicate=False):
        for wrapper in _WRAPPERS:
            if wrapper in module._modules and len(module._modules) == 1 and not module._parameters:
                prefix = f"{path}.{wrapper}." if path else f"{wrapper}."
                for own in found:
                    if own.startswith(prefix):
                        found[own] = _without(own, path, wrapper, found[own])
    return found


def _without(own: str, path: str, wrapper: str, so_far: str) -> str:
    """A name without the wrapper at a path; wrappers further out may be gone from it already."""
    rest = own[len(path) + 1 if path else 0 :].removeprefix(f"{wrapper}.")
    head = so_far[: len(so_far) - len(rest) - len(wrapper) - 1]
    return f"{head}{rest}"


def _given(value: Any, options: StateDictOptions) -> Any:
    """A value of a state as it is handed out."""
    if isinstance(value, dict):
        return {name: _given(each, options) for name, each in value.items()}
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    if options.full_state_dict and isinstance(value, DTensor):
        value = value.full_tensor()
    if not options.cpu_offload:
        return value
    if isinstance(value, DTensor):
        return DTensor(value._local_tensor.cpu(), value._spec, requires_grad=False)
    return value.cpu()


def _kept(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """Whole states on the CPU are the first rank's."""
    if options.full_state_dict and options.cpu_offload and world.is_initialized() and world.get_rank() != 0:
        return {}
    return state


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model, by names without wrappers. All ranks call it.

    >>> from mindtorch_v2.distributed.checkpoint.state_dict import get_model_state_dict
    >>> list(get_model_state_dict(torch.nn.Sequential(torch.nn.Linear(2, 1))))
    ['0.weight', '0.bias']
    """
    options = options or StateDictOptions()
    names = _names(model)
    frozen = {names[name] for name, each in model.named_parameters(remove_duplicate=False) if not each.requires_grad}
    made = {}
    for name, value in _raw_state(model).items():
        own = names.get(name, name)
        if own in frozen and options.ignore_frozen_params:
            continue
        made[own] = _given(value, options)
    if submodules is not None:
        made = _of_submodules(model, submodules, made, options)
    return _kept(made, options)


def _raw_state(model: Module) -> dict[str, Any]:
    """The state in pieces, also of modules whose own form is whole."""
    with state_in_pieces():
        return model.state_dict()


def _of_submodules(
    model: Module, chosen: set[Module], state: dict[str, Any], options: StateDictOptions
) -> dict[str, Any]:
    made = {}
    for path, module in model.named_modules():
        if module in chosen:
            prefix = f"{path}." if path else ""
            for name, value in state.items():
                if name.startswith(prefix):
                    made[name if options.keep_submodule_prefixes else name[len(prefix) :]] = value
    return made


def _listed(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _parameter_names(model: Module) -> dict[Any, str]:
    names = _names(model)
    return {parameter: names[name] for name, parameter in model.named_parameters()}


def _init_optim_state(optimizer: Optimizer) -> None:
    """Let an optimizer that has not run yet make its states, without a change of the parameters."""
    if optimizer.state:
        return
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    if any(each.grad is not None for each in parameters):
        raise RuntimeError(
            "state_dict can only be used if the optimizer states are initialized (usually after one step() with gradients) or gradients are None."
        )
    rates = []
    for each in parameters:
        if each.requires_grad:
            each.grad = torch.zeros_like(each)
    for group in optimizer.param_groups:
        rates.append((group["lr"], group.get("weight_decay")))
        group["lr"] = torch.zeros_like(group["lr"]) if isinstance(group["lr"], torch.Tensor) else 0.0
    optimizer.step(closure=None)
    for group, (rate, _) in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of optimizers, with names in place of numbers of parameters. All ranks call it.

    >>> from mindtorch_v2.distributed.checkpoint.state_dict import get_optimizer_state_dict
    >>> layer = torch.nn.Linear(2, 1)
    >>> state = get_optimizer_state_dict(layer, torch.optim.Adam(layer.parameters()))
    >>> sorted(state["state"]), sorted(state["state"]["weight"])
    (['bias', 'weight'], ['exp_avg', 'exp_avg_sq', 'step'])
    """
    options = options or StateDictOptions()
    names = _parameter_names(model)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        for parameter, values in optimizer.state.items():
            state[names[parameter]] = _given(values, options)
        for group in optimizer.param_groups:
            groups.append({**group, "params": [names[each] for each in group["params"]]})
    made: dict[str, Any] = {"state": state, "param_groups": groups}
    if options.flatten_optimizer_state_dict:
        made = _flattened(made)
    return _kept(made, options)


def _flattened(state: dict[str, Any]) -> dict[str, Any]:
    made = {}
    for name, values in state["state"].items():
        for key, value in values.items():
            made[f"state.{name}.{key}"] = value
    for group in state["param_groups"]:
        for name in group["params"]:
            for key, value in group.items():
                if key != "params":
                    made[f"param_groups.{name}.{key}"] = value
    return made


def _unflattened(optimizer: Optimizer, names: dict[Any, str], flat: dict[str, Any]) -> dict[str, Any]:
    state: dict[str, Any] = {}
    groups = []
    for group in optimizer.param_groups:
        own = [names[each] for each in group["params"]]
        for name in own:
            found = {key[len(name) + 7 :]: value for key, value in flat.items() if key.startswith(f"state.{name}.")}
            if found:
                state[name] = found
        settings = {
            key: flat.get(f"param_groups.{own[0]}.{key}", value) for key, value in group.items() if key != "params"
        }
        groups.append({**settings, "params": own})
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers: `get_model_state_dict` and `get_optimizer_state_dict`.

    >>> from mindtorch_v2.distributed.checkpoint.state_dict import get_state_dict
    >>> layer = torch.nn.Linear(2, 1)
    >>> of_model, of_optimizer = get_state_dict(layer, torch.optim.Adam(layer.parameters()))
    >>> list(of_model), of_optimizer["param_groups"][0]["params"]
    (['weight', 'bias'], ['weight', 'bias'])
    """
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def _from_first(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """The whole state that the first rank has, on all."""
    if not options.broadcast_from_rank0 or not world.is_initialized():
        return state
    if not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    first = world.get_rank() == 0
    described: list[Any] = [_map(state, _description) if first else None]
    objects.broadcast_object_list(described, 0)
    tensors: list[torch.Tensor] = []
    if first:

        def kept(each: torch.Tensor) -> torch.Tensor:
            tensors.append(each)
            return each

        _map(state, kept)
    given = iter(tensors)

    def sent(each: Any) -> torch.Tensor:
        tensor = next(given).detach().contiguous() if first else torch.empty(each.shape, dtype=each.dtype)
        collectives.broadcast(tensor, 0)
        return tensor

    return _map(described[0], sent, _Description)


@dataclasses.dataclass
class _Description:
    shape: tuple[int, ...]
    dtype: torch.dtype


def _description(tensor: torch.Tensor) -> _Description:
    return _Description(tuple(tensor.shape), tensor.dtype)


def _map(value: Any, change: Callable[[Any], Any], kind: type = torch.Tensor) -> Any:
    """Nested dictionaries and lists with each value of a kind changed."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, dict):
        return {name: _map(each, change, kind) for name, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_map(each, change, kind) for each in value)
    return value


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Give a model a state, by names without wrappers; the names that are missing and unexpected. All ranks call it.

    >>> from mindtorch_v2.distributed.checkpoint.state_dict import set_model_state_dict
    >>> layer = torch.nn.Linear(2, 1)
    >>> set_model_state_dict(layer, {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([3.0])})
    <All keys matched successfully>
    >>> layer.weight.data, layer.bias.data
    (tensor([[1., 2.]]), tensor([3.]))
    """
    options = options or StateDictOptions()
    given = _from_first(model_state_dict, options)
    names = _names(model)
    present = _raw_state(model)
    made = {}
    for name, value in present.items():
        own = names.get(name, name)
        if own in given:
            made[name] = lying_like(value, given[own])
    known = {names.get(name, name) for name in present}
    made.update({name: value for name, value in given.items() if name not in known})
    return _load_raw(model, made, options.strict)


def _load_raw(model: Module, state: dict[str, Any], strict: bool) -> Any:
    with state_in_pieces():
        return model.load_state_dict(state, strict=strict)


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Give optimizers a state that `get_optimizer_state_dict` made. All ranks call it.

    >>> from mindtorch_v2.distributed.checkpoint.state_dict import get_optimizer_state_dict
    >>> from mindtorch_v2.distributed.checkpoint.state_dict import set_optimizer_state_dict
    >>> layer = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adam(layer.parameters(), lr=0.5)
    >>> state = get_optimizer_state_dict(layer, optimizer)
    >>> optimizer.param_groups[0]["lr"] = 0.0
    >>> set_optimizer_state_dict(layer, optimizer, state)
    >>> optimizer.param_groups[0]["lr"]
    0.5
    """
    options = options or StateDictOptions()
    given = _from_first(optim_state_dict, options)
    names = _parameter_names(model)
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        own = _unflattened(optimizer, names, given) if options.flatten_optimizer_state_dict else given
        groups_of = {name: group for group in own["param_groups"] for name in group["params"]}
        numbers: dict[Any, int] = {}
        state: dict[int, Any] = {}
        groups: list[dict[str, Any]] = []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                number = numbers[parameter] = len(numbers)
                values = own["state"].get(names[parameter])
                if values is not None:
                    there = optimizer.state[parameter]
                    state[number] = {key: lying_like(there.get(key), value) for key, value in values.items()}
            settings = groups_of[names[group["params"][0]]]
            groups.append({**settings, "params": [numbers[each] for each in group["params"]]})
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Give a model and its optimizers their states; the model's names that are missing and unexpected.

    >>> from mindtorch_v2.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    >>> layer = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adam(layer.parameters())
    >>> of_model, of_optimizer = get_state_dict(layer, optimizer)
    >>> set_state_dict(layer, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer)
    <All keys matched successfully>
    """
    missing = set_model_state_dict(model, model_state_dict, options=options) if model_state_dict else None
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return missing
