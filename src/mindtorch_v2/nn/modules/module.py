"""`Module`, the base class of all layers and models: attributes, the tree of submodules, the call.

Its other sides are in `_hooks` (registration and running of hooks), `_state_dict` and `_conversion`.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch

from ..parameter import Buffer, Parameter
from . import _hooks
from ._conversion import ConversionMethods
from ._hooks import (
    HookMethods,
    LazyHooks,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    _has_any_global_hook,
    _WrappedHook,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._state_dict import _EXTRA_STATE_KEY_SUFFIX, StateDictMethods, _IncompatibleKeys

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule
    from mindtorch_v2.nn.modules.sparse import Embedding


__all__ = [
    "register_module_forward_pre_hook",
    "register_module_forward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_backward_hook",
    "register_module_full_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "Module",
]

_EXPLAINED: dict[str, Callable[[Any], str]] = {}
"""Attributes that a Module may lack for a reason -> the end of its AttributeError."""

# Named by transformers and others, though not public.
_PRIVATE_BUT_USED = (
    _EXTRA_STATE_KEY_SUFFIX,
    _IncompatibleKeys,
    _WrappedHook,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _has_any_global_hook,
)


def _addindent(s_, numSpaces) -> str:
    """`s_` with every line but the first indented by `numSpaces`."""
    return s_.replace("\n", "\n" + numSpaces * " ")


def _forward_unimplemented(self, *input):
    """The `forward` of a class that defines none."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


_CALL_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def _through_hooks(hooks, module, name, value):
    """`value` after the global registration hooks, each of which may replace it."""
    for hook in hooks.values():
        output = hook(module, name, value)
        if output is not None:
            value = output
    return value


class Module(ConversionMethods, StateDictMethods, HookMethods):
    """Base class of all neural network modules.

    A subclass calls `super().__init__()`, assigns parameters, buffers and submodules as attributes, and defines
    `forward`. Calling the module runs the hooks registered on it and `forward`.

    >>> import mindtorch_v2 as torch
    >>> class Affine(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = torch.nn.Parameter(torch.ones(2))
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> [name for name, _ in Affine().named_parameters()]
    ['scale']
    """

    # Hooks of the call. Most modules have none, and then have no dictionaries for them that a guard would have to watch.
    _forward_hooks = LazyHooks()
    _forward_pre_hooks = LazyHooks()
    _backward_hooks = LazyHooks()
    _backward_pre_hooks = LazyHooks()

    dump_patches = False
    _version = 1
    call_super_init = False
    _compiled_call_impl = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.call_super_init is False:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        # Past this class's own __setattr__, which needs these very attributes.
        put = super().__setattr__
        put("training", True)
        put("_parameters", {})
        put("_buffers", {})
        put("_non_persistent_buffers_set", set())
        put("_is_full_backward_hook", None)
        put("_forward_hooks_with_kwargs", OrderedDict())
        put("_forward_hooks_always_called", OrderedDict())
        put("_forward_pre_hooks_with_kwargs", OrderedDict())
        put("_state_dict_hooks", OrderedDict())
        put("_state_dict_pre_hooks", OrderedDict())
        put("_load_state_dict_pre_hooks", OrderedDict())
        put("_load_state_dict_post_hooks", OrderedDict())
        put("_modules", {})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    _modules: dict[str, Any]
    forward: Callable[..., Any] = _forward_unimplemented

    # The call

    def _call_impl(self, *args, **kwargs):
        own = self.__dict__
        if (
            ("_forward_hooks" in own and own["_forward_hooks"])
            or ("_forward_pre_hooks" in own and own["_forward_pre_hooks"])
            or ("_backward_hooks" in own and own["_backward_hooks"])
            or ("_backward_pre_hooks" in own and own["_backward_pre_hooks"])
            or _global_forward_pre_hooks
            or _global_forward_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self(*args, **kwargs)

    _compiled_call_impl = None  # what `compile` made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        own = self.__dict__
        if (
            ("_forward_hooks" in own and own["_forward_hooks"])
            or ("_forward_pre_hooks" in own and own["_forward_pre_hooks"])
            or ("_backward_hooks" in own and own["_backward_hooks"])
            or ("_backward_pre_hooks" in own and own["_backward_pre_hooks"])
            or "_parameters" not in own  # before Module.__init__() call
            or _global_forward_pre_hooks
            or _global_forward_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _slow_forward(self, *input, **kwargs):
        return self.forward(*input, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile this module's call in place; the arguments are those of `torch.compile`.

        Copies and pickles of the module are not compiled.
        """
        self._compiled_call_impl = torch.compile(self._call_impl, *args, **kwargs)

    # Attributes

    def _check_name(self, kind, registry, name) -> None:
        """The rules for the name of a parameter or buffer."""
        if registry not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {torch.typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in self.__dict__[registry] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name: str, tensor: torch.Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: state that is no parameter. If not `persistent`, it stays out of the state dict.

        `tensor` may be None, which is kept as a name without a value.
        """
        self._check_name("buffer", "_buffers", name)
        if not (tensor is None or isinstance(tensor, torch.Tensor)):
            raise TypeError(
                f"cannot assign '{torch.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _through_hooks(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: torch.Tensor | None) -> None:
        """Add a parameter; `param` may be None, which is kept as a name without a value."""
        self._check_name("parameter", "_parameters", name)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{torch.typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model "
                f"parameters must be created explicitly. To express '{name}' "
                "as a function of another Tensor, compute the value in "
                "the forward() method."
            )
        self._parameters[name] = _through_hooks(_global_parameter_registration_hooks, self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule; `module` may be None, which is kept as a name without a value."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{torch.typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {torch.typename(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _through_hooks(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias of `add_module`."""
        self.add_module(name, module)

    def __getattr__(self, name: str) -> Any:
        # Only names that are not ordinary attributes come here.
        own = self.__dict__
        if "_parameters" in own:
            found = own["_parameters"]
            if name in found:
                return found[name]
        if "_buffers" in own:
            found = own["_buffers"]
            if name in found:
                return found[name]
        if "_modules" in own:
            found = own["_modules"]
            if name in found:
                return found[name]
        explained = _EXPLAINED.get(name)
        why = "" if explained is None else explained(self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{why}")

    def _forget(self, name, *registries) -> None:
        """Remove `name` from where it may stand otherwise, so that it has one meaning."""
        own = self.__dict__
        own.pop(name, None)
        for registry in registries:
            own[registry].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        params = own.get("_parameters")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
            return
        if params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = own.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            modules[name] = _through_hooks(_global_module_registration_hooks, self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            modules[name] = _through_hooks(_global_module_registration_hooks, self, name, value)
            return
        buffers = own.get("_buffers")
        if isinstance(value, Buffer) or (buffers is not None and name in buffers):
            self._set_buffer(name, value, buffers)
            return
        super().__setattr__(name, value)

    def _set_buffer(self, name, value, buffers) -> None:
        """Assign a `Buffer`, or a tensor or None to the name of a buffer."""
        if value is not None and not isinstance(value, torch.Tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            persistent = value.persistent  # type: ignore[attr-defined]  # (a mark that Buffer puts on its tensors)
            if name in self.__dict__:  # a plain attribute of that name is the caller's
                raise KeyError(f"attribute '{name}' already exists")
            if "persistent" in inspect.signature(self.register_buffer).parameters:
                self.register_buffer(name, value, persistent)
            else:  # a class whose own form takes no more
                self.register_buffer(name, value)
        else:
            buffers[name] = _through_hooks(_global_buffer_registration_hooks, self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __getstate__(self) -> dict[str, Any]:
        for name in _CALL_HOOKS:  # a copy has the same ones, and a pickle is for PyTorch as well
            getattr(self, name)
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = self.__dict__
        own.update(state)
        # Absent from modules that were pickled before these existed.
        for name in (
            "_forward_pre_hooks_with_kwargs",
            "_forward_hooks_with_kwargs",
            "_forward_hooks_always_called",
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
        ):
            own.setdefault(name, OrderedDict())
        own.setdefault("_non_persistent_buffers_set", set())
        own.setdefault("_is_full_backward_hook", None)

    # The tree

    def get_submodule(self, target: str) -> GraphModule | Module | Embedding:
        """The submodule with the dotted name `target`; AttributeError where there is none."""
        mod = self
        for item in target.split(".") if target != "" else ():
            if not hasattr(mod, item):
                raise AttributeError(f"{mod._get_name()} has no attribute `{item}`")
            mod = getattr(mod, item)
            if not isinstance(mod, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return mod

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at the dotted name `target`; with `strict` only where there is a submodule already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the dotted name `target`; AttributeError where there is none."""
        module_path, _, param_name = target.rpartition(".")
        mod = self.get_submodule(module_path)
        if not hasattr(mod, param_name):
            raise AttributeError(f"{mod._get_name()} has no attribute `{param_name}`")
        param = getattr(mod, param_name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{param_name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> torch.Tensor:
        """The buffer with the dotted name `target`; AttributeError where there is none."""
        module_path, _, buffer_name = target.rpartition(".")
        mod = self.get_submodule(module_path)
        if not hasattr(mod, buffer_name):
            raise AttributeError(f"{mod._get_name()} has no attribute `{buffer_name}`")
        buffer = getattr(mod, buffer_name)
        if buffer_name not in mod._buffers:
            raise AttributeError(f"`{buffer_name}` is not a buffer")
        return buffer

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        """Yield `(dotted name, member)` over the tree; `get_members_fn(module)` gives a module's own."""
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_prefix, module in modules:
            for k, v in get_members_fn(module):
                if v is None or v in seen:
                    continue
                if remove_duplicate:
                    seen.add(v)
                yield module_prefix + ("." if module_prefix else "") + k, v

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, each once; of the children too with `recurse`."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield `(dotted name, parameter)`."""
        yield from self._named_members(
            lambda module: module._parameters.items(),
            prefix=prefix,
            recurse=recurse,
            remove_duplicate=remove_duplicate,
        )

    def buffers(self, recurse: bool = True) -> Iterator[torch.Tensor]:
        """Yield the buffers, each once; of the children too with `recurse`."""
        for _, buf in self.named_buffers(recurse=recurse):
            yield buf

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield `(dotted name, buffer)`."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix=prefix, recurse=recurse, remove_duplicate=remove_duplicate
        )

    def children(self) -> Iterator[Any]:
        """Yield the immediate children, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yield `(name, child)` of the immediate children, each once."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """Yield this module and all below it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield `(dotted name, module)` for this module and all below it."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                submodule_prefix = prefix + ("." if prefix else "") + name
                yield from module.named_modules(memo, submodule_prefix, remove_duplicate)

    def train(self, mode: bool = True) -> Self:
        """Set training mode (or evaluation mode) on this module and all below it; return self."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode; the same as `train(False)`."""
        return self.train(False)

    # Text

    def _get_name(self) -> str:
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """The text between the parentheses of the repr; a subclass defines it."""
        return ""

    def __repr__(self) -> str:
        extra_repr = self.extra_repr()
        extra_lines = extra_repr.split("\n") if extra_repr else []
        child_lines = [f"({key}): {_addindent(repr(module), 2)}" for key, module in self._modules.items()]
        lines = extra_lines + child_lines
        if not lines:
            body = ""
        elif len(extra_lines) == 1 and not child_lines:
            body = extra_lines[0]
        else:
            body = "\n  " + "\n  ".join(lines) + "\n"
        return f"{self._get_name()}({body})"

    def __dir__(self) -> list:
        keys = itertools.chain(dir(self.__class__), self.__dict__, self._parameters, self._modules, self._buffers)
        return sorted(key for key in keys if not key[0].isdigit())

    def _replicate_for_data_parallel(self):
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        # A replica's parameters are plain attributes: results of an operator, not leaves.
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica


class _WithGlobalHooks(ModuleType):
    """This file's own module. Programs clear the global hooks by assigning new dictionaries here: `_hooks` gets them too."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_global_"):
            setattr(_hooks, name, value)
        super().__setattr__(name, value)

    @property
    def _global_is_full_backward_hook(self) -> bool | None:
        """Whether the global backward hooks are full ones; None before there are any."""
        return _hooks._global_is_full_backward_hook

    @_global_is_full_backward_hook.setter
    def _global_is_full_backward_hook(self, value) -> None:
        _hooks._global_is_full_backward_hook = value


sys.modules[__name__].__class__ = _WithGlobalHooks
