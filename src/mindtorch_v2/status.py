"""Where each operator runs: OP_STATUS, and the support matrix as text, Markdown or HTML.

    python -m mindtorch_v2.status                          every operator
    python -m mindtorch_v2.status softmax linalg_          those whose names begin so
    python -m mindtorch_v2.status --missing npu            those that do not run there
    python -m mindtorch_v2.status --format html -o matrix.html

"native" is a kernel of the device's own, "composite" an operator made of others, which runs wherever they do, "missing"
neither. All of it is read from the registry, kernels of users' libraries and of other providers included.
"""

from __future__ import annotations

import argparse
import collections
import functools
import html
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from ._backends import cuda, npu
from ._dispatch.keys import DEVICE_KEYS
from ._operators.table import Row, every_row, rows_of

__all__ = ["DEVICES", "OP_STATUS", "Status", "add_provider", "main", "matrix", "remove_provider", "status"]

DEVICES = ("cpu", "cuda", "npu", "meta")
_providers: dict[str, Callable[[Row], bool]] = {}


class Status(dict[str, str]):
    """The status of an operator by device and provider; `"ascend"` is another name of `"npu"`."""

    def __missing__(self, device: str) -> str:
        if device == "ascend":
            return self["npu"]
        raise KeyError(f"no device or provider is called {device!r}: there are {', '.join(self)}")


def add_provider(name: str, has: Callable[[Row], bool]) -> None:
    """Give other kernels for a device a column of their own; ``has`` says whether a row has one. ValueError for a device."""
    if name in DEVICES:
        raise ValueError(f"{name!r} is a device, which has its column")
    _providers[name] = has


def remove_provider(name: str) -> None:
    """Take the column away. KeyError if there is none of that name."""
    del _providers[name]


@functools.cache
def _kernels_of_devices() -> None:
    """Let devices that were not asked for yet register their kernels, so that the answer does not depend on it."""
    cuda.register_kernels()
    npu.register_kernels()


def status(row: Row) -> Status:
    """Where the operator of ``row`` runs: {"cpu": "native", "cuda": "native", "npu": "native", "meta": "native"}."""
    _kernels_of_devices()
    kernels = row.handle.kernels()
    composite = row.body is not None or "CompositeImplicitAutograd" in kernels
    result = Status()
    for device in DEVICES:
        key = DEVICE_KEYS[device]
        if key in kernels:
            result[device] = "native"
        elif composite:
            result[device] = "composite"
        else:
            result[device] = "native" if row.handle.has_kernel(key) else "missing"
    for name, has in _providers.items():
        result[name] = "native" if has(row) else "missing"
    return result


def _row(name: str) -> Row:
    """The row "add.Tensor", "npu::npu_rms_norm", or the first of that name: "add" is add.Tensor. KeyError if there is none."""
    space, separator, base = name.partition("::")
    rows = every_row() if not separator or space == "aten" else rows_of(space)
    base = base if separator else name
    base = base.removesuffix(".default")
    if base in rows:
        return rows[base]
    if "." not in base:
        for candidate, row in rows.items():
            if candidate.partition(".")[0] == base:
                return row
    raise KeyError(name)


class _OperatorStatus(Mapping[str, Status]):
    """Read from the registry at each look, so that it cannot go stale."""

    def __getitem__(self, name: str) -> Status:
        return status(_row(name))

    def __iter__(self) -> Iterator[str]:
        return iter(every_row())

    def __len__(self) -> int:
        return len(every_row())


OP_STATUS: Mapping[str, Status] = _OperatorStatus()
"""The status of each operator by its name.

>>> from mindtorch_v2.status import OP_STATUS
>>> OP_STATUS["deg2rad"]
{'cpu': 'composite', 'cuda': 'composite', 'npu': 'composite', 'meta': 'composite'}
>>> OP_STATUS["add"]["ascend"]
'native'
"""


def matrix(prefixes: Sequence[str] = (), missing: str | None = None) -> list[tuple[str, Status]]:
    """The operators whose names begin with one of ``prefixes`` (all without), only those missing on a device if one is named."""
    found = [(name, status(row)) for name, row in sorted(every_row().items()) if name.startswith(tuple(prefixes) or "")]
    return found if missing is None else [entry for entry in found if entry[1][missing] == "missing"]


def _summary(entries: list[tuple[str, Status]], columns: Sequence[str]) -> list[str]:
    lines = []
    for column in columns:
        count = collections.Counter(found[column] for _, found in entries)
        told = ", ".join(f"{count[kind]} {kind}" for kind in ("native", "composite", "missing"))
        lines.append(f"{column}: {told}")
    return lines


def _text(entries: list[tuple[str, Status]], columns: Sequence[str]) -> str:
    width = max([len(name) for name, _ in entries] + [8])
    lines = [f"{'operator':{width}}" + "".join(f"  {column:9}" for column in columns)]
    lines += [f"{name:{width}}" + "".join(f"  {found[column]:9}" for column in columns) for name, found in entries]
    return "\n".join([*(line.rstrip() for line in lines), "", *_summary(entries, columns)]) + "\n"


def _markdown(entries: list[tuple[str, Status]], columns: Sequence[str]) -> str:
    lines = [f"| operator | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| `{name}` | {' | '.join(found[column] for column in columns)} |" for name, found in entries]
    return "\n".join([*lines, "", *(f"- {line}" for line in _summary(entries, columns))]) + "\n"


_STYLE = (
    "body{font:14px sans-serif}td,th{padding:2px 10px;text-align:left}th{position:sticky;top:0;background:#fff}"
    ".native{background:#cdebc5}.composite{background:#fdf1bf}.missing{background:#f6c9c5}"
)


def _html(entries: list[tuple[str, Status]], columns: Sequence[str]) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    rows = "\n".join(
        f"<tr><td>{html.escape(name)}</td>"
        + "".join(f'<td class="{found[column]}">{found[column]}</td>' for column in columns)
        + "</tr>"
        for name, found in entries
    )
    told = "".join(f"<li>{html.escape(line)}</li>" for line in _summary(entries, columns))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Where operators run</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>Where operators run</h1><ul>{told}</ul>\n"
        f"<table><thead><tr><th>operator</th>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></body></html>\n"
    )


_FORMATS = {"text": _text, "markdown": _markdown, "html": _html}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the support matrix; the exit status is 1 if no operator fits."""
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_v2.status", description="The support matrix: where each operator runs."
    )
    parser.add_argument("prefix", nargs="*", help="only operators whose names begin so")
    parser.add_argument("--missing", metavar="DEVICE", help="only those that do not run there")
    parser.add_argument("--format", choices=sorted(_FORMATS), default="text")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write; standard output without")
    options = parser.parse_args(arguments)
    columns = [*DEVICES, *_providers]
    if options.missing is not None and options.missing not in (*columns, "ascend"):
        parser.error(f"no device is called {options.missing!r}: there are {', '.join(columns)}")
    entries = matrix(options.prefix, options.missing)
    if not entries:
        print("no such operator", file=sys.stderr)
        return 1
    text = _FORMATS[options.format](entries, columns)
    if options.output is None:
        print(text, end="")
    else:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
