"""Ways to run an entry of the operator database, each written once and run on both libraries.

A way takes the library, the entry of its database and a sample, and returns results, or raises. What it gives on the real
PyTorch is expected; where that raises, the sample does not count.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy

from tests.operator_database.portable import flat, is_tensor

EXACT = ("float64", "complex128")
# Their kernels in PyTorch take any `out=` for a dense one: what lies in a strided one afterwards is no result.
DENSE_OUT = ("narrow_copy", "nn.functional.avg_pool3d", "nn.functional.gelu")

# The signs of vectors are open in their results: these are compared as they go into derivatives.
SIGNS_OPEN = ("linalg.eig", "linalg.eigh", "linalg.svd", "pca_lowrank", "svd", "svd_lowrank")


class Sample(NamedTuple):
    """The arguments of a call, as a library has them, and what its results go through before they are differentiated."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    process: Callable[[Any], Any]


class Column(NamedTuple):
    """A way to run an entry."""

    run: Callable[[ModuleType, Any, Sample], Any]
    applies: Callable[[Any], bool] = lambda info: True
    dtypes: tuple[str, ...] | None = None  # None: all that the entry says
    grad: bool = False  # whether samples need gradients
    most: int | None = None  # samples of one dtype
    bare: bool = False  # results are compared by dtype, shape and strides
    strides: bool = False  # strides are compared too


def _plain(value: Any) -> Any:
    return value.detach() if is_tensor(value) else value


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with every tensor in its lists, tuples and dictionaries changed."""
    if is_tensor(value):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(_mapped(each, change) for each in value)
    if type(value) is dict:
        return {name: _mapped(each, change) for name, each in value.items()}
    return value


def changed(sample: Sample, change: Callable[[Any], Any]) -> Sample:
    return Sample(_mapped(sample.args, change), _mapped(sample.kwargs, change), sample.process)


def _weights(torch: ModuleType, like: Any, shift: int = 0) -> Any:
    """Numbers between 0.5 and 1.5 with either sign, of the dtype and shape of a tensor."""
    places = numpy.arange(shift, shift + like.numel(), dtype=numpy.float64)
    found = (0.5 + (places * 0.6180339887498949) % 1.0) * numpy.where(places * 0.4142135623730951 % 1.0 < 0.5, 1, -1)
    tensor = torch.from_numpy(found).reshape(like.shape)
    return (torch.complex(tensor, -tensor / 2) if like.is_complex() else tensor).to(like.device, like.dtype)


def _differentiable(value: Any) -> list[Any]:
    return [each for each in flat(value) if is_tensor(each) and each.requires_grad]


def _leaves(sample: Sample) -> list[Any]:
    return _differentiable([list(sample.args), sample.kwargs])


def _differentiated(info: Any, sample: Sample) -> Any:
    """The call as derivatives are taken of it: a Hermitian or triangular argument is made one inside."""
    return sample.process(info.gradcheck_wrapper(info.op, *sample.args, **sample.kwargs))


def _call(info: Any, sample: Sample) -> Any:
    results = info.op(*sample.args, **sample.kwargs)
    return sample.process(results) if info.name in SIGNS_OPEN else results


def forward(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """The results of the function."""
    return _call(info, sample)


def method(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """The results of the method."""
    return info.method_variant(*sample.args, **sample.kwargs)


def in_place(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """The result of the form that writes to its first argument, and whether that is what it returns."""
    sample = changed(sample, lambda tensor: tensor.detach().clone())
    result = info.inplace_variant(*sample.args, **sample.kwargs)
    return [result, sample.args[0], result is sample.args[0]]


def gradient(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """The gradients of the leaves."""
    results = _differentiable(_differentiated(info, sample))
    if not results:
        return []
    weights = [_weights(torch, each) for each in results]
    return list(torch.autograd.grad(results, _leaves(sample), weights, allow_unused=True))


def second_gradient(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """The gradients of the leaves of weighed sums of the gradients."""
    leaves = _leaves(sample)
    results = _differentiable(_differentiated(info, sample))
    if not results:
        return []
    weights = [_weights(torch, each).requires_grad_() for each in results]
    grads = torch.autograd.grad(results, leaves, weights, allow_unused=True, create_graph=True)
    kept = _differentiable(list(grads))
    if not kept:
        return []
    return list(
        torch.autograd.grad(kept, leaves + weights, [_weights(torch, each, 7) for each in kept], allow_unused=True)
    )


def forward_mode(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """The tangents of the results."""
    from torch.autograd import forward_ad

    places = iter(range(1000))
    with forward_ad.dual_level():

        def dual(tensor: Any) -> Any:
            if not tensor.requires_grad:
                return tensor
            return forward_ad.make_dual(tensor.detach(), _weights(torch, tensor, next(places)))

        moved = changed(sample, dual)
        results = flat(_differentiated(info, moved))
        tangents = [forward_ad.unpack_dual(each).tangent for each in results if is_tensor(each)]
        return [None if each is None else each.clone() for each in tangents]


def _outs(torch: ModuleType, results: Any, make: Callable[[Any], Any]) -> Any:
    if is_tensor(results):
        return make(results)
    return tuple(make(each) for each in results)


def out(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """Return the tensors given as `out=`: fresh, without elements, with other strides, of another shape; each with whether it is returned."""
    plain = changed(sample, _plain)
    results = info.op(*plain.args, **plain.kwargs)

    def spread(tensor: Any) -> Any:
        return torch.empty((*tensor.shape, 2), dtype=tensor.dtype)[..., 0]

    def fresh(tensor: Any) -> Any:
        return torch.zeros(tensor.shape, dtype=tensor.dtype)

    def none(tensor: Any) -> Any:
        return torch.empty(0, dtype=tensor.dtype)

    found = []
    for make in (fresh, none) if info.name in DENSE_OUT else (fresh, none, spread):
        places = _outs(torch, results, make)
        before = [each.data_ptr() for each in flat(places)]
        torch.manual_seed(0)
        back = info.op(*plain.args, **plain.kwargs, out=places)
        same = [each.data_ptr() for each in flat(places)] == before
        found.append(
            [
                sample.process(places) if info.name in SIGNS_OPEN else places,
                same or make is none,
                all(one is other for one, other in zip(flat(back), flat(places), strict=True)),
            ]
        )
    return found


def out_refused(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """Whether `out=` of another shape warns, and whether that of whole numbers or float32 is refused."""
    plain = changed(sample, _plain)
    results = info.op(*plain.args, **plain.kwargs)
    found: list[Any] = []
    places = _outs(torch, results, lambda tensor: torch.empty((*tensor.shape, 3), dtype=tensor.dtype))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        info.op(*plain.args, **plain.kwargs, out=places)
    found.append(any("was resized" in str(each.message) for each in caught))
    for dtype in (torch.int64, torch.float32, torch.float64):
        places = _outs(torch, results, functools.partial(torch.empty_like, dtype=dtype))
        try:
            info.op(*plain.args, **plain.kwargs, out=places)
            found.append("taken")
        except RuntimeError:
            found.append("RuntimeError")
    return found


def _to_meta(tensor: Any) -> Any:
    return tensor.detach().to("meta")


def meta(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """The results on the device without memory."""
    moved = changed(sample, _to_meta)
    return info.op(*moved.args, **moved.kwargs)


def fake(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """The results as fake tensors."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    plain = changed(sample, _plain)
    with FakeTensorMode() as mode:
        moved = changed(plain, mode.from_tensor)
        return info.op(*moved.args, **moved.kwargs)


def _as_function(
    info: Any, sample: Sample, call: Callable[..., Any] | None = None
) -> tuple[Callable[..., Any], list[Any]]:
    """The call as a function of its tensors, and these."""
    tensors: list[Any] = []
    changed(sample, tensors.append)

    def function(*given: Any) -> Any:
        place = iter(given)
        moved = changed(sample, lambda tensor: next(place))
        return call(*moved.args, **moved.kwargs) if call else _call(info, moved)

    return function, tensors


def vmap(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """The results over two slices of every tensor, and of the first alone, along a last dimension."""
    function, tensors = _as_function(info, changed(sample, _plain))
    if not tensors:
        return []
    found = [torch.func.vmap(function, randomness="different")(*(torch.stack([each, each]) for each in tensors))]
    first = torch.stack([tensors[0], tensors[0]], -1)
    dims = (-1, *[None] * (len(tensors) - 1))
    torch.manual_seed(0)
    found.append(torch.func.vmap(function, in_dims=dims, randomness="different")(first, *tensors[1:]))
    return found


def functionalized(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """The results of the function without writes, and of the in-place form."""
    plain = changed(sample, _plain)
    function, tensors = _as_function(info, plain)
    found = [torch.func.functionalize(function)(*tensors)]
    if info.inplace_variant is not None:
        written, tensors = _as_function(
            info, plain, lambda first, *args, **kwargs: info.inplace_variant(first.clone(), *args, **kwargs)
        )
        torch.manual_seed(0)
        try:
            expected = written(*tensors)
        except RuntimeError:
            return found
        torch.manual_seed(0)
        found += [expected, torch.func.functionalize(written)(*tensors)]
    return found


def noncontiguous(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """Results and gradients where no tensor lies in one piece."""

    def spread(tensor: Any) -> Any:
        if str(tensor.layout) != "torch.strided" or tensor.numel() < 2:
            return tensor
        found = torch.empty((*tensor.shape, 2), dtype=tensor.dtype).fill_(0)[..., 0]
        return found.copy_(tensor.detach()).requires_grad_(tensor.requires_grad)

    moved = changed(sample, spread)
    results = info.op(*moved.args, **moved.kwargs)
    kept = _differentiable(sample.process(results))
    grads = (
        torch.autograd.grad(kept, _leaves(moved), [_weights(torch, each) for each in kept], allow_unused=True)
        if kept
        else ()
    )
    return [sample.process(results) if info.name in SIGNS_OPEN else results, list(grads)]


def conj_view(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """Results where complex tensors are conjugated views."""

    def view(tensor: Any) -> Any:
        return torch.conj(tensor.detach().conj_physical()) if tensor.is_complex() else tensor.detach()

    moved = changed(sample, view)
    return _call(info, moved)


def neg_view(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """Results where tensors are negated views."""

    def view(tensor: Any) -> Any:
        inexact = tensor.is_floating_point() or tensor.is_complex()  # PyTorch reads indices without the sign
        return torch._neg_view(tensor.detach().neg()) if inexact else tensor.detach()

    moved = changed(sample, view)
    return _call(info, moved)


def channels_last(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """Results where pictures lie with the channels last, with their strides."""

    def laid(tensor: Any) -> Any:
        if tensor.dim() in (4, 5):
            form = torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d
            return tensor.detach().contiguous(memory_format=form)
        return tensor.detach()

    if not any(is_tensor(each) and each.dim() in (4, 5) for each in flat([list(sample.args), sample.kwargs])):
        raise NotImplementedError("no pictures")
    return _call(info, changed(sample, laid))


def compiled(torch: ModuleType, info: Any, sample: Sample) -> Any:
    """Results and gradients of the compiled function."""
    torch._dynamo.reset()
    function, tensors = _as_function(info, sample)
    results = torch.compile(function, backend="aot_eager")(*tensors)
    kept = _differentiable(results if info.name in SIGNS_OPEN else sample.process(results))
    leaves = _differentiable(tensors)
    grads = (
        torch.autograd.grad(kept, leaves, [_weights(torch, each) for each in kept], allow_unused=True) if kept else ()
    )
    return [results, list(grads)]


COLUMNS: dict[str, Column] = {
    "forward": Column(forward),
    "method": Column(method, lambda info: info.method_variant is not None, most=4),
    "in-place": Column(in_place, lambda info: info.inplace_variant is not None),
    "out=": Column(out, lambda info: info.supports_out, most=3),
    "out= refused": Column(out_refused, lambda info: info.supports_out, ("float32", "int64", "complex64"), most=1),
    "gradient": Column(
        gradient, lambda info: info.supports_autograd, ("float64", "complex128", "float32", "bfloat16"), grad=True
    ),
    "second gradient": Column(second_gradient, lambda info: info.supports_gradgrad, EXACT, grad=True),
    "forward mode": Column(forward_mode, lambda info: info.supports_forward_ad, EXACT, grad=True),
    "meta": Column(meta, dtypes=("float32", "int64", "complex64", "bool"), bare=True),
    "fake": Column(fake, dtypes=("float32", "int64", "complex64"), bare=True, most=8),
    "vmap": Column(vmap, dtypes=("float64", "int64"), most=8),
    "functionalized": Column(functionalized, dtypes=("float64", "int64"), most=6),
    "noncontiguous": Column(noncontiguous, dtypes=("float64", "complex128", "int64"), grad=True, most=12),
    "conj view": Column(conj_view, dtypes=("complex128",), most=8),
    "neg view": Column(neg_view, dtypes=("float64", "complex128"), most=8),
    "channels last": Column(channels_last, dtypes=("float32",), most=12, strides=True),
    "compiled": Column(compiled, dtypes=("float32",), grad=True, most=1),
}

_ON_GPUS = ("float32", "float16", "bfloat16", "int64", "bool")
ON_DEVICE: dict[str, dict[str, Column]] = {
    "cpu": COLUMNS,
    "cuda": {
        "forward": Column(forward, dtypes=_ON_GPUS),
        "gradient": Column(gradient, lambda info: info.supports_autograd, _ON_GPUS[:3], grad=True),
    },
}
"""The columns that run on a device of this package, beside the real PyTorch on the CPU."""
