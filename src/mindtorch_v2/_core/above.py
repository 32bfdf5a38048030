"""Functions of layers above the tensor that it or the native core needs: the assembled package registers them.

None of those layers is imported here, and no other module of these levels imports them either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["above", "provide"]


class _Above:
    """A function for each of these; registered by `provide` before any program runs."""

    companion_operators: Callable[[str], bool]
    """Register the operators of a companion package, "torchvision" say; whether there are such."""
    device_module: Callable[[str], Any]
    """The module `torch.<name>` of a kind of device, "npu" say."""
    file_check: Callable[[], Any]
    """The class of expectations about a text."""
    file_records: Callable[[], Any]
    """The module with the classes of the records of files."""
    functional: Callable[[], Any]
    """`torch.functional`."""
    functional_form: Callable[[Any], Any]
    """Find, or define, the operator that does without writing what an operator does that writes."""
    generator_maker: Callable[[], Callable[..., Any]]
    """The function that pickles of generators name."""
    install_parts: Callable[[], None]
    """Register the kernels of operators that PyTorch composes of others."""
    is_onednn_enabled: Callable[[], bool]
    """Whether `torch.backends.mkldnn` is switched on."""
    is_pinned: Callable[[Any], bool]
    """Whether the memory of a storage is page-locked."""
    is_tracing: Callable[[], bool]
    """Whether torch.jit.trace is recording on this thread."""
    kernel_checks: Callable[[], Any]
    """The module that says what kernels do wrong."""
    late_function: Callable[[str], Any]
    """The function of an operator by name that is defined when it is asked for."""
    load_backend: Callable[[str], bool]
    """Load the back end of a kind of device, "npu" say: whether there is one."""
    load_functionalization: Callable[[], None]
    """Register the handler of the key Functionalize."""
    own_device: Callable[[], Any]
    """The module of the device that a program makes its own; None where none did."""
    operators: Callable[[], Any]
    """`torch.ops`."""
    pinned_memory: Callable[[], Any]
    """Where page-locked memory comes from; None without an accelerator."""
    reduced: Callable[[Any], tuple[Any, ...]]
    """The parts of a tensor that a pickle holds."""
    save: Callable[..., None]
    """`torch.save`."""
    text: Callable[..., str]
    """The `repr` of a tensor."""
    to_mindspore: Callable[[Any], Any]
    """The MindSpore tensor over the memory of a tensor."""
    to_onednn: Callable[..., Any]
    """A tensor in oneDNN's layout."""
    typed_storage: Callable[[Any, bool], Any]
    """The TypedStorage of a tensor."""


above = _Above()


def provide(**functions: Callable[..., Any]) -> None:
    """Register functions by name; TypeError for a name that nobody asks for."""
    for name, function in functions.items():
        if name not in _Above.__annotations__:
            raise TypeError(f"provide(): no layer asks for {name!r}, only for {', '.join(_Above.__annotations__)}")
        setattr(above, name, function)
