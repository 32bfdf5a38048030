"""Compositions of operators for a device of a program's own, where the program has no kernel for them.

PyTorch composes these of others on every device; here the CPU and the built-in devices have kernels of their own for them.
A kernel of the program's stays: these are registered where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.dtype import DTYPES
from mindtorch_v2._operators.native import comparison
from mindtorch_v2._operators.table import ROWS
from mindtorch_v2._ops import ops

__all__ = ["composed_of", "drawn_by", "install"]

aten: Any = ops.aten
_KEY = "PrivateUse1"
_COMPOSED: dict[str, Callable[..., Any]] = {}


_DRAWN: dict[str, list[str]] = {}  # an operator that draws into a tensor -> what is composed of it


def _composed(*names: str, of: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        _COMPOSED.update(dict.fromkeys(names, function))
        if of:
            _DRAWN.setdefault(of, []).extend(names)
        return function

    return keep


# ---- new tensors ----


def _like(self: Any, **options: Any) -> Any:
    kept = {key: value for key, value in options.items() if value is not None and key != "memory_format"}
    made = {"dtype": self.dtype, "device": self.device, **kept}
    shape = aten.empty_strided(self.shape, self.stride(), dtype=self.dtype, device="meta")
    shape = aten.empty_like(shape, memory_format=options.get("memory_format"))
    return aten.empty_strided(shape.shape, shape.stride(), **made)


def _new(self: Any, size: Any, **options: Any) -> Any:
    kept = {key: value for key, value in options.items() if value is not None}
    return aten.empty(size, **{"dtype": self.dtype, "device": self.device, **kept})


def _number_dtype(value: Any) -> Any:
    if isinstance(value, bool):
        return DTYPES["bool"]
    if isinstance(value, int):
        return DTYPES["int64"]
    default = _C.get_default_dtype()
    if isinstance(value, complex):
        return DTYPES["complex128" if default == DTYPES["float64"] else "complex64"]
    return default


_composed("empty_like")(_like)
_composed("new_empty")(_new)
_composed("zeros")(lambda size, **o: aten.zero_(aten.empty(size, **o)))
_composed("zeros_like")(lambda self, **o: aten.zero_(_like(self, **o)))
_composed("new_zeros")(lambda self, size, **o: aten.zero_(_new(self, size, **o)))
_composed("ones")(lambda size, **o: aten.fill_(aten.empty(size, **o), 1))
_composed("ones_like")(lambda self, **o: aten.fill_(_like(self, **o), 1))
_composed("new_ones")(lambda self, size, **o: aten.fill_(_new(self, size, **o), 1))
_composed("full_like")(lambda self, fill_value, **o: aten.fill_(_like(self, **o), fill_value))
_composed("new_full")(lambda self, size, fill_value, **o: aten.fill_(_new(self, size, **o), fill_value))


@_composed("full")
def _full(size: Any, fill_value: Any, **options: Any) -> Any:
    if options.get("dtype") is None:
        options["dtype"] = _number_dtype(fill_value)
    return aten.fill_(aten.empty(size, **options), fill_value)


@_composed("scalar_tensor")
def _scalar_tensor(s: Any, **options: Any) -> Any:
    return aten.fill_(aten.empty((), **options), s)


@_composed("empty_permuted")
def _empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Any:
    inner = aten.empty([size[i] for i in physical_layout], **options)
    return inner.permute([list(physical_layout).index(i) for i in range(len(size))])


def _from_host(name: str) -> None:
    @_composed(name)
    def made(*args: Any, **options: Any) -> Any:
        base, _, overload = name.partition(".")
        device = options.pop("device", None)
        operator = getattr(getattr(aten, base), overload or "default")
        return operator(*args, **{**options, "device": "cpu", "pin_memory": None}).to(device)


_from_host("arange")
_from_host("arange.start")
_from_host("arange.start_step")
_from_host("eye")
_from_host("eye.m")
_from_host("linspace")
_from_host("logspace")
_from_host("randperm")


# ---- random ones ----


@_composed("rand", "rand.generator", of="uniform_")
def _rand(size: Any, generator: Any = None, **options: Any) -> Any:
    return aten.uniform_(aten.empty(size, **options), generator=generator)


@_composed("randn", "randn.generator", of="normal_")
def _randn(size: Any, generator: Any = None, **options: Any) -> Any:
    return aten.normal_(aten.empty(size, **options), generator=generator)


_composed("rand_like", "rand_like.generator", of="uniform_")(
    lambda self, generator=None, **o: aten.uniform_(_like(self, **o), generator=generator)
)
_composed("randn_like", "randn_like.generator", of="normal_")(
    lambda self, generator=None, **o: aten.normal_(_like(self, **o), generator=generator)
)


def _whole(size: Any, options: dict[str, Any]) -> Any:
    if options.get("dtype") is None:
        options["dtype"] = DTYPES["int64"]
    return aten.empty(size, **options)


@_composed("randint", "randint.generator", of="random_.from")
def _randint(high: Any, size: Any, generator: Any = None, **options: Any) -> Any:
    return aten.random_(_whole(size, options), 0, high, generator=generator)


@_composed("randint.low", "randint.low_generator", of="random_.from")
def _randint_low(low: Any, high: Any, size: Any, generator: Any = None, **options: Any) -> Any:
    return aten.random_(_whole(size, options), low, high, generator=generator)


_composed("randint_like")(lambda self, high, **o: aten.random_(_like(self, **o), 0, high))
_composed("randint_like.low_dtype")(lambda self, low, high, **o: aten.random_(_like(self, **o), low, high))
_composed("normal.float_float", of="normal_")(
    lambda mean, std, size, generator=None, **o: aten.normal_(aten.empty(size, **o), mean, std, generator=generator)
)


@_composed("randint_like.generator", of="random_.from")
def _randint_like(self: Any, high: Any, *, generator: Any = None, **options: Any) -> Any:
    return aten.random_(_like(self, **options), 0, high, generator=generator)


@_composed("randperm.generator", of="randperm.generator_out")
def _randperm(n: int, *, generator: Any = None, **options: Any) -> Any:
    return aten.randperm.generator_out(n, generator=generator, out=_whole((n,), options))


@_composed("bernoulli", of="bernoulli_.Tensor")
def _bernoulli(self: Any, *, generator: Any = None) -> Any:
    return aten.bernoulli_(_like(self), self, generator=generator)


# ---- of others ----


@_composed("stack")
def _stack(tensors: Any, dim: int = 0) -> Any:
    return aten.cat([each.unsqueeze(dim) for each in tensors], dim)


@_composed("repeat")
def _repeat(self: Any, repeats: Any) -> Any:
    sizes = [1] * (len(repeats) - self.dim()) + list(self.shape)
    spread = self.reshape([part for n in sizes for part in (1, n)])
    spread = spread.expand([part for r, n in zip(repeats, sizes, strict=True) for part in (r, n)])
    return spread.reshape([r * n for r, n in zip(repeats, sizes, strict=True)])


@_composed("linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    if bias is not None and input.dim() == 2 and weight.dim() == 2:
        return aten.addmm(bias, input, weight.t())
    product = aten.matmul(input, weight.t() if weight.dim() == 2 else weight)
    return product if bias is None else aten.add(product, bias)


@_composed("matmul")
def _matmul(self: Any, other: Any) -> Any:
    a = self.unsqueeze(0) if self.dim() == 1 else self
    b = other.unsqueeze(1) if other.dim() == 1 else other
    if a.dim() == b.dim() == 2:
        product = aten.mm(a, b)
    elif b.dim() == 2:
        product = aten.mm(a.reshape(-1, a.shape[-1]), b).view(*a.shape[:-1], b.shape[-1])
    else:
        batch = aten.broadcast_tensors([aten.empty(t.shape[:-2], device="meta") for t in (a, b)])[0].shape
        count = math.prod(batch)
        flat = [t.expand(*batch, *t.shape[-2:]).reshape(count, *t.shape[-2:]) for t in (a, b)]
        product = aten.bmm(*flat).view(*batch, a.shape[-2], b.shape[-1])
    product = product.squeeze(-2) if self.dim() == 1 else product
    return product.squeeze(-1) if other.dim() == 1 else product


@_composed("sum")
def _sum(self: Any, *, dtype: Any = None) -> Any:
    return aten.sum.dim_IntList(self, [], False, dtype=dtype)


@_composed("mean")
def _mean(self: Any, *, dtype: Any = None) -> Any:
    return aten.mean.dim(self, [], False, dtype=dtype)


_composed("square")(lambda self: aten.pow(self, 2))
_composed("isfinite")(lambda self: aten.mul(aten.eq(self, self), aten.ne(aten.abs(self), math.inf)))
_composed("isinf")(lambda self: aten.eq(aten.abs(self), math.inf))


@_composed("embedding")
def _embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    if indices.dim() == 1:
        return aten.index_select(weight, 0, indices)
    return aten.index_select(weight, 0, indices.reshape(-1)).view(*indices.shape, *weight.shape[1:])


def _on_a_copy(name: str) -> None:
    @_composed(name)
    def written(self: Any, *args: Any, **kwargs: Any) -> Any:
        base, _, overload = name.partition(".")
        return getattr(getattr(aten, f"{base}_"), overload or "default")(aten.clone(self), *args, **kwargs)


_on_a_copy("index_put")
_on_a_copy("masked_fill.Scalar")
_on_a_copy("masked_fill.Tensor")
_on_a_copy("masked_scatter")
_on_a_copy("put")
_on_a_copy("index_fill.int_Scalar")
_on_a_copy("index_fill.int_Tensor")


# ---- by other forms of the same operator ----


def _own(handle: Any) -> bool:
    return handle is not None and "NPU" in handle.kernels()


def _with_tensor(number_form: Any, tensor_form: Any) -> Callable[..., Any]:
    """A form with a number, by the one with a tensor, which takes numbers for it; by the device's fallback if that has no kernel."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if not _own(tensor_form):
            return number_form.call_fallback(_KEY, *args, **kwargs)
        return tensor_form(*args, **kwargs)

    return run


def _through_out(row: Any) -> Callable[..., Any]:
    """A functional form by the one that writes: its results are made as the shape rule says."""
    names = [argument["name"] for argument in row.out.arguments if argument["is_write"]]

    def run(*args: Any, **kwargs: Any) -> Any:
        device = next(a.device for a in args if isinstance(a, _C.TensorBase))
        on_meta = [aten._to_copy(a, device="meta") if isinstance(a, _C.TensorBase) else a for a in args]
        shapes = row.handle(*on_meta, **kwargs)
        several = isinstance(shapes, tuple | list)
        places = [
            aten.empty_strided(s.shape, s.stride(), dtype=s.dtype, device=device)
            for s in (shapes if several else [shapes])
        ]
        row.out(*args, **kwargs, **dict(zip(names, places, strict=True)))
        return tuple(places) if several else places[0]

    return run


def _in_place(row: Any) -> Callable[..., Any]:
    """The form that writes its first argument, by the one that writes `out`."""
    name = next(argument["name"] for argument in row.out.arguments if argument["is_write"])
    return lambda self, *args, **kwargs: row.out(self, *args, **kwargs, **{name: self})


def _absent(handle: Any) -> bool:
    """Whether a call on the device would find no kernel."""
    kernels = set(handle.kernels())
    return "NPU" not in kernels and not any(each.startswith("Composite") for each in kernels)


def composed_of(name: str) -> Callable[..., Any]:
    """The composition of an operator, by its name."""
    return _COMPOSED[name]


def drawn_by(name: str) -> list[str]:
    """The functions that are composed of an operator which draws into a tensor."""
    return _DRAWN.get(name, [])


def install() -> None:
    """Register what is composed and has no kernel yet; and for kernels of `out=` forms the forms beside them."""
    for name, row in ROWS.items():
        composed = _COMPOSED.get(name) or comparison.COMPOSED.get(name)
        if _own(row.out) and _absent(row.handle):
            row.handle.impl(_KEY, _through_out(row))
            if row.inplace is not None and _absent(row.inplace):
                row.inplace.impl(_KEY, _in_place(row))
        elif composed is not None and _absent(row.handle):
            row.handle.impl(_KEY, composed)
        base, _, overload = name.partition(".")
        tensor_form = ROWS.get(f"{base}.Tensor") if overload == "Scalar" else None
        if tensor_form is None:
            continue
        if _absent(row.handle):
            row.handle.impl(_KEY, _with_tensor(row.handle, tensor_form.handle))
        if row.inplace is not None and tensor_form.inplace is not None and _absent(row.inplace):
            row.inplace.impl(_KEY, _with_tensor(row.inplace, tensor_form.inplace))
