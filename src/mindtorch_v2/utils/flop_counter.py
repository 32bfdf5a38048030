"""`torch.utils.flop_counter`: how many floating point operations a program takes, by module and operator."""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

from ._flop_formulas import (
    FUSED,
    addmm_flop,
    baddbmm_flop,
    bmm_flop,
    conv_backward_flop,
    conv_flop,
    conv_flop_count,
    flop_registry,
    get_shape,
    mm_flop,
    register_flop_formula,
    sdpa_backward_flop_count,
    sdpa_flop_count,
    shape_wrapper,
    stated,
)
from ._python_dispatch import TorchDispatchMode
from .module_tracker import ModuleTracker

__all__ = [
    "FlopCounterMode",
    "addmm_flop",
    "baddbmm_flop",
    "bmm_flop",
    "conv_backward_flop",
    "conv_flop",
    "conv_flop_count",
    "convert_num_with_suffix",
    "convert_to_percent_str",
    "flop_registry",
    "get_shape",
    "get_suffix_str",
    "mm_flop",
    "normalize_tuple",
    "register_flop_formula",
    "sdpa_backward_flop_count",
    "sdpa_flop_count",
]

suffixes = ["", "K", "M", "B", "T"]


def get_suffix_str(number: int) -> str:
    """The suffix to show numbers of this size with: 1001 million rather than 1.001 billion.

    >>> from mindtorch_v2.utils.flop_counter import get_suffix_str
    >>> get_suffix_str(1001), get_suffix_str(1_010_000_000)
    ('', 'M')
    """
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: float, suffix: str) -> str:
    """A number in thousands, millions and so on, as `suffix` says, with three places.

    >>> from mindtorch_v2.utils.flop_counter import convert_num_with_suffix
    >>> convert_num_with_suffix(1_500_000, "M")
    '1.500M'
    """
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: float, denom: float) -> str:
    """A share of a whole in percent; "0%" of nothing.

    >>> from mindtorch_v2.utils.flop_counter import convert_to_percent_str
    >>> convert_to_percent_str(1, 4), convert_to_percent_str(1, 0)
    ('25.00%', '0%')
    """
    return "0%" if denom == 0 else f"{num / denom:.2%}"


def normalize_tuple(x: Any) -> Any:
    """A tuple as it is, anything else as a tuple of one.

    >>> from mindtorch_v2.utils.flop_counter import normalize_tuple
    >>> normalize_tuple((1, 2)), normalize_tuple(3)
    ((1, 2), (3,))
    """
    return x if isinstance(x, tuple) else (x,)


def _shown(number: int, suffix: str) -> str:
    return f"{number:g}" if not suffix else convert_num_with_suffix(number, suffix)  # large ones in six digits


def _table(rows: list[list[str]], header: list[str]) -> str:
    """Columns, the first to the left and the others to the right, under a header with lines."""
    widths = [max(len(header[i]) + 2, *(len(row[i]) for row in rows)) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines)


class FlopCounterMode:
    """Within this block, operations are counted: those of `mm`, `addmm`, `bmm`, `baddbmm`, convolutions, their gradients,
    and of operators with a formula of their own.

    `depth` is how deep the table goes into modules; with `display` it is printed at the end. `custom_mapping` gives
    formulas of operators for this counter only, as functions of shapes (see `register_flop_formula`). Counts are those
    of PyTorch. So attention counts where it is computed with `bmm`, and in PyTorch's fused operators for GPUs; the fused
    operator for the CPU has no formula there, nor here: `custom_mapping` can give one with `sdpa_flop_count`.

    >>> from mindtorch_v2.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     torch.nn.Linear(3, 4)(torch.ones(2, 3)).sum().backward()
    >>> counter.get_total_flops()
    96
    """

    def __init__(
        self, mods: Any = None, depth: int | None = 2, display: bool = True, custom_mapping: dict | None = None
    ) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth = depth
        self.display = display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.flop_registry = {
            **flop_registry,
            **{k: v if getattr(v, "_get_raw", False) else shape_wrapper(v) for k, v in (custom_mapping or {}).items()},
        }
        self.mod_tracker = ModuleTracker()
        self.mode: _Mode | None = None

    def get_total_flops(self) -> int:
        """The operations counted, all together."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """For each module's name, and "Global", the counts of its operators."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, modules down to `depth` (the counter's own by default; if that is None, all)."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        suffix = get_suffix_str(total)

        def lines_of(name: str, indent: int) -> list[list[str]]:
            counts = self.flop_counts[name]
            named = [(name, sum(counts.values())), *((f" - {operator}", n) for operator, n in counts.items())]
            return [
                [" " * indent + text, _shown(n, suffix), f"{n / total:.2%}" if total else "0%"] for text, n in named
            ]

        rows: list[list[str]] = []
        covered = False  # whether one of the modules shown has it all: then "Global" would repeat it
        for name in sorted(self.flop_counts):
            level = name.count(".")
            if name != "Global" and (depth is None or level < depth):
                rows += lines_of(name, level)
                covered |= sum(self.flop_counts[name].values()) >= total
        if "Global" in self.flop_counts and not covered:
            rows = lines_of("Global", 0) + [[" " + row[0], *row[1:]] for row in rows]
        return _table(rows or [["Global", "0", "0%"]], ["Module", "FLOP", "% Total"])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Mode(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.mode is None:
            raise AssertionError("Internal error: FlopCounter.__exit__ called but mode is None")
        self.mode.__exit__(*exception)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count(self, func: Any, out: Any, args: Any, kwargs: Any) -> None:
        packet = func.overloadpacket
        formula = self.flop_registry.get(packet)
        counted: Any
        if formula is not None:
            counted = packet, formula(*args, **kwargs, out_val=out)
        else:
            fused = FUSED.get(packet)
            counted = fused(*args, **kwargs) if fused else stated(func, args, kwargs)
        if counted is not None:
            for name in self.mod_tracker.parents:
                self.flop_counts[name][counted[0]] += counted[1]


class _Mode(TorchDispatchMode):
    """Hand each call to the counter after it was made."""

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        self.counter._count(func, out, args, kwargs)
        return out
