"""Fake tensors: shape, dtype and device of a real one, results by the kernels of the meta device, and no data.

A fake tensor wraps a tensor on the meta device and says that it lies on another. Its mode runs each operator on the
wrapped ones. What the values would decide raises an error that names the operator.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._behaviours.functional._variants import bound, written_without_kernel
from mindtorch_v2._behaviours.sparse.creation import on_meta
from mindtorch_v2._behaviours.sparse.parts import is_sparse
from mindtorch_v2._behaviours.sparse.parts import parts as sparse_parts
from mindtorch_v2._core import torch_dispatch as _torch_dispatch
from mindtorch_v2._core.torch_function import DisableTorchFunctionSubclass, _disabled_torch_function_impl
from mindtorch_v2._core.unavailable import unavailable_class, unavailable_function
from mindtorch_v2._library.fake import sizes_of_data
from mindtorch_v2._operators.table import facts_of
from mindtorch_v2._subclasses.sized_by_data import SIZED_BY_DATA
from mindtorch_v2._subclasses.wrappers import rebuilt, taken_apart
from mindtorch_v2.overrides import TorchFunctionMode
from mindtorch_v2.utils import _pytree as pytree
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode, _share_storage, is_traceable_wrapper_subclass
from mindtorch_v2.utils.weak import WeakIdKeyDictionary

if TYPE_CHECKING:
    from mindtorch_v2._sizes.environment import ShapeEnv
    from mindtorch_v2.types import Device


__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeCopyMode",
    "FakeTensor",
    "FakeTensorConverter",
    "FakeTensorDeviceMismatchError",
    "FakeTensorMode",
    "MetadataMismatchError",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


_CacheKeyState = unavailable_class("torch._subclasses.fake_tensor._CacheKeyState")  # nothing is cached here
extract_tensor_metadata = unavailable_function("torch._subclasses.fake_tensor.extract_tensor_metadata")


class UnsupportedFakeTensorException(RuntimeError):
    """Raised for a tensor of which no fake one can be made."""


class MetadataMismatchError(RuntimeError):
    """Raised where what a fake kernel says of a result is not what the real one gives."""


class _OfOperator(RuntimeError):
    """An error about one operator, `func`."""

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class DynamicOutputShapeException(_OfOperator):
    """Raised by an operator whose result has a shape that values decide."""


class DataDependentOutputException(_OfOperator):
    """Raised by an operator that gives a value to Python."""


class UnsupportedOperatorException(_OfOperator):
    """Raised by an operator that has no kernel for the meta device."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """Raised for tensors that pretend to lie on different devices."""

    def __init__(self, func: Any, common_device: Any, device: Any) -> None:
        super().__init__(
            f"Expected all tensors to be on the same device, but found at least two devices, {common_device} and {device}!"
        )
        self.func = func


_symbolic = None  # what a mode with a ShapeEnv does: `_sizes/universes.py`, which stands on this file


def register_symbolic(module: Any) -> None:
    """Let `module` make and run fake tensors of which sizes are symbolic."""
    global _symbolic
    _symbolic = module


def _is_tensor_constructor(func: Any) -> bool:
    """Whether an operator makes one tensor of no other."""
    schema = func._schema
    takes = any("Tensor" in str(argument.type) for argument in schema.arguments)
    return not takes and [str(result.type) for result in schema.returns] == ["Tensor"]


def is_fake(x: Any) -> bool:
    """Whether `x` is a fake tensor."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: Any) -> Any:
    """The mode of a fake tensor, or None."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """Within the block no FakeTensorMode is active; gives the one that was, or None.

    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.proxy_tensor import unset_fake_temporarily
    >>> with FakeTensorMode():
    ...     with unset_fake_temporarily():
    ...         print(torch.ones(2) + 1)
    tensor([2., 2.])
    """
    found = [mode for mode in _torch_dispatch.modes() if isinstance(mode, FakeTensorMode)]
    with _torch_dispatch.no_modes() as before:
        kept = [mode for mode in before if not isinstance(mode, FakeTensorMode)]
        for mode in kept:
            _torch_dispatch.push(mode)
        try:
            yield found[-1] if found else None
        finally:
            for _ in kept:
                _torch_dispatch.pop()


class FakeTensor(torch.Tensor):
    """A tensor without data that pretends to lie on a device; made by a `FakeTensorMode`.

    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> with FakeTensorMode():
    ...     x = torch.ones(1000, 1000) @ torch.ones(1000, 3)
    >>> type(x).__name__, x.shape, x.device
    ('FakeTensor', torch.Size([1000, 3]), device(type='cpu'))
    """

    _elem: Any

    fake_mode: Any
    constant: torch.Tensor | None

    @staticmethod
    def __new__(
        cls: type[FakeTensor], fake_mode: FakeTensorMode, elem: torch.Tensor, device: Device, constant: Any = None
    ) -> Any:
        if elem.device.type != "meta":
            raise AssertionError(f"elem.device.type must be 'meta', got {elem.device.type}")
        base: Any = torch.Tensor
        if elem.layout is torch.strided:
            made = base._make_wrapper_subclass(
                cls,
                elem.shape,
                strides=elem.stride(),
                storage_offset=elem.storage_offset(),
                dtype=elem.dtype,
                device=device,
            )
        else:  # parts are asked for by operators, which `elem` answers
            sparse = _C._make_sparse(
                tuple(elem.shape),
                elem.dtype,
                elem.layout,
                sparse_parts(elem),
                elem.device if device is None else torch.device(device),
            )
            made = base._make_subclass(cls, sparse)
        made.fake_mode = fake_mode
        made.fake_device = made.device
        made.constant = constant
        made._elem = elem
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is left to do; `torch.Tensor([1, 2])` comes here too, with its own arguments."""

    # Nothing above autograd sees that it is fake.
    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]  # (subclasses take nothing over)

    def tolist(self) -> Any:
        """The elements as numbers: DataDependentOutputException unless the value is known."""
        return self.item() if self.dim() == 0 else [each.tolist() for each in self.unbind()]

    @staticmethod
    def from_tensor(t: Any, fake_mode: Any) -> FakeTensor:
        """`fake_mode.from_tensor(t)`."""
        return fake_mode.from_tensor(t)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # (the keyword has no name to the checker)
        if self.layout is not torch.strided:
            return super().__repr__()
        said = ["..."]
        if self.device.type != "cpu":
            said.append(f"device='{self.device}'")
        said.append(f"size={tuple(self.shape)}")
        if self.dtype is not torch.get_default_dtype():
            said.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            said.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            said.append("requires_grad=True")
        text = f"FakeTensor({', '.join(said)})"
        return f"Parameter({text})" if getattr(self, "_is_param", False) else text

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        leaves = pytree.arg_tree_leaves(*args, **(kwargs or {}))
        mode = next(leaf.fake_mode for leaf in leaves if isinstance(leaf, FakeTensor))
        with mode:
            return func(*args, **(kwargs or {}))


class FakeTensorConverter:
    """Make fake tensors of real ones, of each the same as long as it lives."""

    def __init__(self) -> None:
        self.tensor_memo = WeakIdKeyDictionary()

    def from_real_tensor(self, fake_mode: Any, t: Any, make_constant: bool = False) -> Any:
        """The fake tensor of `t`: a view where `t` is one, a leaf where it is one."""
        found = self.tensor_memo.get(t)
        if found is None:
            with _torch_dispatch.no_modes():
                found = self._convert(fake_mode, t, make_constant)
            self.tensor_memo[t] = found
        return found

    def _convert(self, mode, t, make_constant):
        sparse = t.layout not in (torch.strided, torch.jagged)
        if t.layout is not torch.strided and not (sparse and is_sparse(t)):
            raise UnsupportedFakeTensorException("meta converter nyi")
        if is_traceable_wrapper_subclass(t):
            parts, forms = taken_apart([t])
            (made,) = rebuilt(parts, forms, lambda part: self.from_real_tensor(mode, part))
            return made.requires_grad_(t.requires_grad)
        if mode._symbolic is None and not sparse and t._is_view() and t._base.dtype is t.dtype:
            base = self.from_real_tensor(mode, t._base)
            with torch.set_grad_enabled(t.requires_grad):
                return base.as_strided(t.shape, t.stride(), t.storage_offset())
        if type(t) not in (torch.Tensor, torch.nn.Parameter):
            raise UnsupportedFakeTensorException(f"a fake tensor of a {type(t).__name__} is not supported")
        with torch.no_grad():
            elem = on_meta(t) if sparse else torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
        made = mode.wrap(elem, t.device)
        if make_constant and not sparse and t.numel() <= 1 and t.device.type != "meta":
            with _torch_dispatch.no_modes(), torch.no_grad():
                mode._know(
                    made, t.detach().clone()
                )  # a program that writes it leaves `t`, which a graph may hold, as it is
        if t.requires_grad:
            made.requires_grad = True
            if not t.is_leaf:
                with torch.enable_grad():
                    made = made.clone()
            elif t.grad is not None:
                made.grad = self.from_real_tensor(mode, t.grad)
        if isinstance(t, torch.nn.Parameter):
            made._is_param = True
        return made


class FakeCopyMode(TorchFunctionMode):
    """Within the block copies, by `clone` and `copy.deepcopy`, are fake tensors of a mode.

    >>> import copy
    >>> with FakeCopyMode(FakeTensorMode()):
    ...     copy.deepcopy(torch.nn.Linear(2, 3)).bias
    Parameter(FakeTensor(..., size=(3,), requires_grad=True))
    """

    sees_attributes = False

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self.fake_mode = fake_mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.Tensor.clone:
            return func(self.fake_mode.from_tensor(args[0], static_shapes=True), **kwargs)
        if func is torch.Tensor.__deepcopy__:
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor, static_shapes=True)
            return memo[id(tensor)]
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)


def _describe(value) -> str:
    if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
        dtype = "" if value.dtype is torch.get_default_dtype() else f", dtype={value.dtype}"
        return f"tensor([...], size={tuple(value.shape)}{dtype})"
    if isinstance(value, (list, tuple)):
        items = ", ".join(map(_describe, value))
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    return repr(value)


def _describe_call(func, args, kwargs) -> str:
    said = [*map(_describe, args), *(f"{key}={_describe(value)}" for key, value in kwargs.items())]
    return f"{func}({', '.join(said)})"


class FakeTensorMode(TorchDispatchMode):
    """A context in which new tensors are fake, and operators give fake tensors for fake tensors.

    Real tensors among the arguments are an error (AssertionError) unless `allow_non_fake_inputs`. Numbers that
    `torch.tensor` was given stay known. A kernel that `torch.library.register_fake` registered serves its operator.

    With a `shape_env` (`torch.fx.experimental.symbolic_shapes.ShapeEnv`) sizes are symbolic: `from_tensor` gives each size
    a name, and what a program decides by them is noted as a guard.

    >>> with FakeTensorMode():
    ...     torch.ones(2, 3) @ torch.ones(3, 4)
    FakeTensor(..., size=(2, 4))
    """

    sees_parts = False

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: ShapeEnv | None = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        if shape_env is None and static_shapes is False:
            raise AssertionError("FakeTensorMode(): static_shapes=False needs a shape_env")
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.allow_fallback_kernels = allow_fallback_kernels
        self.shape_env = shape_env
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self._symbolic = None
        if shape_env is not None:
            self._symbolic = _symbolic
            symbolic: Any = _symbolic
            self._numbers = symbolic.SymbolicNumbers()
            self.other_mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.fake_tensor_converter = FakeTensorConverter()
        self._known: weakref.WeakValueDictionary[Any, Any] = (
            weakref.WeakValueDictionary()
        )  # by identity: the fake tensors whose value is known
        self._entered: list[Any] = []

    def __enter__(self) -> Any:
        # Entered within itself, it is there already.
        active = [mode for mode in _torch_dispatch.modes() if isinstance(mode, FakeTensorMode)]
        again = bool(active) and active[-1] is self
        self._entered.append(again)
        if again:
            return self
        if self._symbolic is not None:
            self._numbers.__enter__()
        return super().__enter__()

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if not self._entered.pop():
            super().__exit__(exc_type, exc_value, traceback)
            if self._symbolic is not None:
                self._numbers.__exit__(exc_type, exc_value, traceback)

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def from_tensor(
        self,
        tensor: torch.Tensor,
        *,
        static_shapes: bool | None = None,
        source: str | None = None,
        symbolic_context: Any = None,
        trace: bool = True,
    ) -> torch.Tensor:
        """The fake tensor of a real one; each time the same.

        Where the mode has a ShapeEnv and `static_shapes` is not set, its sizes are symbolic, each as `symbolic_context` (a
        StatelessSymbolicContext) says; `source` names the tensor. UnsupportedFakeTensorException for a subclass of
        Tensor or another layout than strided.
        """
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is self:
                return tensor
            with _torch_dispatch.no_modes():
                return self.wrap(tensor._elem, tensor.device)
        known = self.fake_tensor_converter.tensor_memo.get(tensor)
        if known is not None or self._symbolic is None:
            return known if known is not None else self.fake_tensor_converter.from_real_tensor(self, tensor)
        static = self.static_shapes if static_shapes is None else static_shapes
        source = source or f"tensor{len(self.fake_tensor_converter.tensor_memo)}"
        return self._symbolic.symbolic_fake(self, tensor, source, None if static else symbolic_context, static)

    def wrap(self, elem: Any, device: Any) -> FakeTensor:
        """The fake tensor of this mode that shows `elem`, of the meta device, on `device`."""
        return (FakeTensor if self._symbolic is None else self._symbolic.SymbolicFakeTensor)(self, elem, device)

    def is_our_fake(self, t: Any) -> bool:
        """Whether `t` is a fake tensor of this mode."""
        return isinstance(t, FakeTensor) and t.fake_mode is self

    def _know(self, fake, constant) -> None:
        fake.constant = constant
        self._known[id(fake)] = fake

    def _forget_values(self, written: Sequence[FakeTensor]) -> None:
        """Take the numbers in the memory of these for unknown from now on."""
        places = {fake.untyped_storage()._cdata for fake in written if fake.layout is torch.strided}
        for key, fake in list(self._known.items()):
            if fake.untyped_storage()._cdata in places:
                fake.constant = None
                del self._known[key]

    # ---- one call ----

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if self._symbolic is None:
            return self._run(func, args, kwargs or {})
        with self._symbolic.below():
            return self._run(func, args, kwargs or {})

    def _run(self, func, args, kwargs):
        name = func._qualified_op_name
        with _torch_dispatch.no_modes():
            facts = facts_of(func._handle)
            if facts.lifts and not isinstance(args[0], FakeTensor):
                return self.fake_tensor_converter.from_real_tensor(self, args[0], make_constant=True)
            args, kwargs = self._all_fake(func, args, kwargs)
            fakes = [leaf for leaf in pytree.arg_tree_leaves(*args, **kwargs) if isinstance(leaf, FakeTensor)]
            known = (
                self._on_values(func, args, kwargs) if fakes and all(f.constant is not None for f in fakes) else None
            )
            if facts.gives_value:
                if known is None:
                    return self._value_of_data(func, name, args)
                return known[0]
            if _sizes_by_values(facts, args, kwargs):
                return self._of_data(func, name, args, kwargs, fakes)
            result = self._on_meta(func, args, kwargs, fakes)
            if known is not None and isinstance(result, FakeTensor) and known[0].numel() <= 1:
                self._know(result, known[0])
            return result

    def _value_of_data(self, func, name, args):
        if self._symbolic is not None and name == "aten::_local_scalar_dense":
            value = self._symbolic.value_of_data(self.shape_env, args[0].dtype)
            if value is not None:
                return value
        raise DataDependentOutputException(func)

    def _new_size(self, least: int) -> int | None:
        """A size that data decide, of at least so much; None where sizes are numbers."""
        return None if _symbolic is None else _symbolic.size_of_data(self.shape_env, least)

    def _of_data(self, func, name, args, kwargs, fakes):
        """The results of an operator whose sizes values decide, where sizes are symbolic."""
        make = SIZED_BY_DATA.get(name)
        size = None if make is None else self._new_size(0)
        if make is None or size is None:
            raise DynamicOutputShapeException(torch.ops.aten.nonzero.default if name == "aten::index" else func)
        given = bound(func._handle, *pytree.tree_map_only(FakeTensor, lambda fake: fake._elem, (args, kwargs)))
        device = self._device(func, kwargs, fakes)
        with torch.no_grad():
            return pytree.tree_map_only(torch.Tensor, lambda elem: self.wrap(elem, device), make(size, *given))

    def _all_fake(self, func, args, kwargs) -> tuple:
        """The arguments with fake tensors for real ones, where that is allowed."""

        def convert(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            if isinstance(value, FakeTensor):
                if value.fake_mode is not self:
                    raise AssertionError(f"Mixing fake modes NYI x.fake_mode={value.fake_mode} vs self={self}")
                return value
            if _C._is_wrapped_number(value):
                return value.item()
            if not self.allow_non_fake_inputs:
                raise AssertionError(
                    "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                    f"'allow_non_fake_inputs'. Found in {_describe_call(func, args, kwargs)}"
                )
            return self.fake_tensor_converter.from_real_tensor(self, value)

        return pytree.tree_map(convert, tuple(args)), pytree.tree_map(convert, dict(kwargs))

    def _on_values(self, func, args, kwargs):
        """The result of the operator for values that are known, in a tuple; None for what draws random numbers."""
        if _draws(func) or kwargs.get("device") is not None or torch.Tag.inplace_view in func.tags:
            return None
        plain = pytree.tree_map_only(FakeTensor, lambda fake: fake.constant, (args, kwargs))
        with torch.no_grad():
            result = func(*plain[0], **plain[1])
        return None if isinstance(result, (tuple, list)) else (result,)

    def _on_numbers(self, func, args, kwargs):
        """The fake tensors for the results of an operator on numbers of Python's, which are known."""
        convert = self.fake_tensor_converter.from_real_tensor
        return pytree.tree_map_only(torch.Tensor, lambda t: convert(self, t, True), func(*args, **kwargs))

    def _device(self, func, kwargs, fakes):
        """Where the results pretend to lie."""
        if kwargs.get("device") is not None:
            return torch.device(kwargs["device"])
        if not fakes:
            return _C._get_default_device()
        device, only_scalars = None, True
        for fake in fakes:
            scalar = fake.dim() == 0 and fake.device.type == "cpu"
            if device is None or only_scalars and not scalar:
                device, only_scalars = fake.device, scalar
            elif fake.device != device and not scalar:
                if not facts_of(func._handle).devices:
                    raise FakeTensorDeviceMismatchError(func, device, fake.device)
        return device

    def _on_meta(self, func, args, kwargs, fakes):
        device = self._device(func, kwargs, fakes)
        writes = func._schema.is_mutable
        if not fakes and all(argument.name != "device" for argument in func._schema.arguments):
            return self._on_numbers(func, args, kwargs)
        if writes and self._known:
            if torch.Tag.inplace_view in func.tags or not all(fake.constant is not None for fake in fakes):
                self._forget_values(_written(func, args, kwargs))
        plain_args, plain_kwargs = pytree.tree_map_only(
            (FakeTensor, torch.UntypedStorage), _without_data, (args, kwargs)
        )
        if not fakes or "device" in plain_kwargs:
            plain_kwargs["device"] = "meta"
        try:
            with torch.no_grad(), sizes_of_data(self._new_size):
                result = func(*plain_args, **plain_kwargs)
        except NotImplementedError as error:
            known = written_without_kernel(func._handle, bound(func._handle, plain_args, plain_kwargs))
            if known is None:
                raise UnsupportedOperatorException(func) from error
            result = None if not known else known[0] if len(known) == 1 else tuple(known)
        if writes:
            for fake in fakes:
                _follow(fake)
        same = {id(fake._elem): fake for fake in fakes}

        def wrap(elem: Any) -> FakeTensor:
            if id(elem) in same:
                return same[id(elem)]
            if elem.device.type != "meta":
                raise AssertionError(
                    f"{func}: its Meta kernel returned a tensor on {elem.device}; elem.device.type must be 'meta', got "
                    f"{elem.device.type}. Make results with the arguments' device, as x.new_empty(...) does"
                )
            made = self.wrap(elem, device)
            if func._handle.is_view and _have_strides(elem, fakes[0]) and fakes[0]._elem.dtype is elem.dtype:
                _share_storage(made, fakes[0])  # they have one version counter
            return made

        return pytree.tree_map_only(torch.Tensor, wrap, result)


def _written(func: Any, args: tuple, kwargs: dict) -> list[FakeTensor]:
    """The arguments that the schema says a call writes."""
    given = {argument.name: value for argument, value in zip(func._schema.arguments, args, strict=False)} | kwargs
    values = [given.get(argument.name) for argument in func._schema.arguments if argument.is_write]
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, FakeTensor)]


def _without_data(leaf: Any) -> Any:
    """The tensor that a fake one wraps; for a storage, which `set_` takes, one of the meta device of the same size."""
    return leaf._elem if isinstance(leaf, FakeTensor) else torch.UntypedStorage(leaf.nbytes(), device="meta")


def _have_strides(*tensors: torch.Tensor) -> bool:
    return all(each.layout is torch.strided for each in tensors)


def _draws(func):
    return func._handle.random


def _sizes_by_values(facts, args, kwargs):
    tells = facts.sizes_by_values
    return tells(*args, **kwargs) if callable(tells) else tells


def _follow(fake) -> None:
    """After a write: `fake` has the shape that what it wraps has now."""
    elem = fake._elem
    if (
        elem.layout is not torch.strided
        or fake.shape == elem.shape
        and fake.stride() == elem.stride()
        and fake.storage_offset() == elem.storage_offset()
    ):
        return
    with _torch_dispatch.DisableTorchDispatch(), torch.no_grad():
        set_ = _C._find_operator("aten::set_", "source_Storage_storage_offset")
        set_(fake, fake.untyped_storage(), elem.storage_offset(), elem.shape, elem.stride())
