"""State dicts of modules: saving, loading, their hooks and versions."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import __future__ as conversion
from mindtorch_v2.utils.hooks import RemovableHandle

from ..parameter import Parameter, is_lazy
from ._hooks import _WrappedHook

if TYPE_CHECKING:
    from mindtorch_v2._core.hooks import RemovableHandle as _RemovableHandle


_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


def _swap_in(param: torch.Tensor, loaded: torch.Tensor, given: torch.Tensor) -> None:
    """Put the insides of what `module_load` made of the `given` tensor into `param`."""
    if loaded is given or loaded is param:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs in "
            "module_load"
        )
    if isinstance(param, Parameter):
        if isinstance(loaded, Parameter):
            loaded.requires_grad_(param.requires_grad)
        else:
            loaded = Parameter(loaded, requires_grad=param.requires_grad)
    torch.utils.swap_tensors(param, loaded)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of `load_state_dict`: `missing_keys` and `unexpected_keys`."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateDictMethods:
    """The state dict side of `Module`."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the rest is the module's that it is mixed into

    def get_extra_state(self) -> Any:
        """Extra state to keep in the state dict beside parameters and buffers; a subclass may define it."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. "
            "Please file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml "
            "to report this bug."
        )

    def set_extra_state(self, state: Any) -> Any:
        """Take back what `get_extra_state` gave; a subclass that defines one defines both."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. "
            "Please file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml "
            "to report this bug."
        )

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        handle = RemovableHandle(self._state_dict_hooks)
        self._state_dict_hooks[handle.id] = hook
        return handle

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> _RemovableHandle:
        """Add `hook(module, state_dict, prefix, local_metadata) -> None`, called after `state_dict`."""
        # The mark lets `state_dict` hold this kind to returning None; hooks of the private kind may replace the dict.
        hook._from_public_api = True  # type: ignore[attr-defined]  # (a mark on the user's function)
        handle = RemovableHandle(self._state_dict_hooks)
        self._state_dict_hooks[handle.id] = hook
        return handle

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> _RemovableHandle:
        """Add `hook(module, prefix, keep_vars) -> None`, called before `state_dict`."""
        handle = RemovableHandle(self._state_dict_pre_hooks)
        self._state_dict_pre_hooks[handle.id] = hook
        return handle

    def _has_extra_state(self) -> bool:
        return type(self).get_extra_state is not StateDictMethods.get_extra_state

    def _save_to_state_dict(self, destination, prefix, keep_vars) -> None:
        """Write this module's own entries (not those of its children) to `destination`."""
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buf in self._buffers.items():
            if buf is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buf if keep_vars else buf.detach()
        if self._has_extra_state():
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: OrderedDict | None = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict:
        """Return an ordered dict of all parameters and persistent buffers, by dotted name.

        The tensors share memory with the module's; with `keep_vars` they are the parameters themselves. The dict's
        `_metadata` attribute holds each module's `_version`.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict"
                " for details.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # type: ignore[attr-defined]  # (a mark on an ordinary dictionary)
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if not getattr(hook, "_from_public_api", False):
                if result is not None:
                    destination = result
            elif result is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        handle = RemovableHandle(self._load_state_dict_pre_hooks)
        self._load_state_dict_pre_hooks[handle.id] = _WrappedHook(hook, self if with_module else None)
        return handle

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> _RemovableHandle:
        """Add a hook called before this module's entries are loaded.

        It is called as `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)` and may change the dict and the lists in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> _RemovableHandle:
        """Add `hook(module, incompatible_keys)`, called after loading; it may change the lists in place."""
        handle = RemovableHandle(self._load_state_dict_post_hooks)
        self._load_state_dict_post_hooks[handle.id] = hook
        return handle

    def _load_one(self, name, param, input_param, key, assign, error_msgs) -> None:
        """Copy (or assign) `input_param` to this module's parameter or buffer `name`."""
        if not torch.overrides.is_tensor_like(input_param):
            error_msgs.append(
                f'While copying the parameter named "{key}", '
                "expected torch.Tensor or Tensor-like object from checkpoint but "
                f"received {type(input_param)}"
            )
            return
        is_param_lazy = is_lazy(param)
        # Files from before 0.4 hold scalars as one-element vectors.
        if not is_param_lazy and len(param.shape) == 0 and len(input_param.shape) == 1:
            input_param = input_param[0]
        if not is_param_lazy and input_param.shape != param.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {input_param.shape} from checkpoint, "
                f"the shape in current model is {param.shape}."
            )
            return
        if param.is_meta and not input_param.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                "parameter in the current model, which is a no-op. (Did you mean to "
                "pass `assign=True` to assign items in the state dictionary to their "
                "corresponding key in the module instead of copying them in place?)",
                stacklevel=3,
            )
        swap = conversion.get_swap_module_params_on_conversion()
        try:
            with torch.no_grad():
                if swap:
                    _swap_in(param, param.module_load(input_param, assign=assign), input_param)
                elif assign:
                    if isinstance(param, Parameter):
                        if not isinstance(input_param, Parameter):
                            input_param = Parameter(input_param, requires_grad=param.requires_grad)
                        else:
                            input_param.requires_grad_(param.requires_grad)
                    setattr(self, name, input_param)
                else:
                    param.copy_(input_param)
        except Exception as ex:  # noqa: BLE001  (reported with every other key's error)
            error_msgs.append(
                f'While {"swapping" if swap else "copying"} the parameter named "{key}", '
                f"whose dimensions in the model are {param.size()} and "
                f"whose dimensions in the checkpoint are {input_param.size()}, "
                f"an exception occurred : {ex.args}."
            )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        """Load this module's own entries (not those of its children); append to the three lists what goes wrong."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        persistent_buffers = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        local_state = {
            k: v for k, v in itertools.chain(self._parameters.items(), persistent_buffers.items()) if v is not None
        }
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, param in local_state.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, param, state_dict[key], key, assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra_state_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateDictMethods.set_extra_state:
            if extra_state_key in state_dict:
                self.set_extra_state(state_dict[extra_state_key])
            elif strict:
                missing_keys.append(extra_state_key)
        elif strict and extra_state_key in state_dict:
            unexpected_keys.append(extra_state_key)
        if not strict:
            return
        for key in state_dict:
            if not key.startswith(prefix) or key == extra_state_key:
                continue
            name = key[len(prefix) :].split(".", 1)
            # A dotted name is its child's to judge, if there is such a child.
            if len(name) > 1:
                if name[0] not in self._modules:
                    unexpected_keys.append(key)
            elif name[0] not in local_state:
                unexpected_keys.append(key)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the entries of `state_dict` into this module's parameters and buffers, by name.

        Args:
            state_dict: a mapping from dotted name to tensor.
            strict: whether missing and unexpected names are errors (RuntimeError, naming them all).
            assign: put the given tensors themselves in place, keeping their dtype and device.

        Return a named tuple of `missing_keys` and `unexpected_keys`.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys: list[str] = []
        unexpected_keys: list[str] = []
        error_msgs: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata  # type: ignore[attr-defined]  # (a mark on an ordinary dictionary)

        def load(module: Any, local_state_dict: Mapping[str, Any], prefix: str = "") -> None:
            local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(
                local_state_dict, prefix, local_metadata, True, missing_keys, unexpected_keys, error_msgs
            )
            for name, child in module._modules.items():
                if child is not None:
                    child_prefix = prefix + name + "."
                    load(child, {k: v for k, v in local_state_dict.items() if k.startswith(child_prefix)}, child_prefix)
            incompatible_keys = _IncompatibleKeys(missing_keys, unexpected_keys)
            for hook in module._load_state_dict_post_hooks.values():
                out = hook(module, incompatible_keys)
                if out is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                        "expected to return new values, if incompatible_keys need to be modified, "
                        "it should be done inplace."
                    )

        load(self, state_dict)
        if strict:
            if unexpected_keys:
                keys = ", ".join(f'"{k}"' for k in unexpected_keys)
                error_msgs.insert(0, f"Unexpected key(s) in state_dict: {keys}. ")
            if missing_keys:
                keys = ", ".join(f'"{k}"' for k in missing_keys)
                error_msgs.insert(0, f"Missing key(s) in state_dict: {keys}. ")
        if error_msgs:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(self.__class__.__name__, "\n\t".join(error_msgs))
            )
        return _IncompatibleKeys(missing_keys, unexpected_keys)
