"""Operators on sequences and signals: recurrent layers, Fourier transforms, sorting, distances, and products with a vector."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.registry import Case, add

_LAYERS = ((10, 8, 32, 64), (100, 4, 16, 32), (200, 1, 64, 128))  # steps, rows, inputs, hidden size
_SORTED = {"int64": (0, 1000), "int64, wide range": (-(2**62), 2**62)}


def _lstm(steps: int, rows: int, inputs: int, hidden: int) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        layer, x = torch.nn.LSTM(inputs, hidden), torch.rand(steps, rows, inputs)
        return lambda: layer(x)[0].sum().backward()

    return prepare


def _transform(name: str, n: int) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        x = torch.rand(16, n)
        return lambda: getattr(torch.fft, name)(x)

    return prepare


def _stft(torch: ModuleType) -> Callable[[], Any]:
    x, window = torch.rand(4, 16000), torch.hann_window(400)
    return lambda: torch.stft(x, 400, 160, window=window, return_complex=True)


def _sort(name: str, low: int, high: int) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        x = torch.randint(low, high, (100_000,))
        return lambda: getattr(x, name)()

    return prepare


def _vector_product(dtype: str) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        weight = torch.rand(4096, 768).to(getattr(torch, dtype))
        x = torch.rand(1, 768).to(weight.dtype)
        return lambda: torch.nn.functional.linear(x, weight)

    return prepare


def _cdist(torch: ModuleType) -> Callable[[], Any]:
    x, y = torch.rand(500, 64).requires_grad_(), torch.rand(500, 64)
    return lambda: torch.cdist(x, y).sum().backward()


for _sizes in _LAYERS:
    _title = "LSTM, {} steps of {} x {} to {}, forward and backward".format(*_sizes)
    add(Case(_title, "sequences and signals", _lstm(*_sizes)))
for _name in ("fft", "rfft"):
    for _n in (256, 1000, 65536):
        add(Case(f"{_name} 16x{_n}", "sequences and signals", _transform(_name, _n)))
add(Case("stft of 4x16000", "sequences and signals", _stft))
add(Case("cdist of 500 and 500 rows of 64, forward and backward", "sequences and signals", _cdist))
for _title, _bounds in _SORTED.items():
    for _name in ("sort", "unique"):
        add(Case(f"{_name} of 100000 {_title}", "sequences and signals", _sort(_name, *_bounds)))
for _dtype in ("float32", "float64", "bfloat16"):
    add(Case(f"linear of one row, 768 to 4096, {_dtype}", "sequences and signals", _vector_product(_dtype)))
