"""The Tensor class: what is Python about a tensor. Operators are attached to it from the operator table (see _ops)."""

from __future__ import annotations

import copy
import copyreg
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from . import _C
from ._core import torch_function
from ._core.above import above
from ._core.autograd.backward import backward as _backward
from ._core.exchange import cuda_array
from ._core.hooks import RemovableHandle
from ._core.overridable import overridable
from ._core.removed import removed
from ._core.warn_once import warn_once


def _disabled_torch_dispatch_impl(
    func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """``__torch_dispatch__`` of classes that do not take calls over: the operator on the data that the tensors have."""
    before = _C._tls_keys()
    python = _C._key_bit("Python")
    _C._set_tls_keys(before[0] & ~python, before[1] | python)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _C._set_tls_keys(*before)


class _TensorMeta(type(_C.TensorBase)):
    """Say that a Parameter marked on a tensor subclass is a Parameter (see nn.Parameter)."""

    __module__ = "torch._C"

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> None:
        if "Tensor" in globals() and not any(isinstance(base, _TensorMeta) for base in bases):
            raise RuntimeError("Cannot subclass _TensorBase directly")
        super().__init__(name, bases, namespace, **options)


class Tensor(_C.TensorBase, metaclass=_TensorMeta):
    """A multi-dimensional array of one dtype on one device.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> (x @ x).sum()
    tensor(54.)
    """

    __module__ = "torch"
    __array_priority__ = 1000

    @overridable
    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
        """Give NumPy's functions a tensor of their result; truth values become uint8, as in PyTorch."""
        return _C.from_numpy(array.astype("uint8") if array.dtype == bool else array)

    # ---- autograd ----

    @overridable
    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Add the gradients of this tensor to the ``.grad`` of the leaves; ``gradient`` is needed unless it is a scalar.

        >>> x = torch.ones(2, requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
        """
        given = gradient if gradient is None or isinstance(gradient, (list, tuple)) else (gradient,)
        if given is not None and not given:
            raise RuntimeError("got 1 tensors and 0 gradients")
        _backward((self,), given and given[:1], retain_graph, create_graph, inputs=inputs)

    @overridable
    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(grad)`` whenever the gradient of this tensor is computed; a returned tensor replaces it.

        >>> x = torch.ones(1, requires_grad=True)
        >>> _ = x.register_hook(lambda grad: grad * 3)
        >>> x.sum().backward()
        >>> x.grad
        tensor([3.])
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._backward_hooks is None:
            self._backward_hooks = OrderedDict()
        handle = RemovableHandle(self._backward_hooks)
        self._backward_hooks[handle.id] = hook
        return handle

    @overridable
    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(tensor)`` after a gradient was added to this leaf's ``.grad``.

        >>> x = torch.ones(1, requires_grad=True)
        >>> _ = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> x.sum().backward()
        tensor([1.])
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_accumulate_grad_hooks is None:
            self._post_accumulate_grad_hooks = OrderedDict()
        handle = RemovableHandle(self._post_accumulate_grad_hooks)
        self._post_accumulate_grad_hooks[handle.id] = hook
        return handle

    def reinforce(self, reward: Any) -> None:
        """Raise RuntimeError saying what took the place of this old method.

        >>> try:
        ...     torch.ones(2).reinforce(1.0)
        ... except RuntimeError as error:
        ...     print(type(error).__name__)
        RuntimeError
        """
        raise RuntimeError("reinforce() was removed. Use torch.distributions instead.")

    def eig(self, eigenvectors: bool = False) -> None:
        """Raise RuntimeError: `torch.linalg.eig` took its place.

        >>> try:
        ...     torch.eye(2).eig()
        ... except RuntimeError as error:
        ...     print(str(error).partition(". ")[0])
        This function was deprecated since version 1.9 and is now removed
        """
        removed("eig")

    def lstsq(self, other: Tensor) -> None:
        """Raise RuntimeError: `torch.linalg.lstsq` took its place.

        >>> try:
        ...     torch.eye(2).lstsq(torch.eye(2))
        ... except RuntimeError as error:
        ...     print(str(error).partition(". ")[0])
        This function was deprecated since version 1.9 and is now removed
        """
        removed("lstsq")

    def solve(self, other: Tensor) -> None:
        """Raise RuntimeError: `torch.linalg.solve` took its place.

        >>> try:
        ...     torch.eye(2).solve(torch.eye(2))
        ... except RuntimeError as error:
        ...     print(str(error).partition(". ")[0])
        This function was deprecated since version 1.9 and is now removed
        """
        removed("solve")

    def symeig(self, eigenvectors: bool = False) -> None:
        """Raise RuntimeError: `torch.linalg.eigh` took its place.

        >>> try:
        ...     torch.eye(2).symeig()
        ... except RuntimeError as error:
        ...     print(str(error).partition(". ")[0])
        This function was deprecated since version 1.9 and is now removed
        """
        removed("symeig")

    # ---- copies ----

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if torch_function.has_torch_function((self,)):
            copied: Tensor = torch_function.hand_over(Tensor.__deepcopy__, (self,), self, memo)
            return copied
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
                "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
                "see https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        with_grad = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            if self.is_quantized:
                new = self.clone()
            elif _C._is_wrapper(self) or (type(self) is not Tensor and self.is_meta):
                new = self.clone()
                if type(new) is not type(self):
                    raise RuntimeError(
                        "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that "
                        f"properly implement clone(), or for which cloning returns another instance of the same subclass: that of "
                        f"{type(self).__name__} returned a {type(new).__name__}. Implement clone() so, or __deepcopy__()"
                    )
            elif type(self) is not Tensor and type(self.new_empty([])) is not type(self):
                raise RuntimeError(
                    "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that "
                    "properly implement new_empty() and for which that function returns another instance of the same subclass. "
                    f"That of {type(self).__name__} does not: implement new_empty() so, or __deepcopy__()"
                )
            elif self.layout == _C.strided:
                storage = self.untyped_storage().__deepcopy__(memo)
                new = _C._find_operator("aten::empty", "memory_format")((0,), dtype=self.dtype, device=self.device)
                new.set_(storage, self.storage_offset(), self.size(), self.stride())
                if self.is_conj() or self.is_neg():
                    new = _C._find_operator("aten::_lazy_view", "")(new, self.is_conj(), self.is_neg()).clone()
            else:
                new = self.detach().clone()
        finally:
            _C._set_grad_enabled(with_grad)
        if type(new) is type(self):
            new.requires_grad = self.requires_grad
        else:  # at once: the class may be asked for attributes, and has not been given its own yet
            new = _C.TensorBase._make_subclass(type(self), new, self.requires_grad)
        memo[id(self)] = new
        if self.grad is not None:
            new.grad = self.grad.__deepcopy__(memo)
        if self.__dict__:
            new.__dict__ = copy.deepcopy(self.__dict__, memo)
        for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]  # (how copy and pickle find them)
            if hasattr(self, slot):
                setattr(new, slot, copy.deepcopy(getattr(self, slot), memo))
        return new

    @overridable
    def __reduce_ex__(self, protocol: Any) -> Any:
        return above.reduced(self)

    @overridable
    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)

    # ---- Python protocols ----

    @overridable
    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return above.text(self, tensor_contents=tensor_contents)

    @overridable
    def __format__(self, spec: str) -> str:
        if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __iter__(self) -> Iterator[Any]:
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    @overridable
    def __reversed__(self) -> Tensor:
        return self if self.dim() == 0 else self.flip(0)

    @overridable
    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (_C.TensorBase, int, float, complex, bool)):
            return bool((element == self).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def _as_bool(self) -> bool:
        if _C._batched_parts(self) is not None:
            raise RuntimeError(
                "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support "
                "that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
            )
        if self.numel() == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        if self.numel() > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def _real_item(self, wanted: str) -> Any:
        """The only element, which must be a real number: of C++'s type `wanted`, the error says."""
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        value = self.item()
        if isinstance(value, complex):
            if value.imag != 0:
                raise RuntimeError(f"value cannot be converted to type {wanted} without overflow")
            return value.real
        return value

    def _warn_of_gradients(self) -> None:
        if self.requires_grad and _C.is_grad_enabled():
            warn_once(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first."
            )

    def _as_int(self) -> int:
        return int(self._real_item("int64_t"))

    @overridable
    def __float__(self) -> float:
        self._warn_of_gradients()
        return float(self._real_item("double"))

    @overridable
    def __complex__(self) -> complex:
        self._warn_of_gradients()
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return complex(self.item())

    def _as_index(self) -> int:
        value = self.item() if self.numel() == 1 else None
        if not isinstance(value, int):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(value)

    def __dir__(self) -> list[str]:
        names = set(dir(type(self))) | set(self.__dict__)
        return sorted(names if self.is_cuda else names - {"__cuda_array_interface__"})

    __hash__ = _C.TensorBase.__hash__

    # ---- the fields of the design document, for reading ----

    @property
    def _storage(self) -> Any:
        return self.untyped_storage()

    @property
    def _storage_offset(self) -> int:
        return self.storage_offset()

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.shape

    @property
    def _stride(self) -> tuple[int, ...]:
        return self.stride()

    @property
    def _requires_grad(self) -> bool:
        return self.requires_grad

    # ---- small facts ----

    @property
    def names(self) -> tuple[None, ...]:
        """None for each dimension: there are no named dimensions."""
        return (None,) * self.dim()

    def has_names(self) -> bool:
        """False: there are no named dimensions.

        >>> torch.ones(2, 3).has_names()
        False
        """
        return False

    @overridable
    def is_distributed(self) -> bool:
        """False: no tensor is marked as held by several processes, as early versions of PyTorch did.

        >>> torch.ones(2, 3).is_distributed()
        False
        """
        return False

    def is_same_size(self, other: Tensor) -> bool:
        """Whether both tensors have the same sizes."""
        return self.shape == other.shape

    @overridable
    def is_set_to(self, tensor: Tensor) -> bool:
        """Whether both tensors are the same part of one storage, with the same sizes and strides.

        >>> x = torch.ones(1)
        >>> x.is_set_to(x), x.is_set_to(x.clone())
        (True, False)
        """
        return (
            self.untyped_storage()._cdata == tensor.untyped_storage()._cdata
            and self.storage_offset() == tensor.storage_offset()
            and self.shape == tensor.shape
            and self.stride() == tensor.stride()
        )

    @overridable
    def dim_order(self, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
        """Dimensions from the slowest to the fastest in memory.

        With `ambiguity_check` RuntimeError is raised where several orders would do, unless exactly one of the memory formats
        of a list is the tensor's.

        >>> torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last).dim_order()
        (0, 2, 3, 1)
        """
        formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
        if not isinstance(formats, list) or not all(isinstance(each, _C.memory_format) for each in formats):
            raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
        strides = self.stride()
        several = 1 in self.shape or any(one == other for one, other in itertools.pairwise(strides))
        if ambiguity_check is not False and several:
            if sum(self.is_contiguous(memory_format=each) for each in formats) != 1:
                raise RuntimeError(
                    "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
                )
            if not self.is_contiguous():  # where sizes of one hide the order, the format tells it
                return (0, *range(2, self.dim()), 1)
            return tuple(range(self.dim()))
        return tuple(sorted(range(self.dim()), key=lambda i: -self.stride(i)))

    @overridable
    def storage(self) -> Any:
        """Return the storage by the old class, which counts elements; `untyped_storage()` counts bytes.

        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     storage = torch.tensor([1.0, 2.0]).storage()
        ...     print(storage.size(), storage[1])
        2 2.0
        """
        return above.typed_storage(self, True)

    def _typed_storage(self) -> Any:
        return above.typed_storage(self, False)

    def to_mindspore(self) -> Any:
        """Return a mindspore.Tensor over the memory of this one, or of a contiguous copy; see torch.interop.to_mindspore."""
        return above.to_mindspore(self)

    @overridable
    def storage_type(self) -> Any:
        """The old class of the storage, FloatStorage say; None for a dtype that has none.

        >>> torch.ones(2).storage_type().__name__
        'FloatStorage'
        """
        return self._typed_storage()._class()

    @overridable
    def is_shared(self) -> bool:
        """Whether the storage lies in memory that other processes can reach.

        >>> torch.ones(1).is_shared()
        False
        """
        return self.untyped_storage().is_shared()

    @overridable
    def share_memory_(self) -> Tensor:
        """Move the storage to memory that other processes can reach, and return the tensor.

        >>> torch.ones(1).share_memory_().is_shared()
        True
        """
        self.untyped_storage().share_memory_()
        return self

    @overridable
    def pin_memory(self, device: Any = None) -> Tensor:
        """A copy in page-locked memory, from which an accelerator copies by itself; RuntimeError without one."""
        memory = above.pinned_memory()
        if memory is None:
            raise RuntimeError("Cannot access accelerator device when none is available.")
        return memory.copy_of(self)

    def _pinned_when_made(self) -> Tensor:
        """The tensor that a factory with pin_memory=True gives for the one that it made: its copy in page-locked memory."""
        if self.is_meta or type(self) is not Tensor:  # what stands for a tensor, as a fake one does, has no memory
            return self
        if not self.is_cpu:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        memory = above.pinned_memory()
        if memory is None:
            raise RuntimeError(
                "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on "
                "this system."
            )
        return memory.copy_of(self).requires_grad_(self.requires_grad)

    @overridable
    def is_pinned(self, device: Any = None) -> bool:
        """Whether the storage is page-locked memory.

        >>> torch.ones(1).is_pinned()
        False
        """
        return self.layout == _C.strided and self.untyped_storage().is_pinned()

    def qscheme(self) -> Any:
        """How whole numbers stand for the elements of a quantized tensor: with one scale, or with one for each index.

        >>> torch.quantize_per_tensor(torch.tensor([0.5, 1.0]), 0.5, 0, torch.qint8).qscheme()
        torch.per_tensor_affine
        """
        if torch_function.has_torch_function((self,)):
            return torch_function.hand_over(Tensor.qscheme, (self,), self)
        quantizer = _C._quantizer(self)
        if quantizer is None:
            where = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(self.device.type, "PrivateUse1")
            raise NotImplementedError(
                f"Could not run 'aten::qscheme' with arguments from the '{where}' backend. It is for quantized tensors."
            )
        return quantizer.scheme

    def to_sparse_coo(self) -> Tensor:
        """The elements that are not zero as a coordinate tensor.

        >>> torch.eye(2).to_sparse_coo()
        tensor(indices=tensor([[0, 1],
                               [0, 1]]),
               values=tensor([1., 1.]),
               size=(2, 2), nnz=2, layout=torch.sparse_coo)
        """
        return self.to_sparse()

    @overridable
    def cuda(self, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Tensor:
        """The tensor on a GPU: the given one, or the current one. AssertionError where there is no driver."""
        if device is None or isinstance(device, int):
            device = _C.device("cuda" if device is None else f"cuda:{device}")
        return self.to(device, non_blocking=non_blocking, **kwargs)

    @overridable
    def __nonzero__(self) -> bool:
        return bool(self)

    @overridable
    def __long__(self) -> int:
        return int(self)

    @overridable
    def ipu(self, *args: Any, **kwargs: Any) -> Tensor:
        """Raise RuntimeError: there are no such devices.

        >>> torch.ones(1).ipu()
        Traceback (most recent call last):
        RuntimeError: PyTorch is not linked with support for ipu devices
        """
        raise RuntimeError("PyTorch is not linked with support for ipu devices")

    @overridable
    def _clear_non_serializable_cached_data(self) -> None:
        """Nothing, for subclasses that keep what cannot be saved, and call this one too."""

    @overridable
    def xpu(self, *args: Any, **kwargs: Any) -> Tensor:
        """Raise AssertionError: there are no XPU devices.

        >>> try:
        ...     torch.ones(1).xpu()
        ... except AssertionError as error:
        ...     print(error)
        Torch not compiled with XPU enabled
        """
        raise AssertionError("Torch not compiled with XPU enabled")

    def npu(self, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Tensor:
        """The tensor on an NPU: the given one, or the current one."""
        if device is None or isinstance(device, int):
            device = _C.device("npu" if device is None else f"npu:{device}")
        return self.to(device, non_blocking=non_blocking, **kwargs)

    def _is_all_true_flag(self) -> bool:
        return bool(self.all())

    def module_load(self, other: Tensor, assign: bool = False) -> Tensor:
        """How nn.Module.load_state_dict takes ``other`` over where `torch.__future__` asks it to swap tensors.

        >>> parameter = torch.zeros(2)
        >>> parameter.module_load(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
        """
        if torch_function.has_torch_function((self, other)):
            return torch_function.hand_over(Tensor.module_load, (self, other), self, other, assign=assign)
        if assign:
            return other.detach()
        return self.copy_(other).detach()

    __torch_dispatch__ = staticmethod(_disabled_torch_dispatch_impl)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        torch_function.settle_subclass(cls)

    @staticmethod
    def _make_wrapper_subclass(
        cls: type,
        size: Any,
        strides: Any = None,
        storage_offset: int | None = None,
        memory_format: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        dispatch_sizes_strides_policy: str | None = None,
        dispatch_device: bool = False,
        dispatch_layout: bool = False,
    ) -> Any:
        """A tensor of class ``cls`` with these properties and no data: its ``__torch_dispatch__`` answers every operator.

        Raises RuntimeError if ``cls`` does not define ``__torch_dispatch__``.
        """
        if layout is not None and layout is not _C.strided:
            raise NotImplementedError("_make_wrapper_subclass(): only the strided layout is supported")
        made = _C.TensorBase._wrapper_subclass(
            cls,
            tuple(size),
            strides,
            storage_offset or 0,
            _C.get_default_dtype() if dtype is None else dtype,
            _C._get_default_device() if device is None else device,
            requires_grad,
        )
        if dispatch_sizes_strides_policy is None:
            return made
        return _C.TensorBase._ask_class(made, dispatch_sizes_strides_policy)

    @property
    def __cuda_array_interface__(self) -> Any:
        if not self.is_cuda:
            raise AttributeError(
                f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use "
                "tensor.cuda() to copy tensor to device memory."
            )
        if self.requires_grad:
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
                "var.detach() to get Variable that doesn't require grad."
            )
        return cuda_array(self)


def _construct(cls: type, *args: Any, **kwargs: Any) -> Any:
    """``torch.Tensor(...)``: sizes, data or another tensor, in the default dtype."""
    device = kwargs.pop("device", None)
    if kwargs:
        raise TypeError(f"new() received an unexpected keyword argument {next(iter(kwargs))!r}")
    if device is not None and _C.device(device).type not in (home := _C._get_default_device().type, "meta"):
        raise RuntimeError(f"legacy constructor expects device type: {home} but device type: {device} was passed")
    made = _C._legacy_new(_C.get_default_dtype(), args)
    if device is not None:
        made = made.to(device)
    return made if cls is Tensor else _C.TensorBase._make_subclass(cls, made)


def _tensor_class() -> type:
    return Tensor


def _reduce_class(cls: type) -> Any:
    # The name `torch.Tensor` is this class only where this package is `torch`.
    return (_tensor_class, ()) if cls is Tensor else cls.__qualname__


def _check_is_tensor(cls: type) -> None:
    """Raise RuntimeError for a class that stands on the tensors' base, but not on ``Tensor``."""
    if not issubclass(cls, Tensor):
        raise RuntimeError("Cannot subclass _TensorBase directly")


_C.TensorBase.__init_subclass__ = classmethod(_check_is_tensor)
_C._TensorMeta, _C._TensorBase = _TensorMeta, _C.TensorBase
copyreg.pickle(_TensorMeta, _reduce_class)  # type: ignore[arg-type]  # (metaclasses are reduced too)
_C._set_tensor_type(Tensor)
_C._set_tensor_constructor(_construct)
torch_function.serve(Tensor)
