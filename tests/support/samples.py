"""A row's samples as tensors of either library: the same numbers for the same row, sample and place, in every process.

The numbers come from NumPy's generator, seeded by the names; neither library's own generator has a part in them.
"""

import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy

from mindtorch_v2._operators.table import every_row
from mindtorch_v2._operators.table.samples import samples_of as samples

every_row()  # tests look into ROWS

_FLOAT = ("float32", "float64")
_FLOATING = (*_FLOAT, "float16", "bfloat16")
INTEGER = ("int64", "int32", "int16", "int8", "uint8")
_COMPLEX = ("complex64", "complex128")
_SETS = {
    "float": _FLOAT,
    "floating": _FLOATING,
    "integer": INTEGER,
    "real": (*_FLOATING, *INTEGER),
    "complex": _COMPLEX,
    "bool": ("bool",),
    "all": (*_FLOATING, *INTEGER, "bool", *_COMPLEX),
}
_OPTIONS = {"dtype", "low", "high", "grad", "data"}
LOW_PRECISION = ("float16", "bfloat16")


def dtypes(row: Any, sample: Any) -> tuple[str, ...]:
    """The dtypes that a sample is swept over, by the row's claim; one, if no tensor of the sample leaves its open."""
    if not any("dtype" not in spec.options and "data" not in spec.options for spec in tensor_specs(sample)):
        return ("float32",)
    claimed = (name for word in row.dtypes.replace("+", " ").split() for name in _SETS.get(word, (word,)))
    return tuple(dict.fromkeys(claimed))


def digest(row: Any, sample: Any) -> str:
    """A short hash of all that decides the numbers, by which a snapshot that is out of date is recognised."""
    return f"{zlib.crc32(repr((row.schema, sample)).encode()):08x}"


def tensor_specs(sample: Any) -> list[Any]:
    """Every tensor argument of a sample, lists looked into."""
    return [value for value in _walk([*sample.args, *sample.kwargs.values()]) if _is_spec(value)]


def _walk(value: Any) -> Iterator[Any]:
    if isinstance(value, list) or (isinstance(value, tuple) and not _is_spec(value)):
        for item in value:
            yield from _walk(item)
    else:
        yield value


def _is_spec(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "options")


class Inputs:
    """One sample's arguments, as tensors of `torch`.

    `leaves` are the tensors that a gradient is asked for; `args` and `kwargs` go to the operator.
    """

    def __init__(
        self,
        torch: ModuleType,
        row: Any,
        index: int,
        dtype: str,
        *,
        grad: bool = False,
        arrange: Callable[[ModuleType, Any], Any] | None = None,
        device: str | None = None,
        empty: bool = False,
    ):
        sample = samples(row)[index]
        self._torch, self._key, self._dtype = torch, f"{row.name}/{index}", dtype
        self._grad, self._arrange, self._device = grad, arrange, device
        specs = tensor_specs(sample)
        self._emptied = specs[0].shape[0] if empty and specs and specs[0].shape else None
        self._mutates = "!" in row.schema
        self._place = 0
        self.leaves: list[Any] = []
        self.args = [self._build(value) for value in sample.args]
        self.kwargs = {name: self._build(value) for name, value in sample.kwargs.items()}

    def _build(self, value: Any) -> Any:
        if _is_spec(value):
            return self._tensor(value)
        if isinstance(value, list | tuple):
            return type(value)(self._build(item) for item in value)
        kind = type(value).__name__
        if kind in (
            "dtype",
            "layout",
            "memory_format",
        ):  # the row's own library's; the other calls it by the same name
            return getattr(self._torch, str(value).rpartition(".")[2])
        if kind == "device":
            return self._torch.device(str(value))
        return value

    def _tensor(self, spec: Any) -> Any:
        self._place += 1
        unknown = set(spec.options) - _OPTIONS
        if unknown:
            raise ValueError(f"{self._key}: a sample's tensor has unknown options {sorted(unknown)}")
        name = spec.options.get("dtype") or (_data_dtype(spec) if "data" in spec.options else self._dtype)
        name = str(name).rpartition(".")[2]
        shape = spec.shape
        if self._emptied is not None and shape and shape[0] == self._emptied:
            shape = (0, *shape[1:])
        array = numbers(f"{self._key}/{self._place}", shape, name, spec.options)
        tensor = from_array(self._torch, array, name)
        if self._arrange is not None:
            tensor = self._arrange(self._torch, tensor)
        if self._device is not None:
            tensor = tensor.to(self._device)
        if self._grad and spec.options.get("grad", True) and (tensor.is_floating_point() or tensor.is_complex()):
            tensor.requires_grad_()
            self.leaves.append(tensor)
            if self._mutates:
                tensor = tensor.clone()
        return tensor


def _data_dtype(spec: Any) -> str:
    return {"b": "bool", "i": "int64", "f": "float32", "c": "complex64"}[numpy.array(spec.options["data"]).dtype.kind]


def numbers(key: str, shape: tuple[int, ...], dtype: str, options: dict[str, Any] | None = None) -> numpy.ndarray:
    """Numbers in a dtype that holds those of `dtype` exactly; `options` are those of a TensorSpec."""
    options = options or {}
    if "data" in options:
        return numpy.array(options["data"])
    generator = numpy.random.Generator(numpy.random.PCG64(zlib.crc32(key.encode())))
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype in INTEGER or dtype.startswith("uint"):
        low = options.get("low", 0 if dtype.startswith("uint") else -4)
        high = options.get("high", 6)
        low, high = int(numpy.ceil(low)), int(numpy.ceil(high))
        return generator.integers(max(low, 0) if dtype.startswith("uint") else low, max(high, low + 1), shape)
    low, high = options.get("low", -2.0), options.get("high", 2.0)
    values = low + (high - low) * generator.random(shape)
    return values + 1j * (low + (high - low) * generator.random(shape)) if dtype in _COMPLEX else values


def from_array(torch: ModuleType, array: numpy.ndarray, dtype: str) -> Any:
    """A contiguous tensor of the named dtype."""
    return torch.from_numpy(numpy.array(array)).to(getattr(torch, dtype))


def to_array(tensor: Any) -> numpy.ndarray:
    """The numbers of a tensor; bfloat16 and complex32, which NumPy lacks, as float32 and complex64."""
    tensor = tensor.detach()
    if getattr(tensor, "_is_zerotensor", bool)():  # PyTorch's symbolic zero has no memory
        return numpy.zeros(tuple(tensor.shape), str(tensor.dtype).rpartition(".")[2])
    if str(tensor.dtype).endswith("bfloat16"):
        tensor = tensor.float()
    if str(tensor.dtype).endswith("complex32"):
        tensor = tensor.cfloat()
    return tensor.resolve_conj().resolve_neg().contiguous().numpy(force=True)


def strided(torch: ModuleType, tensor: Any) -> Any:
    """The same numbers, not contiguous: dimensions in reverse order in memory, or every other element."""
    if tensor.dim() >= 2:
        return tensor.transpose(0, -1).contiguous().transpose(0, -1)
    return torch.stack([tensor, tensor], -1)[..., 0] if tensor.dim() == 1 else tensor


def flat(result: Any) -> list[Any]:
    """The results of an operator as a list, lists of tensors looked into."""
    if isinstance(result, list | tuple):
        return [item for part in result for item in flat(part)]
    return [result]
