"""Random generators that libraries in C++ derive from c10::GeneratorImpl, and operators that draw from them.

`own_generator.h` makes the objects; kernels that are registered for the key CustomRNGKeyId come here.
"""

from __future__ import annotations

import functools
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._dispatch.schema import schema_of
from mindtorch_v2._ops import classes, ops

from .names import handle_named
from .own_composites import composed_of, drawn_by

__all__ = ["OwnGenerator", "held_by", "prepared", "register"]

_NAMESPACE = "_own_generators"
_WORD = (1 << 64) - 1


class OwnGenerator(_C.Generator):
    """A generator whose numbers a library in C++ makes: a torch.Generator that asks it for all that it is asked."""

    _held: Any
    _answer: Any
    _device: str

    def __new__(cls, held: Any, answering: str, device: str) -> OwnGenerator:
        made = super().__new__(cls)
        made._held, made._answer, made._device = held, getattr(getattr(ops, _NAMESPACE), answering), device
        return made

    def _ask(self, what: str, number: int = 0, state: Any = None) -> Any:
        number &= _WORD
        return self._answer(what, self._held, number - (number >> 63 << 64), state)

    @property
    def device(self) -> Any:  # type: ignore[override]  # (read-only there too)
        return _C.device(self._device)

    def manual_seed(self, seed: int) -> OwnGenerator:
        self._ask("set_current_seed", seed)
        return self

    def initial_seed(self) -> int:
        return self._ask("current_seed") & _WORD

    def seed(self) -> int:
        return self._ask("seed") & _WORD

    def get_offset(self) -> int:
        return self._ask("get_offset") & _WORD

    def set_offset(self, offset: int) -> OwnGenerator:
        self._ask("set_offset", offset)
        return self

    def get_state(self) -> Any:
        return self._ask("get_state")

    def set_state(self, state: Any) -> OwnGenerator:
        self._ask("set_state", 0, state)
        return self

    def clone_state(self) -> Any:
        return self._ask("clone")


@functools.cache
def prepared() -> None:
    """Make the class that holds what a library in C++ made, once."""
    held = type("Held", (_C.CompiledObject,), {"_qualified": f"{_NAMESPACE}.Held"})
    getattr(classes, _NAMESPACE).Held = held


def held_by(generator: Any) -> Any:
    """The object behind a generator that a library in C++ made; None for one of the framework's."""
    return generator._held if isinstance(generator, OwnGenerator) else None


def register(library: Any, name: str, kernel: Any) -> None:
    """Let an operator call `kernel` where its generator is one of a library's own.

    No tensor has the key CustomRNGKeyId: a kernel of BackendSelect, which every call passes, looks at the generator.
    """
    full = name if "::" in name else f"{library.ns}::{name}"
    handle = handle_named(full)
    arguments = [] if handle is None else schema_of(handle).arguments
    places = [i for i, a in enumerate(arguments) if "Generator" in str(a.type)]
    if handle is None or not places:
        library.impl(name, kernel, "CustomRNGKeyId")
        return
    place, keyword = places[0], arguments[places[0]].name
    library.impl(name, kernel, "CustomRNGKeyId")
    below = _C._key_bit("BackendSelect") - 1
    registration = next(k.registration for k in reversed(library._kernels) if k.key == "CustomRNGKeyId")

    def choose(keys: Any, *args: Any, **kwargs: Any) -> Any:
        generator = args[place] if place < len(args) else kwargs.get(keyword)
        if not isinstance(generator, OwnGenerator):
            return handle.redispatch(int(keys) & below, *args, **kwargs)
        with _C._AutoDispatchBelowADInplaceOrView():
            return handle.call_kernel(registration, int(keys) & below, *args, **kwargs)

    library.impl(name, choose, "BackendSelect", with_keyset=True)
    for made in drawn_by(full.removeprefix("aten::")):
        _make(library, f"aten::{made}", below)


def _make(library: Any, full: str, below: int) -> None:
    """Let a function whose generator is a library's own draw by the library's kernels, from a new tensor on."""
    handle = handle_named(full)
    if handle is None:
        return
    arguments = schema_of(handle).arguments
    place = next((i for i, a in enumerate(arguments) if "Generator" in str(a.type)), None)
    if place is None:
        return
    composed = composed_of(full.removeprefix("aten::"))

    def choose(keys: Any, *args: Any, **kwargs: Any) -> Any:
        generator = args[place] if place < len(args) else kwargs.get("generator")
        if not isinstance(generator, OwnGenerator):
            return handle.redispatch(int(keys) & below, *args, **kwargs)
        with _C._AutoDispatchBelowADInplaceOrView():
            return composed(*args, **kwargs)

    library.impl(full, choose, "BackendSelect", with_keyset=True)
