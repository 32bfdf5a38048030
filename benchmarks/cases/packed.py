"""Products of few rows with weights of 16, 8 and 4 bits, of the sizes of a language model: bytes of the weight decide."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.registry import Case, add

_ROWS, _COLUMNS, _GROUP = 11008, 4096, 128


def _bfloat16(rows: int) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        x, w = torch.rand(rows, _COLUMNS).bfloat16(), torch.rand(_ROWS, _COLUMNS).bfloat16()
        return lambda: torch.nn.functional.linear(x, w)

    return prepare


def _int8(rows: int) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        x, scales = torch.rand(rows, _COLUMNS).bfloat16(), torch.rand(_ROWS).bfloat16()
        w = torch.randint(-128, 128, (_ROWS, _COLUMNS), dtype=torch.int8)
        return lambda: torch._weight_int8pack_mm(x, w, scales)

    return prepare


def _int4(rows: int) -> Callable[[ModuleType], Callable[[], Any]]:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        x, scales = torch.rand(rows, _COLUMNS).bfloat16(), torch.rand(_COLUMNS // _GROUP, _ROWS, 2).bfloat16()
        w = torch._convert_weight_to_int4pack_for_cpu(torch.randint(0, 16, (_ROWS, _COLUMNS), dtype=torch.int32), 1)
        return lambda: torch._weight_int4pack_mm_for_cpu(x, w, _GROUP, scales)

    return prepare


for _count in (1, 2, 8):
    for _name, _make in {"bfloat16": _bfloat16, "int8": _int8, "int4": _int4}.items():
        add(Case(f"{_name} weight {_ROWS}x{_COLUMNS}, {_count} rows", "packed", _make(_count), slow=True))
