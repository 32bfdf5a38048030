"""`out=` forms of operators that make new tensors: the result goes where the caller says, in that tensor's dtype."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ... import _C
from ..table import aten, composite, fill, fill_exactly
from ..table.facts import EXACT_OUT
from ..table.writing import check_dtype

if TYPE_CHECKING:
    from ..._tensor import Tensor


_GENERATOR = "Generator? generator"
_RANGES = ("arange", "range", "linspace", "logspace")


def _factory(name, overload, arguments, optional="") -> None:
    """The form of factory `name` that fills `out`; what a function of Python takes beside it, `out_options.py` looks at."""
    takes = [part.split("=")[0].split()[-1] for part in arguments.split(", ")]
    random = [part.split("=")[0].split()[-1] for part in optional.split(", ") if part]
    extra = f"{optional}, " if optional else ""

    @composite(
        f"{name}.{overload}({arguments}, *, {extra}Tensor(a!) out) -> Tensor(a!)",
        f"`{name}` into `out`.",
        bind="function",
        tags="nondeterministic_seeded" if name.startswith("rand") else "",
    )
    def into(*args: Any, out: Tensor, **options: Any) -> Any:
        if options.get("memory_format") is not None:
            raise RuntimeError("'memory_format' argument is incompatible with 'out' tensor argument")
        options = {key: value for key, value in options.items() if key in random}
        if name in ("rand", "randn"):  # drawn in place: into a strided `out` other numbers go than into a dense one
            aten.resize_(out, args[0])
            return getattr(aten, "uniform_" if name == "rand" else "normal_")(out, **options)
        made = getattr(aten, name)(*args[: len(takes)], dtype=out.dtype, device=out.device, **options)
        if name == "arange" and out.numel() not in (0, made.numel()):
            warnings.warn(
                f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which does not match "
                f"the computed number of elements {made.numel()}. Note that this may occur as a result of rounding error. "
                f"The out tensor will be resized to a tensor of shape ({made.numel()},).",
                UserWarning,
                stacklevel=2,
            )
        # A range goes into as many elements of any shape.
        return fill(out, made.view(out.shape) if name in _RANGES and made.numel() == out.numel() else made, warn=False)


for _name in ("zeros", "ones"):
    _factory(_name, "out", "SymInt[] size")
_factory("empty", "out", "SymInt[] size", "MemoryFormat? memory_format=None")
_factory("eye", "out", "SymInt n")
_factory("eye", "m_out", "SymInt n, SymInt m")
_factory("full", "out", "SymInt[] size, Scalar fill_value")
_factory("arange", "out", "Scalar end")
_factory("arange", "start_out", "Scalar start, Scalar end, Scalar step=1")
_factory("range", "out", "Scalar start, Scalar end, Scalar step=1")
_factory("linspace", "out", "Scalar start, Scalar end, int steps")
_factory("logspace", "out", "Scalar start, Scalar end, int steps, float base=10.")
for _name in ("rand", "randn"):
    _factory(_name, "out", "SymInt[] size")
    _factory(_name, "generator_out", "SymInt[] size", _GENERATOR)
_factory("randint", "out", "SymInt high, SymInt[] size")
_factory("randint", "generator_out", "SymInt high, SymInt[] size", _GENERATOR)
_factory("randint", "low_out", "SymInt low, SymInt high, SymInt[] size")
_factory("randint", "low_generator_out", "SymInt low, SymInt high, SymInt[] size", _GENERATOR)
_factory("randperm", "out", "SymInt n")
_factory("randperm", "generator_out", "SymInt n", _GENERATOR)


def _normal(overload, arguments) -> None:
    @composite(
        f"normal.{overload}_out({arguments}, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
        "`normal` into `out`.",
        bind="function",
        tags="nondeterministic_seeded",
    )
    def into(mean: Any, std: Any = 1.0, *, out: Tensor, generator: _C.Generator | None = None) -> Tensor:
        if overload == "Tensor_float":
            return aten.add_(aten.normal_(out, 0, std, generator=generator), mean)
        shape = aten.broadcast_tensors([x for x in (mean, std) if isinstance(x, _C.TensorBase)])[0].shape
        if out.shape != shape:
            fill(out, aten.empty(shape, dtype=out.dtype, device=out.device))  # warns
        return aten.add_(aten.mul_(aten.normal_(out, 0, 1, generator=generator), std), mean)


_normal("Tensor_Tensor", "Tensor mean, Tensor std")
_normal("Tensor_float", "Tensor mean, float std=1.")
_normal("float_Tensor", "float mean, Tensor std")


@composite(
    "normal.float_float_out(float mean, float std, SymInt[] size, *, Generator? generator=None, Tensor(a!) out)"
    " -> Tensor(a!)",
    "`normal` into `out`.",
    bind="function",
    tags="nondeterministic_seeded",
)
def normal_out(mean: Any, std: Any, size: Any, *, out: Tensor, generator: _C.Generator | None = None) -> Tensor:
    aten.resize_(out, size)
    return aten.normal_(out, mean, std, generator=generator)


@composite(
    "bernoulli.out(Tensor self, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    "`bernoulli` into `out`, which is of any dtype and takes the size without a warning.",
    bind="function",
    explicit=True,
    tags="nondeterministic_seeded",
)
def bernoulli_out(self: Tensor, *, out: Tensor, generator: _C.Generator | None = None) -> Tensor:
    return aten.bernoulli_(aten.resize_(out, self.shape), self, generator=generator)


def _drawn(schema, name) -> None:
    """An `out=` form that PyTorch generates from an operator in place: its functional form is called otherwise."""

    @composite(
        f"{schema}, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
        f"What `{name}` gives, into `out`.",
        explicit=True,
        tags="nondeterministic_seeded generated",
    )
    def into(self: Tensor, *args: Any, out: Tensor, generator: _C.Generator | None = None) -> Tensor:
        return fill_exactly(out, getattr(aten, name)(aten.empty_like(self), *args, generator=generator))


_drawn("bernoulli.float_out(Tensor self, float p=0.5", "bernoulli_")
_drawn("normal.out(Tensor self, float mean=0., float std=1.", "normal_")


@composite(
    "diff.out(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, *, Tensor(a!) out)"
    " -> Tensor(a!)",
    "`diff` into `out`, which is of the dtype of `self` where nothing is subtracted.",
    bind="function",
)
def diff_out(
    self: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor,
) -> Tensor:
    result = aten.diff(self, n, dim, prepend, append)
    if n == 0:
        check_dtype(out, result, "expected scalar_type {result} but found {out}")
    return fill(out, result)


@composite(
    "linalg_matrix_power.out(Tensor self, int n, *, Tensor(a!) out) -> Tensor(a!)",
    "`linalg.matrix_power` into `out`, of the same dtype but where the power is none, one, or squared more than once.",
    bind="linalg",
)
def linalg_matrix_power_out(self: Tensor, n: int, *, out: Tensor) -> Tensor:
    result = aten.linalg_matrix_power(self, n)
    if n < 0 or n == 2 or n & (n - 1):
        check_dtype(out, result, EXACT_OUT)
    return fill(out, result)


for _name in ("max", "min"):

    def _extremum(name) -> None:
        @composite(
            f"{name}.unary_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
            f"`{name}` into `out`.",
            bind="function",
            tags="reduction",
        )
        def whole(self: Tensor, *, out: Tensor) -> Tensor:
            if not _C.can_cast(self.dtype, out.dtype):
                raise RuntimeError(
                    "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be "
                    "true, but got false.  (Could this error message be improved?  If so, please report an enhancement "
                    "request to PyTorch.)"
                )
            return fill(out, getattr(aten, name)(self))

        @composite(
            f"{name}.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
            f"`{name}` of two tensors into `out`.",
            bind="function",
            tags="pointwise",
        )
        def pairs(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
            return getattr(aten, f"{name}imum")(self, other, out=out)

    _extremum(_name)


def _batch_norm(name, overload, statistics) -> None:
    x, y, z = (f"Tensor({each}!)" for each in ("def" if "(a!)" in statistics else "abc"))

    @composite(
        f"{name}.{overload}(Tensor input, Tensor? weight, Tensor? bias, {statistics}bool training, float momentum, "
        f"float eps, *, {x} out, {y} save_mean, {z} save_invstd) -> ({x}, {y}, {z})",
        f"`{name}` into `out`, and its means and reciprocal standard deviations.",
        bind="function",
    )
    def into(*args: Any, out: Tensor, save_mean: Tensor, save_invstd: Tensor) -> tuple[Tensor, ...]:
        places = (out, save_mean, save_invstd)
        for place, result in zip(places, getattr(aten, name)(*args), strict=True):
            check_dtype(place, result, "expected scalar type {result} but found {out}")
            fill(place, result)
        return places


_batch_norm("native_batch_norm", "out", "Tensor? running_mean, Tensor? running_var, ")
_batch_norm("_native_batch_norm_legit", "out", "Tensor(a!) running_mean, Tensor(b!) running_var, ")
_batch_norm("_native_batch_norm_legit", "no_stats_out", "")


@composite(
    "log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> (Tensor(a!), Tensor(b!))",
    "`log_sigmoid_forward` into `output` and `buffer`.",
)
def _log_sigmoid_forward_output(self: Tensor, *, output: Tensor, buffer: Tensor) -> tuple[Tensor, Tensor]:
    result, kept = aten.log_sigmoid_forward(self)
    return fill(output, result), fill(buffer, kept)
