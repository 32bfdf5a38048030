"""Pruning: parameters with entries masked to zero.

A pruned parameter `name` is split into `name_orig`, the parameter, and the buffer `name_mask`; `name` is their
product, computed before each forward.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import mindtorch_v2 as torch


class BasePruningMethod(ABC):
    """A way of pruning, as a forward pre-hook. A subclass says which entries stay by `compute_mask`.

    >>> from mindtorch_v2.nn.utils import prune
    >>> class Negative(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t >= 0)
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> layer.weight = torch.nn.Parameter(torch.tensor([[-1.0, 2.0]]))
    >>> _ = Negative.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1.]])
    """

    # The parameter that is pruned; `apply` sets it.
    _tensor_name: str
    # "unstructured", "structured" or "global"; a subclass says which.
    PRUNING_TYPE: str

    def __call__(self, module: torch.nn.Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: torch.Tensor, default_mask: torch.Tensor) -> torch.Tensor:
        """The mask for `t`, of its shape, given the mask that is already there."""

    def apply_mask(self, module: torch.nn.Module) -> torch.Tensor:
        """The masked parameter."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        orig = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=orig.dtype) * orig

    @classmethod
    def apply(
        cls,
        module: torch.nn.Module,
        name: str,
        *args: Any,
        importance_scores: torch.Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune `module.name`, on top of what is pruned there already; return the method (or container of methods).

        `importance_scores`, of the parameter's shape, are ranked in place of its values.
        """
        old_method, hook_id = None, None
        for k, hook in module._forward_pre_hooks.items():
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
                old_method, hook_id = hook, k
        if hook_id is not None:
            del module._forward_pre_hooks[hook_id]
        method = cls(*args, **kwargs)
        method._tensor_name = name
        orig = getattr(module, name)
        if importance_scores is not None:
            if importance_scores.shape != orig.shape:
                raise AssertionError(
                    f"importance_scores should have the same shape as parameter {name} of {module}, "
                    f"got {importance_scores.shape} vs {orig.shape}"
                )
        else:
            importance_scores = orig
        if old_method is not None:
            if isinstance(old_method, PruningContainer):
                old_method.add_pruning_method(method)
                container = old_method
            else:
                container = PruningContainer(old_method)
                container.add_pruning_method(method)
            method = container
            default_mask = getattr(module, name + "_mask").detach().clone(memory_format=torch.contiguous_format)
        else:
            module.register_parameter(name + "_orig", orig)
            del module._parameters[name]
            default_mask = torch.ones_like(orig)
        try:
            mask = method.compute_mask(importance_scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:  # whatever it was, the module must be left as it came
            if old_method is None:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(
        self, t: torch.Tensor, default_mask: torch.Tensor | None = None, importance_scores: torch.Tensor | None = None
    ) -> torch.Tensor:
        """A pruned copy of the tensor `t`, no module involved."""
        if importance_scores is not None:
            if importance_scores.shape != t.shape:
                raise AssertionError(
                    f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs {t.shape}"
                )
        else:
            importance_scores = t
        default_mask = default_mask if default_mask is not None else torch.ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: torch.nn.Module) -> None:
        """Make the pruning permanent: the parameter has its old name again, the mask is gone."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned            before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, self._tensor_name):
            delattr(module, self._tensor_name)
        orig = module._parameters[self._tensor_name + "_orig"]
        orig.data = weight.data
        del module._parameters[self._tensor_name + "_orig"]
        del module._buffers[self._tensor_name + "_mask"]
        setattr(module, self._tensor_name, orig)


class PruningContainer(BasePruningMethod):
    """Several pruning methods on one parameter, each working on what those before it left.

    >>> from mindtorch_v2.nn.utils import prune
    >>> layer = torch.nn.Linear(3, 1, bias=False)
    >>> layer.weight = torch.nn.Parameter(torch.tensor([[0.1, -3.0, 2.0]]))
    >>> _ = prune.l1_unstructured(layer, "weight", amount=1)
    >>> _ = prune.l1_unstructured(layer, "weight", amount=1)
    >>> len(list(layer._forward_pre_hooks.values())[0]), layer.weight_mask
    (2, tensor([[0., 1., 0.]]))
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if not isinstance(args, Iterable):
            self._tensor_name = args._tensor_name
            self.add_pruning_method(args)
        elif len(args) == 1:
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        else:
            for method in args:
                self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add a method; it must be for the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on "
                f"the parameter named '{self._tensor_name}' to PruningContainer {self}."
                f" Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: torch.Tensor, default_mask: torch.Tensor) -> torch.Tensor:
        """The mask of the last method, on the entries (or channels) that the others left."""
        method: Any = self._pruning_methods[-1]
        slc: Any
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            slc = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            kept = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
            slc = [slice(None)] * t.dim()
            slc[dim] = kept
            slc = tuple(slc)
        elif method.PRUNING_TYPE == "global":
            slc = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = mask.clone()
        mask[slc] = method.compute_mask(t[slc], default_mask=mask[slc]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prune nothing, but make the names of pruning.

    >>> from mindtorch_v2.nn.utils import prune
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> _ = prune.Identity.apply(layer, "weight")
    >>> [name for name, _ in layer.named_parameters()], layer.weight_mask
    (['weight_orig'], tensor([[1., 1.]]))
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: torch.Tensor, default_mask: torch.Tensor) -> torch.Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: torch.nn.Module, name: str) -> BasePruningMethod:  # type: ignore[override]  # (each takes its own arguments)
        return super().apply(module, name)


class RandomUnstructured(BasePruningMethod):
    """Prune entries at random: `amount` of them, or a fraction where it is a float in [0, 1].

    >>> from mindtorch_v2.nn.utils import prune
    >>> layer = torch.nn.Linear(4, 1, bias=False)
    >>> _ = prune.RandomUnstructured.apply(layer, "weight", amount=0.5)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: int | float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: torch.Tensor, default_mask: torch.Tensor) -> torch.Tensor:
        nparams_toprune = _compute_nparams_toprune(self.amount, t.nelement())
        _validate_pruning_amount(nparams_toprune, t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if nparams_toprune != 0:
            prob = torch.rand_like(t)
            topk = torch.topk(prob.view(-1), k=nparams_toprune)
            mask.view(-1)[topk.indices] = 0
        return mask

    @classmethod
    def apply(cls, module: torch.nn.Module, name: str, amount: int | float) -> BasePruningMethod:  # type: ignore[override]  # (each takes its own arguments)
        return super().apply(module, name, amount=amount)


class L1Unstructured(BasePruningMethod):
    """Prune the entries of the smallest magnitude: `amount` of them, or a fraction.

    >>> from mindtorch_v2.nn.utils import prune
    >>> layer = torch.nn.Linear(3, 1, bias=False)
    >>> layer.weight = torch.nn.Parameter(torch.tensor([[0.1, -3.0, 2.0]]))
    >>> _ = prune.L1Unstructured.apply(layer, "weight", amount=1)
    >>> layer.weight_mask
    tensor([[0., 1., 1.]])
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: int | float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: torch.Tensor, default_mask: torch.Tensor) -> torch.Tensor:
        nparams_toprune = _compute_nparams_toprune(self.amount, t.nelement())
        _validate_pruning_amount(nparams_toprune, t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if nparams_toprune != 0:
            topk = torch.topk(torch.abs(t).view(-1), k=nparams_toprune, largest=False)
            mask.view(-1)[topk.indices] = 0
        return mask

    @classmethod
    def apply(  # type: ignore[override]  # (each takes its own arguments)
        cls, module: torch.nn.Module, name: str, amount: int | float, importance_scores: torch.Tensor | None = None
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


def _channel_mask(t, dim, kept) -> torch.Tensor:
    """The mask that is 1 at the indices `kept` along `dim`."""
    mask = torch.zeros_like(t)
    mask[(slice(None),) * (dim % t.dim()) + (kept,)] = 1
    return mask


class RandomStructured(BasePruningMethod):
    """Prune channels along `dim` at random: `amount` of them, or a fraction.

    >>> from mindtorch_v2.nn.utils import prune
    >>> layer = torch.nn.Linear(2, 3, bias=False)
    >>> _ = prune.RandomStructured.apply(layer, "weight", amount=1, dim=0)
    >>> layer.weight_mask.sum()
    tensor(4.)
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t: torch.Tensor, default_mask: torch.Tensor) -> torch.Tensor:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        nchannels = t.shape[self.dim]
        nparams_toprune = _compute_nparams_toprune(self.amount, nchannels)
        _validate_pruning_amount(nparams_toprune, nchannels)
        if nparams_toprune == 0:
            return default_mask
        prob = torch.rand(nchannels)
        threshold = torch.kthvalue(prob, k=nparams_toprune).values
        mask = _channel_mask(t, self.dim, (prob > threshold).nonzero().squeeze(1))
        return mask * default_mask.to(dtype=mask.dtype)

    @classmethod
    def apply(cls, module: torch.nn.Module, name: str, amount: int | float, dim: int = -1) -> BasePruningMethod:  # type: ignore[override]  # (each takes its own arguments)
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(BasePruningMethod):
    """Prune the channels along `dim` of the smallest n-norm: `amount` of them, or a fraction.

    >>> from mindtorch_v2.nn.utils import prune
    >>> layer = torch.nn.Linear(2, 2, bias=False)
    >>> layer.weight = torch.nn.Parameter(torch.tensor([[1.0, 1.0], [3.0, 4.0]]))
    >>> _ = prune.LnStructured.apply(layer, "weight", amount=1, n=2, dim=0)
    >>> layer.weight_mask
    tensor([[0., 0.],
            [1., 1.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, n: int, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def compute_mask(self, t: torch.Tensor, default_mask: torch.Tensor) -> torch.Tensor:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        nchannels = t.shape[self.dim]
        nparams_toprune = _compute_nparams_toprune(self.amount, nchannels)
        nparams_tokeep = nchannels - nparams_toprune
        _validate_pruning_amount(nparams_toprune, nchannels)
        if nparams_toprune == 0:
            return default_mask
        norm = _compute_norm(t, self.n, self.dim)
        topk = torch.topk(norm, k=nparams_tokeep, largest=True)
        mask = _channel_mask(t, self.dim, topk.indices)
        return mask * default_mask.to(dtype=mask.dtype)

    @classmethod
    def apply(  # type: ignore[override]  # (each takes its own arguments)
        cls,
        module: torch.nn.Module,
        name: str,
        amount: int | float,
        n: int,
        dim: int,
        importance_scores: torch.Tensor | None = None,
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prune by a given mask.

    >>> from mindtorch_v2.nn.utils import prune
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> _ = prune.CustomFromMask.apply(layer, "weight", torch.tensor([[1, 0]]))
    >>> layer.weight_mask
    tensor([[1., 0.]])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: torch.Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: torch.Tensor, default_mask: torch.Tensor) -> torch.Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: torch.nn.Module, name: str, mask: torch.Tensor) -> BasePruningMethod:  # type: ignore[override]  # (each takes its own arguments)
        return super().apply(module, name, mask=mask)


def identity(module: torch.nn.Module, name: str) -> torch.nn.Module:
    """Split the parameter as pruning does, with a mask of ones; return the module.

    >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(4, 2), "weight")
    >>> torch.nn.utils.prune.is_pruned(layer)
    True
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: torch.nn.Module, name: str, amount: int | float) -> torch.nn.Module:
    """Prune entries at random; return the module.

    >>> layer = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(4, 2), "weight", amount=0.25)
    >>> int((layer.weight == 0).sum())
    2
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: torch.nn.Module, name: str, amount: int | float, importance_scores: torch.Tensor | None = None
) -> torch.nn.Module:
    """Prune the entries of the smallest magnitude; return the module.

    >>> layer = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(4, 2), "weight", amount=3)
    >>> int((layer.weight == 0).sum())
    3
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: torch.nn.Module, name: str, amount: int | float, dim: int) -> torch.nn.Module:
    """Prune channels along `dim` at random; return the module.

    >>> layer = torch.nn.utils.prune.random_structured(torch.nn.Linear(4, 2), "weight", amount=1, dim=0)
    >>> int((layer.weight == 0).all(1).sum())
    1
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: torch.nn.Module,
    name: str,
    amount: int | float,
    n: int,
    dim: int,
    importance_scores: torch.Tensor | None = None,
) -> torch.nn.Module:
    """Prune the channels along `dim` of the smallest n-norm; return the module.

    >>> layer = torch.nn.utils.prune.ln_structured(torch.nn.Linear(4, 2), "weight", amount=1, n=2, dim=0)
    >>> int((layer.weight == 0).all(1).sum())
    1
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[torch.nn.Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[torch.nn.Module, str], torch.Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune entries of several parameters, `(module, name)` pairs, ranked together.

    >>> layer = torch.nn.Linear(4, 2)
    >>> torch.nn.utils.prune.global_unstructured([(layer, "weight")], torch.nn.utils.prune.L1Unstructured, amount=0.5)
    >>> int((layer.weight == 0).sum())
    4
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = importance_scores if importance_scores is not None else {}
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    relevant = torch.nn.utils.parameters_to_vector(
        [importance_scores.get((module, name), getattr(module, name)) for (module, name) in parameters]
    )
    default_mask = torch.nn.utils.parameters_to_vector(
        [getattr(module, name + "_mask", torch.ones_like(getattr(module, name))) for (module, name) in parameters]
    )
    # A container, so that what is pruned already stays out of the ranking.
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for '
            f"the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    final_mask = container.compute_mask(relevant, default_mask)
    pointer = 0
    for module, name in parameters:
        param = getattr(module, name)
        num_param = param.numel()
        custom_from_mask(module, name, mask=final_mask[pointer : pointer + num_param].view_as(param))
        pointer += num_param


def custom_from_mask(module: torch.nn.Module, name: str, mask: torch.Tensor) -> torch.nn.Module:
    """Prune by a given mask; return the module.

    >>> layer = torch.nn.utils.prune.custom_from_mask(torch.nn.Linear(2, 1), "bias", torch.tensor([0]))
    >>> (layer.bias == 0).tolist()
    [True]
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: torch.nn.Module, name: str) -> torch.nn.Module:
    """Make the pruning of a parameter permanent; return the module.

    >>> layer = torch.nn.utils.prune.identity(torch.nn.Linear(4, 2), "weight")
    >>> torch.nn.utils.prune.is_pruned(torch.nn.utils.prune.remove(layer, "weight"))
    False
    """
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: torch.nn.Module) -> bool:
    """Whether any parameter of the module or below it is pruned.

    >>> torch.nn.utils.prune.is_pruned(torch.nn.Linear(4, 2))
    False
    """
    for _, submodule in module.named_modules():
        for hook in submodule._forward_pre_hooks.values():
            if isinstance(hook, BasePruningMethod):
                return True
    return False


def _validate_pruning_amount_init(amount) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (
        not isinstance(amount, numbers.Integral) and (float(amount) > 1.0 or float(amount) < 0.0)
    ):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount, tensor_size) -> None:
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _validate_structured_pruning(t) -> None:
    shape = t.shape
    if len(shape) <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional "
            "tensors. Found tensor of shape "
            f"{shape} with {len(shape)} dims"
        )


def _compute_nparams_toprune(amount, tensor_size) -> int:
    """A number as it is, a fraction as a number of `tensor_size`."""
    if isinstance(amount, numbers.Integral):
        return int(amount)
    return round(amount * tensor_size)


def _validate_pruning_dim(t, dim) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t, n, dim) -> torch.Tensor:
    """The n-norm of each channel along `dim`."""
    dims = list(range(t.dim()))
    if dim < 0:
        dim = dims[dim]
    dims.remove(dim)
    return torch.norm(t, p=n, dim=dims)
