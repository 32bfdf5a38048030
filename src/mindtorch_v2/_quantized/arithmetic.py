"""Sums and products of quantized tensors, with each other and with numbers."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._behaviours.quantized.order import join
from mindtorch_v2._behaviours.quantized.table import floats, of_floats, with_whole
from mindtorch_v2._core.quantizer import PerTensor
from mindtorch_v2._operators.composite.quantize import PLAIN

from .table import operator, per_tensor


def _pair(qa: Any, qb: Any, name: str) -> tuple[PerTensor, PerTensor]:
    word = name.capitalize()
    for each in (qa, qb):
        if each.is_quantized and not isinstance(_C._quantizer(each), PerTensor):
            raise RuntimeError(f"Only per tensor quantization is suported in {word}.")
    if qa.is_quantized and qb.is_quantized and qa.dtype != qb.dtype:
        raise RuntimeError(f"{word} operands should have same data type.")
    return per_tensor(qa, name.lower()), per_tensor(qb, name.lower())


def _rectified(x: Any, relu: bool) -> Any:
    return torch.relu(x) if relu else x


def add(qa: Any, qb: Any, to: PerTensor, relu: bool) -> Any:
    """qa + qb, not below 0 with `relu`."""
    _pair(qa, qb, "Add")
    return of_floats(_rectified(floats(qa) + floats(qb), relu), to, qa.dtype)


def mul(qa: Any, qb: Any, to: PerTensor, relu: bool) -> Any:
    """qa * qb, not below 0 with `relu`: the product of the whole numbers is exact."""
    a, b = _pair(qa, qb, "Mul")
    plain, low, high = PLAIN[qa.dtype]
    kind = torch.int64 if plain == torch.int32 else torch.int32
    exact = (_C._whole(qa).to(kind) - a.zero_point) * (_C._whole(qb).to(kind) - b.zero_point)
    scale_a, scale_b, scale = torch.tensor([a.scale, b.scale, to.scale])
    factor = scale_a * scale_b * (1.0 / scale)
    whole = torch.round(exact.float() * factor).double() + to.zero_point
    return with_whole(qa, whole.clamp(to.zero_point if relu else low, high).to(plain), to)


for _name, _compute in (("add", add), ("mul", mul)):
    for _relu in (False, True):

        def _plain(qa: Any, qb: Any, scale: float, zero_point: int, _compute=_compute, _relu=_relu) -> Any:
            return _compute(qa, qb, PerTensor(scale, zero_point), _relu)

        def _out(qa: Any, qb: Any, out: Any, _compute=_compute, _relu=_relu, _name=_name) -> Any:
            made = _compute(qa, qb, per_tensor(out, _name), _relu)
            if out.shape != made.shape:
                out.resize_(made.shape)
            _C._whole(out).copy_(_C._whole(made))
            return out

        _full = f"{_name}_relu" if _relu else _name
        operator(f"{_full}(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc")(_plain)
        operator(
            f"{_full}.out(Tensor qa, Tensor qb, Tensor(a!) out) -> Tensor(a!) out",
            f"{_full}_out(Tensor qa, Tensor qb, Tensor(a!) out) -> Tensor(a!) out",
        )(_out)


# ---- with a number ----


def add_number(qa: Any, number: float, relu: bool) -> Any:
    """qa + number: only the zero point moves, unless it would leave the range."""
    quantizer, (plain, low, high) = per_tensor(qa, "add"), PLAIN[qa.dtype]
    shift = round(number / quantizer.scale)
    moved, whole = quantizer.zero_point - shift, _C._whole(qa)
    if low <= moved <= high:
        to = PerTensor(quantizer.scale, moved)
    else:
        reach, zero_point = (high - moved, low) if moved < low else (moved - low, high)
        to = PerTensor(float(reach) / (high - low) * quantizer.scale, zero_point)
        exact = (whole.double() - quantizer.zero_point + shift).float()
        factor = torch.tensor(quantizer.scale / to.scale, dtype=torch.float32)
        whole = (torch.round(exact * factor) + zero_point).clamp(low, high).to(plain)
    return with_whole(qa, whole.clamp_min(to.zero_point) if relu else whole.clone(), to)


def mul_number(qa: Any, number: float, relu: bool) -> Any:
    """qa * number: only the scale changes; below 0 the range turns round."""
    quantizer, (_, low, high) = per_tensor(qa, "mul"), PLAIN[qa.dtype]
    whole = _C._whole(qa)
    if number > 0:
        to = PerTensor(quantizer.scale * number, quantizer.zero_point)
    elif number == 0:
        to, whole = PerTensor(1.0, 0), torch.zeros_like(whole)
    else:
        to = PerTensor(-number * quantizer.scale, high - quantizer.zero_point + low)
        whole = (high + low - whole.int()).to(whole.dtype)
    return with_whole(qa, whole.clamp_min(to.zero_point) if relu else whole.clone(), to)


def _onto(out: Any, made: Any) -> Any:
    if out.shape != made.shape:
        out.resize_(made.shape)
    _C._whole(out).copy_(_C._whole(made))
    return _C._set_quantizer(out, _C._quantizer(made))


for _name, _with in (("add", add_number), ("mul", mul_number)):
    for _relu in (False, True):
        _last = "_relu" if _relu else ""

        def _number(qa: Any, b: Any, _with=_with, _relu=_relu) -> Any:
            return _with(qa, float(b), _relu)

        def _turned(b: Any, qa: Any, _with=_with, _relu=_relu) -> Any:
            return _with(qa, float(b), _relu)

        def _number_out(qa: Any, b: Any, out: Any, _with=_with, _relu=_relu) -> Any:
            return _onto(out, _with(qa, float(b), _relu))

        operator(
            f"{_name}{_last}.Scalar(Tensor qa, Scalar b) -> Tensor qc",
            f"{_name}_scalar{_last}(Tensor qa, Scalar b) -> Tensor qc",
            f"{_name}_scalar{_last}.Tensor(Tensor qa, Tensor b) -> Tensor qc",
        )(_number)
        operator(f"{_name}{_last}.Scalar2(Scalar b, Tensor qa) -> Tensor qc")(_turned)
        operator(
            f"{_name}{_last}.Scalar_out(Tensor qa, Scalar b, Tensor(a!) out) -> Tensor(a!) out",
            f"{_name}_scalar{_last}_out(Tensor qa, Scalar b, Tensor(a!) out) -> Tensor(a!) out",
            f"{_name}_scalar{_last}_out.Tensor(Tensor qa, Tensor b, Tensor(a!) out) -> Tensor(a!) out",
        )(_number_out)


# ---- others ----


@operator("matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc")
def _matmul(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    if qa.dim() != qb.dim():
        raise RuntimeError(f"MatMul operands should have the same dimensionality. ({qa.dim()} and {qb.dim()} provided)")
    if qa.dim() < 2:
        raise RuntimeError("Quantized Matmul currently only suports operands which are at least 2-dimensional. ")
    _pair(qa, qb, "MatMul")
    return torch.quantize_per_tensor(torch.matmul(qa.dequantize(), qb.dequantize()), scale, zero_point, qa.dtype)


def _cat(qx: list, dim: int, scale: float | None, zero_point: int | None, relu: bool) -> Any:
    first = per_tensor(qx[0], "cat")
    to = PerTensor(first.scale if scale is None else scale, first.zero_point if zero_point is None else zero_point)
    if relu:
        floats_of = torch.relu(torch.cat([each.dequantize() for each in qx], dim))
        return torch.quantize_per_tensor(floats_of, to.scale, to.zero_point, qx[0].dtype)
    return join(qx, dim, to)


for _relu in (False, True):
    _full = "cat_relu" if _relu else "cat"

    def _cat_plain(qx: list, dim: int, scale: Any, zero_point: Any, _relu=_relu) -> Any:
        return _cat(qx, dim, scale, zero_point, _relu)

    def _cat_out(qx: list, dim: int, out: Any, _relu=_relu) -> Any:
        to = per_tensor(out, "cat_out")
        return _onto(out, _cat(qx, dim, to.scale, to.zero_point, _relu))

    operator(f"{_full}(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor")(_cat_plain)
    operator(f"{_full}_out(Tensor[] qx, int dim, Tensor(a!) out) -> Tensor(a!)")(_cat_out)
