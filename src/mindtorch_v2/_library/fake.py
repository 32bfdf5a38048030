"""Fake kernels: what makes an operator's results without data, for the meta device."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _C

from .names import find_handle

if TYPE_CHECKING:
    from .definition import CustomOpDef


__all__ = ["FakeImplCtx", "get_ctx", "register_fake_for"]


class DynamicOutputShapeException(RuntimeError):
    """A fake kernel asked for a size that only the data can tell, where no such size can stand."""

    def __init__(self, func: Callable | None) -> None:
        super().__init__(str(func))
        self.func = func


class FakeImplCtx:
    """The context that a fake kernel may ask: see `torch.library.get_ctx`."""

    def __init__(self, op: Any) -> None:
        self._op = op

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """A size that depends on the data, at least `min`.

        Where sizes are symbolic (`torch.export`, `make_fx(tracing_mode="symbolic")`) it is a symbol of its own. ValueError for
        a negative `min`, and for bounds that are symbols; RuntimeError for a call on tensors of the meta device; DynamicOutputShapeException for fake
        tensors whose sizes are numbers.
        """
        if not all(each is None or type(each) is int for each in (min, max)):
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, max={max}): expected min and max to be statically known ints but got SymInt. "
                "This is not supported."
            )
        if min < 0:
            raise ValueError(
                f"expected min to be greater than or equal to 0, got {min}: this size stands for one of a tensor"
            )
        if _state.new_size is None:
            raise RuntimeError(
                f"{self._op}: the result has a data-dependent shape, and a tensor of the meta device has no data to tell it. "
                "Call it with tensors of another device, or with fake ones that have a ShapeEnv"
            )
        size: int | None = _state.new_size(min)
        if size is None:
            raise DynamicOutputShapeException(self._op)
        return size

    create_unbacked_symint = new_dynamic_size


class _State(threading.local):
    """Of a thread: the context of the fake kernel that runs, and who gives the sizes that data decide."""

    context: FakeImplCtx | None = None
    new_size: Callable[[int], int | None] | None = None


_state = _State()


def get_ctx() -> Any:
    """The context of the running fake kernel; None outside of one.

    >>> @torch.library.custom_op("docs_ctx::positions", mutates_args=())
    ... def positions(x: torch.Tensor) -> torch.Tensor:
    ...     return x.nonzero()
    >>> @positions.register_fake
    ... def _(x):
    ...     count = torch.library.get_ctx().new_dynamic_size()
    ...     return x.new_empty(count, x.dim(), dtype=torch.int64)
    >>> positions(torch.tensor([0.0, 5.0]))
    tensor([[1]])
    """
    return _state.context


@contextlib.contextmanager
def sizes_of_data(new_size: Callable[[int], int | None]) -> Iterator[None]:
    """Within the block fake kernels get the sizes that data decide, of at least so much, from here; None if there are none."""
    before, _state.new_size = _state.new_size, new_size
    try:
        yield
    finally:
        _state.new_size = before


@contextlib.contextmanager
def _context(op: str) -> Iterator[None]:
    before, _state.context = _state.context, FakeImplCtx(op)
    try:
        yield
    finally:
        _state.context = before


# "ns.Name", a class in C++ -> the object that a fake kernel is given in place of one of that class.
stand_ins: dict[str, Callable[[Any], Any]] = {}


def _standing_in(value: Any) -> Any:
    made = stand_ins.get(value._qualified) if isinstance(value, _C.CompiledObject) else None
    return value if made is None else made(value)


def register_fake_for(library: Any, name: str, fn: Callable[..., Any], allow_override: bool = True) -> Any:
    """Make `fn` the kernel of the meta device, with a context while it runs."""
    if not callable(fn):
        raise TypeError(f"register_fake(...): expected a callable, got {type(fn)}")
    full = name if "::" in name else f"{library.ns}::{name}"
    handle = find_handle(full)
    for key in ("Meta", "CompositeImplicitAutograd"):
        if key not in handle.kernels() or (key == "Meta" and allow_override):
            continue
        if key == "Meta" and getattr(handle.kernels()["Meta"], "is_fake", False):
            raise RuntimeError(
                f"register_fake(...): the operator {full} already has a fake impl "
                f"{handle.__dict__['kernel_origins'][handle.registration('Meta')]}."
            )
        reason = (
            "operators do not need a fake impl; instead, the operator will decompose into its constituents and those can "
            "have fake impls defined on them."
            if key == "CompositeImplicitAutograd"
            else "is the kernel of the meta device."
        )
        raise RuntimeError(
            f"register_fake(...): the operator {full} already has an implementation for this device type via a "
            f"pre-existing registration to DispatchKey::{key}.{key} {reason}"
        )

    def fake(*args: Any, **kwargs: Any) -> Any:
        if stand_ins:
            args = tuple(_standing_in(value) for value in args)
            kwargs = {name: _standing_in(value) for name, value in kwargs.items()}
        with _context(_overload(full)):
            return fn(*args, **kwargs)

    marked: Any = fake
    marked.__wrapped__ = fn
    marked.is_fake = True
    library._register(handle, marked, "Meta", quiet=True)
    return fn


def _overload(name) -> str:
    base, _, overload = name.partition(".")
    return f"{base.replace('::', '.')}.{overload or 'default'}"


def no_fake(definition: CustomOpDef) -> Callable[..., Any]:
    """The meta kernel of an operator that has no fake kernel: an error that says what to do."""
    original = getattr(definition._init_fn, "__name__", definition._name)

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"There was no fake impl registered for {definition}. This is necessary for torch.compile/export/fx tracing to "
            f"work. Please use `{original}.register_fake` to add an fake impl."
        )

    marked: Any = missing
    marked.is_missing = True
    return marked


def has_fake(handle: Any) -> bool:
    """Whether the operator's results can be made without data."""
    return bool(handle.has_kernel("Meta")) and not getattr(handle.kernels().get("Meta"), "is_missing", False)
