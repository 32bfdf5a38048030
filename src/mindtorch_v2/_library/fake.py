"""Fake kernels: what makes an operator's results without data, for the meta device."""

import contextlib
import threading

from .names import find_handle

__all__ = ["FakeImplCtx", "get_ctx", "register_fake_for"]


class DynamicOutputShapeException(RuntimeError):
    """A fake kernel asked for a size that only the data can tell, where no such size can stand."""

    def __init__(self, func):
        super().__init__(str(func))
        self.func = func


class FakeImplCtx:
    """What a fake kernel may ask: see `torch.library.get_ctx`."""

    def __init__(self, op):
        self._op = op

    def new_dynamic_size(self, *, min=0, max=None):
        """A size that depends on the data; raises DynamicOutputShapeException, meta tensors have none."""
        if min < 0:
            raise ValueError(
                f"expected min to be greater than or equal to 0, got {min}: this size stands for one of a tensor"
            )
        raise DynamicOutputShapeException(self._op)

    create_unbacked_symint = new_dynamic_size


_state = threading.local()


def get_ctx():
    """The context of the running fake kernel; None outside of one."""
    return getattr(_state, "context", None)


@contextlib.contextmanager
def _context(op):
    before = get_ctx()
    _state.context = FakeImplCtx(op)
    try:
        yield
    finally:
        _state.context = before


def register_fake_for(library, name, fn, allow_override=True):
    """Make `fn` the kernel of the meta device, with a context while it runs."""
    if not callable(fn):
        raise TypeError(f"register_fake(...): expected a callable, got {type(fn)}")
    full = name if "::" in name else f"{library.ns}::{name}"
    handle = find_handle(full)
    for key in ("Meta", "CompositeImplicitAutograd"):
        if key not in handle.kernels() or (key == "Meta" and allow_override):
            continue
        if key == "Meta" and handle.__dict__.get("fake_origin"):
            raise RuntimeError(
                f"register_fake(...): the operator {full} already has a fake impl registered at "
                f"{handle.__dict__['fake_origin']}."
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

    def fake(*args, **kwargs):
        with _context(_overload(full)):
            return fn(*args, **kwargs)

    fake.__wrapped__ = fn
    library._register(handle, fake, "Meta", quiet=True)
    handle.__dict__["fake_origin"] = handle.__dict__["kernel_origins"]["Meta"].removeprefix("registered at ")
    return fn


def _overload(name):
    base, _, overload = name.partition(".")
    return f"{base.replace('::', '.')}.{overload or 'default'}"


def no_fake(definition):
    """The meta kernel of an operator that has no fake kernel: an error that says what to do."""
    original = getattr(definition._init_fn, "__name__", definition._name)

    def missing(*args, **kwargs):
        raise RuntimeError(
            f"There was no fake impl registered for {definition}. This is necessary for torch.compile/export/fx tracing to "
            f"work. Please use `{original}.register_fake` to add an fake impl."
        )

    return missing


def has_fake(handle):
    """Whether the operator's results can be made without data."""
    return bool(handle.has_kernel("Meta")) and not handle.__dict__.get("fake_missing", False)
