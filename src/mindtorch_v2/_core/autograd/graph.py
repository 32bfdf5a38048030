"""torch.autograd.graph: hooks on saved tensors and on several gradients, edges, nodes."""

from __future__ import annotations

import abc
import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import _C
from .function import DelayedError, UndefinedGrad


class Node(abc.ABC):
    """The class of every `grad_fn`: each node is an instance, though none descends from it.

    >>> y = torch.ones(1, requires_grad=True) * 2
    >>> isinstance(y.grad_fn, torch.autograd.graph.Node), y.grad_fn.name()
    (True, 'MulBackward0')
    """

    @abc.abstractmethod
    def name(self) -> str:
        """The node's name, PyTorch's, such as "AddBackward0".

        >>> (torch.ones(2, requires_grad=True) + 1).grad_fn.name()
        'AddBackward0'
        """
        raise NotImplementedError

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input its node, None without one, and which of that node's outputs it is."""
        raise NotImplementedError

    @property
    @abc.abstractmethod
    def metadata(self) -> dict[str, Any]:
        """A place for notes on this node."""
        raise NotImplementedError

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> Any:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node ran; what it returns replaces the `grad_inputs`."""
        raise NotImplementedError

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> Any:
        """Call ``fn(grad_outputs)`` before the node runs; what it returns replaces them."""
        raise NotImplementedError


for _class in (_C.Node, DelayedError, UndefinedGrad):
    Node.register(_class)


class saved_tensors_hooks:
    """Within this block tensors saved for backward go through ``pack_hook`` and come back through ``unpack_hook``.

    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
    ...     y = torch.ones(2).requires_grad_().exp()
    """

    def __init__(self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _C._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc: object) -> None:
        _C._pop_saved_tensors_default_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Tensors saved for backward wait in CPU memory.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Any) -> Any:
            return (tensor.device, tensor.cpu())

        def unpack(packed: Any) -> Any:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(contextlib.ContextDecorator):
    """Within this block setting saved-tensor hooks raises RuntimeError with ``error_message``.

    >>> try:
    ...     with torch.autograd.graph.disable_saved_tensors_hooks("no hooks in here"):
    ...         with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
    ...             pass
    ... except RuntimeError as error:
    ...     print(error)
    no hooks in here
    """

    def __init__(self, error_message: str) -> None:
        self.message = error_message

    def __enter__(self) -> None:
        self.before = _C._disable_saved_tensors_hooks(self.message)

    def __exit__(self, *exc: object) -> None:
        _C._disable_saved_tensors_hooks(self.before)


class GradientEdge(NamedTuple):
    """Where a tensor's gradient flows in the graph; stands for the tensor in backward and grad.

    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> y = x * x
    >>> torch.autograd.grad(torch.autograd.graph.get_gradient_edge(y), x)
    (tensor([6.]),)
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge of ``tensor``; raises RuntimeError if it does not require grad.

    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.autograd.graph.get_gradient_edge(x * 2).output_nr
    0
    """
    edge = _C._gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


def increment_version(tensor: Any) -> None:
    """Count one in-place write that happened behind autograd's back.

    >>> x = torch.ones(1)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for t in (tensor,) if isinstance(tensor, _C.TensorBase) else tensor:
        t._bump_version()


class _Handle:
    """Take several hooks away at once."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _Handle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


_MODES = ("all", "any")


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all") -> Any:
    """Call ``fn`` with the gradients of ``tensors`` once a backward has computed them.

    With ``mode="all"`` it gets a list, None for tensors that the backward does not reach; with ``"any"`` the first
    gradient that is there. Returns a handle whose ``remove()`` takes the hook away.

    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), print)
    >>> (2 * a + 3 * b).backward()
    [tensor([2.]), tensor([3.])]
    >>> handle.remove()
    """
    if mode not in _MODES:
        raise ValueError(f"Expects mode to be one of {_MODES} but got {mode}")
    tensors = list(tensors)
    lock = threading.Lock()
    if mode == "any":
        ran: dict[int, bool] = {}

        def on_any(gradient: Any) -> None:
            task = _C._current_graph_task_id()
            with lock:
                if ran.get(task):
                    return
                ran.clear()
                ran[task] = True
            fn(gradient)

        return _Handle([tensor.register_hook(on_any) for tensor in tensors if tensor.requires_grad])

    nodes = [get_gradient_edge(tensor).node for tensor in tensors]
    arrived: dict[int, tuple[list[Any], list[int]]] = {}

    def hook_of(place: int) -> Callable[..., Any]:
        def on_gradient(gradient: Any) -> None:
            task = _C._current_graph_task_id()
            with lock:
                if task not in arrived:
                    arrived.clear()
                    expected = sum(map(_C._node_will_run, nodes))
                    arrived[task] = ([None] * len(tensors), [expected])
                gradients, left = arrived[task]
                gradients[place] = gradient
                left[0] -= 1
                done = left[0] == 0
                if done:
                    del arrived[task]
            if done:
                fn(gradients)

        return on_gradient

    return _Handle([tensor.register_hook(hook_of(place)) for place, tensor in enumerate(tensors)])


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether streams of different devices that meet in a gradient are warned of; there is one stream here.

    >>> torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    >>> x = torch.ones(1, requires_grad=True)
    >>> (x * 2).backward()
    >>> x.grad
    tensor([2.])
    """
