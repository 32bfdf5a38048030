"""Access to a module's tensors and submodules by dotted name, with the parents found once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import mindtorch_v2 as torch

_MISSING = object()


def set_tensor(module: torch.nn.Module, name: str, tensor: torch.Tensor | None) -> None:
    """Put `tensor` in place of the module's own parameter or buffer `name`, without the rules of assignment."""
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not isinstance(tensor, torch.Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    if name in module._parameters:
        module._parameters[name] = tensor
    elif name in module._buffers:
        module._buffers[name] = tensor
    else:
        setattr(module, name, tensor)


def swap_tensor(
    module: torch.nn.Module, name: str, tensor: torch.Tensor | None, allow_missing: bool = False
) -> torch.Tensor:
    """Put `tensor` in place of `name` (remove it where it is the missing mark) and return what was there."""
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and not isinstance(tensor, torch.Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for registry in (module._parameters, module._buffers):
        if name in registry:
            previous = registry[name]
            if tensor is _MISSING:
                del registry[name]
            else:
                registry[name] = tensor
            return previous
    try:
        previous = getattr(module, name)
    except AttributeError as ex:
        if not allow_missing:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`") from ex
        previous = _MISSING
    else:
        if not isinstance(previous, torch.Tensor) and previous is not None:
            raise TypeError(f"attribute `{name}`: {previous} is not an instance of torch.Tensor")
        delattr(module, name)
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    return previous


def swap_submodule(module: torch.nn.Module, name: str, submodule: torch.nn.Module) -> torch.nn.Module:
    """Put `submodule` in place of the module's own child `name` and return what was there."""
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not isinstance(submodule, torch.nn.Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('submodule name can\'t contain "."')
    if name == "":
        raise KeyError('submodule name can\'t be empty string ""')
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    previous = module._modules[name]
    if not isinstance(previous, torch.nn.Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return previous


def _check_lengths(names: Collection[str], values: Collection[Any]) -> None:
    if len(names) != len(values):
        raise AssertionError(
            f"names and values must have the same length, got {len(names)} names and {len(values)} values"
        )


class NamedMemberAccessor:
    """The tensors and submodules below one module, by dotted name.

    >>> from mindtorch_v2.nn.utils.stateless import NamedMemberAccessor
    >>> members = NamedMemberAccessor(torch.nn.Sequential(torch.nn.Linear(2, 1)))
    >>> members.set_tensor("0.bias", torch.nn.Parameter(torch.tensor([5.0])))
    >>> members.get_tensor("0.bias")
    Parameter containing:
    tensor([5.], requires_grad=True)
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        self.memo: dict[Any, Any] = {}

    def get_submodule(self, name: str) -> torch.nn.Module:
        """The submodule `name`; "" is the module itself."""
        if not name:
            return self.module
        if name in self.memo:
            return self.memo[name]
        prefix, dot, attr = name.rpartition(".")
        module = self.get_submodule(prefix) if dot else self.module
        try:
            submodule = getattr(module, attr)
        except AttributeError as ex:
            raise AttributeError(f"{module._get_name()} has no attribute `{attr}`") from ex
        if not isinstance(submodule, torch.nn.Module):
            raise TypeError(f"submodule `{name}`: {submodule} is not an instance of torch.nn.Module")
        self.memo[name] = submodule
        return submodule

    def _parent(self, path) -> tuple:
        prefix, _, attr = path.rpartition(".")
        return self.get_submodule(prefix), attr

    def swap_submodule(self, path: str, value: torch.nn.Module) -> torch.nn.Module:
        """Put `value` in place of the submodule `path` and return what was there."""
        parent, attr = self._parent(path)
        return swap_submodule(parent, attr, value)

    def get_tensor(self, name: str) -> torch.Tensor | None:
        """The tensor `name`."""
        parent, attr = self._parent(name)
        try:
            tensor = getattr(parent, attr)
        except AttributeError as ex:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`") from ex
        if not isinstance(tensor, torch.Tensor) and tensor is not None:
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
        return tensor

    def set_tensor(self, name: str, value: torch.Tensor) -> None:
        """Put `value` in place of the tensor `name`."""
        parent, attr = self._parent(name)
        set_tensor(parent, attr, value)

    def del_tensor(self, name: str) -> None:
        """Remove the tensor `name`."""
        parent, attr = self._parent(name)
        try:
            delattr(parent, attr)
        except AttributeError as ex:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`") from ex

    def swap_tensor(self, name: str, value: torch.Tensor, allow_missing: bool = False) -> torch.Tensor:
        """Put `value` in place of the tensor `name` and return what was there."""
        parent, attr = self._parent(name)
        return swap_tensor(parent, attr, value, allow_missing=allow_missing)

    def get_tensors(self, names: Collection[str]) -> list:
        """The tensors of the given names, a list."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Collection[str], values: Collection[torch.Tensor]) -> None:
        """Put the values in place of the tensors of the given names."""
        _check_lengths(names, values)
        for name, value in zip(names, values, strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, torch.Tensor]) -> None:
        """Put the values of a mapping in place of the tensors of its names."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Collection[str]) -> None:
        """Remove the tensors of the given names."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(
        self, names: Collection[str], values: Collection[torch.Tensor], allow_missing: bool = False
    ) -> list:
        """Put the values in place of the tensors and return what was there, a list."""
        _check_lengths(names, values)
        return [
            self.swap_tensor(name, value, allow_missing=allow_missing)
            for name, value in zip(names, values, strict=True)
        ]

    def swap_tensors_dict(self, named_tensors: dict[str, torch.Tensor], allow_missing: bool = False) -> tuple:
        """Put the values of a mapping in place; return what was there as a dict, and the names without anything.

        Where one fails, those before it are put back.
        """
        orig_named_tensors = {}
        missing_keys = []
        try:
            for name, tensor in named_tensors.items():
                previous = self.swap_tensor(name, tensor, allow_missing=True)
                if previous is _MISSING:
                    missing_keys.append(name)
                orig_named_tensors[name] = previous
            if missing_keys and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing_keys))}.")
        except (AttributeError, KeyError, RuntimeError, TypeError):
            for name, previous in orig_named_tensors.items():
                self.swap_tensor(name, previous, allow_missing=True)
            raise
        return orig_named_tensors, missing_keys

    def check_keys(self, keys: Collection[str]) -> tuple:
        """`(missing, unexpected)` of the given names against those of the module's tensors, each sorted."""
        keys = set(keys)
        valid_keys = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(valid_keys - keys), sorted(keys - valid_keys)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, torch.Tensor | None]]:
        """Yield `(name, parameter)`."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, torch.Tensor | None]]:
        """Yield `(name, buffer)`."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, torch.Tensor | None]]:
        """Yield `(name, tensor)` of parameters and buffers."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, torch.nn.Module]]:
        """Yield `(name, module)`."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
