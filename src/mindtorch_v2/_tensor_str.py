"""The text of tensors, as PyTorch prints them, and `torch.set_printoptions`."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import textwrap
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.batched import active_levels
from mindtorch_v2._core.autograd.tangents import tangent_of
from mindtorch_v2._core.torch_dispatch import no_modes
from mindtorch_v2._subclasses.fake_tensor import is_fake


@dataclasses.dataclass
class __PrinterOptions:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = __PrinterOptions()

_PROFILES = {
    "default": (4, 1000, 3),
    "short": (2, 1000, 2),
    "full": (4, inf, 3),
}


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print.

    `precision` digits; tensors of more than `threshold` elements are shortened to `edgeitems` at each end of each
    dimension; lines of `linewidth` characters. `profile` sets the first three: "default", "short", "full".
    `sci_mode` forces scientific notation on or off; None, also when it is left out, decides by the values.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.23456])
    tensor([1.23])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None and profile in _PROFILES:
        PRINT_OPTS.precision, PRINT_OPTS.threshold, PRINT_OPTS.edgeitems = _PROFILES[profile]
        PRINT_OPTS.linewidth = 80
    if precision is not None:
        PRINT_OPTS.precision = precision
    if threshold is not None:
        PRINT_OPTS.threshold = threshold
    if edgeitems is not None:
        PRINT_OPTS.edgeitems = edgeitems
    if linewidth is not None:
        PRINT_OPTS.linewidth = linewidth
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The current settings, as a dict that `set_printoptions` takes."""
    return dataclasses.asdict(PRINT_OPTS)


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Context manager: sets print options and puts the old ones back."""
    previous = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**previous)


class _Formatter:
    """How to write the values of one tensor, given as Python numbers: notation and width, alike for all."""

    def __init__(self, values: Sequence[float], floating: bool) -> None:
        self.floating_dtype = floating
        self.int_mode = True
        self.sci_mode = False
        self.max_width = 1
        if floating:
            self._fit_floats([v for v in values if v != 0 and math.isfinite(v)])
        else:
            self.max_width = max((len(f"{v}") for v in values), default=1)

    def _fit_floats(self, values) -> None:
        if not values:
            return
        largest, smallest = max(map(abs, values)), min(map(abs, values))
        wide = largest / smallest > 1000.0 or largest > 1.0e8
        self.int_mode = all(v == math.ceil(v) for v in values)
        self.sci_mode = wide or (not self.int_mode and smallest < 1.0e-4)
        if PRINT_OPTS.sci_mode is not None:
            self.sci_mode = PRINT_OPTS.sci_mode
        if self.sci_mode:
            layout = f".{PRINT_OPTS.precision}e"
        else:
            layout = ".0f" if self.int_mode else f".{PRINT_OPTS.precision}f"
        # Whole numbers are written with a point behind.
        point = self.int_mode and not self.sci_mode
        self.max_width = max(len(format(v, layout)) for v in values) + point

    def width(self) -> int:
        """Characters of the longest value."""
        return self.max_width

    def format(self, value: float) -> str:
        """One value, padded on the left."""
        if not self.floating_dtype:
            text = f"{value}"
        elif self.sci_mode:
            text = f"{value:{self.max_width}.{PRINT_OPTS.precision}e}"
        elif self.int_mode:
            text = f"{value:.0f}" + ("." if math.isfinite(value) else "")
        else:
            text = f"{value:.{PRINT_OPTS.precision}f}"
        return text.rjust(self.max_width)


class _ComplexFormatter:
    """Write complex values by a formatter each for the real and the imaginary parts."""

    def __init__(self, values: Sequence[complex]) -> None:
        self.real = _Formatter([v.real for v in values], True)
        self.imag = _Formatter([v.imag for v in values], True)

    def width(self) -> int:
        return self.real.width() + self.imag.width() + 1

    def format(self, value: complex) -> str:
        imag = (self.imag.format(value.imag) + "j").lstrip()
        return self.real.format(value.real) + ("" if imag[0] in "+-" else "+") + imag


def _vector_str(values, indent, cut, formatter) -> str:
    """One dimension; `cut` tells that the values are the two ends of a longer one."""
    per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (formatter.width() + 2)))
    words = [formatter.format(value) for value in values]
    if cut:
        edge = PRINT_OPTS.edgeitems
        words = [*words[:edge], " ...", *words[edge:]] if edge else ["..."]
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)] or [""]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested_str(values, cuts, indent, formatter):
    """Nested lists with one entry of `cuts` for each dimension."""
    if not cuts:
        return formatter.format(values)
    if len(cuts) == 1:
        return _vector_str(values, indent, cuts[0], formatter)
    parts = [_nested_str(value, cuts[1:], indent + 1, formatter) for value in values]
    if cuts[0]:
        parts.insert(PRINT_OPTS.edgeitems, "...")
    return "[" + ("," + "\n" * (len(cuts) - 1) + " " * (indent + 1)).join(parts) + "]"


def _shortened(tensor) -> tuple:
    """The ends of every long dimension, and which dimensions were long."""
    edge = PRINT_OPTS.edgeitems
    cuts = []
    for dim, size in enumerate(tensor.shape):
        cuts.append(size > 2 * edge)
        if cuts[-1]:
            tensor = torch.cat([tensor.narrow(dim, 0, edge), tensor.narrow(dim, size - edge, edge)], dim)
    return tensor, cuts


def _flat(values, depth):
    for _ in range(depth - 1):
        values = [item for row in values for item in row]
    return values


def _tensor_str(tensor, indent):
    """The values alone, the first line `indent` characters in."""
    if tensor.numel() == 0:
        return "[]"
    if tensor.is_complex():
        tensor = tensor.resolve_conj()
    if tensor.is_floating_point() and tensor.dtype not in (torch.float32, torch.float64):
        tensor = tensor.float()
    floating = tensor.is_floating_point()
    cuts = [False] * tensor.dim()
    if tensor.numel() > PRINT_OPTS.threshold:
        tensor, cuts = _shortened(tensor)
    values = tensor.tolist()
    flat = _flat(values, tensor.dim()) if cuts else [values]
    formatter = _ComplexFormatter(flat) if tensor.is_complex() else _Formatter(flat, floating)
    return _nested_str(values, cuts, indent, formatter)


def _add_suffixes(tensor_str, suffixes, indent, force_newline) -> str:
    """Join the suffixes, on new lines where they would not fit, and close the parenthesis."""
    parts = [tensor_str]
    position = len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or position + len(suffix) + 2 > PRINT_OPTS.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            position = indent + len(suffix)
            force_newline = False
        else:
            parts.append(", " + suffix)
            position += len(suffix) + 2
    return "".join(parts) + ")"


def _default_dtypes() -> tuple:
    """The dtypes that go unsaid."""
    default = torch.get_default_dtype()
    complex_default = torch.complex128 if default == torch.float64 else torch.complex64
    return default, complex_default, torch.int64, torch.bool


def _is_parameter(tensor):
    """Whether the class is Parameter itself; told by name, so that printing does not load the layers."""
    return type(tensor).__name__ == "Parameter" and type(tensor).__module__.endswith("nn.parameter")


def _functional_str(tensor) -> str:
    """A functional tensor shows the value behind it."""
    value = repr(torch._from_functional_tensor(tensor))
    inside = torch._C._tls_keys()[0] & torch._C._key_bit("Functionalize")
    if inside:
        level = torch._C._functional_parts(tensor)[0].level
        return f"FunctionalTensor(lvl={level}, value=\\\n{value})"
    return f"_to_functional_tensor({value}{', requires_grad=True' if tensor.requires_grad else ''})"


def _batched_str(tensor, levels):
    """A tensor that vmap maps over shows all of it, and the depth of each vmap."""
    depths = {level.number: depth for depth, level in enumerate(active_levels(), 1)}
    text = repr(tensor)
    for number in levels:
        text = f"BatchedTensor(lvl={depths.get(number, 'dead')}, bdim=0, value=\n{textwrap.indent(text, '    ')}\n)"
    return text


def _part_str(name, part, indent) -> str:
    """One dense tensor of which a sparse one is made."""
    unknown = _has_no_data(part)
    text = "..." if unknown else _tensor_str(part, indent + len(name) + len("=tensor("))
    return f"{name}=tensor({text}{f', size={tuple(part.shape)}' if unknown or part.numel() == 0 else ''})"


def _has_no_data(tensor) -> bool:
    return tensor.device.type == "meta" or is_fake(tensor)


def _sparse_str(tensor, indent):
    """The parts of a sparse tensor, and what is said of it behind them."""
    names: tuple[str, ...]
    if tensor.is_sparse:
        names = ("_indices", "_values")
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        names = ("crow_indices", "col_indices", "values")
    else:
        names = ("ccol_indices", "row_indices", "values")
    plain = tensor.detach()
    parts = [_part_str(name.lstrip("_"), getattr(plain, name)().detach(), indent) for name in names]
    suffixes = [f"size={tuple(tensor.shape)}"] + ([] if _has_no_data(tensor) else [f"nnz={tensor._nnz()}"])
    if tensor.dtype not in _default_dtypes():
        suffixes.append(f"dtype={tensor.dtype}")
    return (",\n" + " " * indent).join(parts), [*suffixes, f"layout={tensor.layout}"]


def _quantized_str(tensor, indent):
    """The numbers that a quantized tensor stands for, and how it does that."""
    suffixes = [f"size={tuple(tensor.shape)}", f"dtype={tensor.dtype}", f"quantization_scheme={tensor.qscheme()}"]
    if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        suffixes += [f"scale={tensor.q_scale()}", f"zero_point={tensor.q_zero_point()}"]
    else:
        suffixes += [
            f"scale={tensor.q_per_channel_scales()}",
            f"zero_point={tensor.q_per_channel_zero_points()}",
            f"axis={tensor.q_per_channel_axis()}",
        ]
    if tensor.device.type == "meta":
        return "...", suffixes
    return _tensor_str(tensor.dequantize(), indent), suffixes


def _str_intern(tensor, *, tensor_contents=None):
    mapped = torch._C._batched_parts(tensor)
    if mapped is not None:
        return _batched_str(*mapped)
    if torch._C._functional_parts(tensor) is not None:
        return _functional_str(tensor)
    plain = type(tensor) is torch.Tensor or _is_parameter(tensor)
    prefix = "tensor(" if plain else f"{type(tensor).__name__}("
    suffixes = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    if tensor.layout != torch.strided:
        contents, said = _sparse_str(tensor, len(prefix))
        suffixes += said
    elif tensor.is_quantized:
        contents, said = _quantized_str(tensor.detach(), len(prefix))
        suffixes += said
    elif tensor.device.type == "meta" or tensor.numel() == 0:
        if tensor.device.type == "meta" or tensor.dim() != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        if tensor.dtype != torch.get_default_dtype():
            suffixes.append(f"dtype={tensor.dtype}")
        contents = "..." if tensor.device.type == "meta" else "[]"
    else:
        if PRINT_OPTS.edgeitems == 0:
            # Nothing else may show how large the tensor is.
            suffixes.append(f"size={tuple(tensor.shape)}")
        if tensor.dtype not in _default_dtypes():
            suffixes.append(f"dtype={tensor.dtype}")
        contents = tensor_contents
        if contents is None:
            contents = _tensor_str(tensor.detach(), len(prefix))
    try:
        grad_fn = tensor.grad_fn
        recorded_by = "" if grad_fn is None else type(grad_fn).__name__
    except RuntimeError:  # a view of no_grad whose base was written to
        recorded_by = "Invalid"
    if recorded_by:
        suffixes.append(f"grad_fn=<{recorded_by}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    levels = torch._C._tangent_levels(tensor)
    if levels:
        suffixes.append(f"tangent={tangent_of(tensor, levels[-1])}")
    text = _add_suffixes(prefix + contents, suffixes, len(prefix), force_newline=tensor.is_sparse)
    return f"Parameter({text})" if not plain and getattr(tensor, "_is_param", False) else text


def _str(tensor, *, tensor_contents=None):
    """The text of `repr(tensor)`."""
    overrides_were_off = torch._C._disable_function_overrides(True)
    torch._C._run_put_off()
    include, exclude = torch._C._tls_keys()
    torch._C._set_tls_keys(include, exclude | torch._C._key_bit("Tracer"))
    try:
        with torch.no_grad(), no_modes():
            return _str_intern(tensor, tensor_contents=tensor_contents)
    finally:
        torch._C._set_tls_keys(include, exclude)
        torch._C._disable_function_overrides(overrides_were_off)
