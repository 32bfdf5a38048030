"""Measure how far floating operators are from the exact result, in units of the last place, beside PyTorch.

    python tools/measure_ulps.py [--operators 'sin|exp'] [--points 700] [--write]

The exact results are mpmath's. Arguments are all exponents of the format (subnormals too) with both signs, evenly drawn
significands, numbers near the points where an operator's algorithm changes, infinities, NaN and signed zeros. A result is off by
`|result - exact| / ulp(exact)`; where the exact one is NaN, infinite or a signed zero, it has to be just that. `--write` writes
tests/snapshots/ulps.json and the table of docs/accuracy.md. Needs PyTorch (named torch) and mpmath.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "snapshots" / "ulps.json"
PAGE = ROOT / "docs" / "accuracy.md"
BEGIN, END = "<!-- made by tools/measure_ulps.py: -->", "<!-- end -->"

mp = mpmath.mp
mp.prec = 200


class Format(NamedTuple):
    """A floating format: significant bits, smallest exponent of a subnormal, largest exponent."""

    bits: int
    lowest: int
    highest: int


FORMATS = {
    "float32": Format(24, -149, 127),
    "float64": Format(53, -1074, 1023),
    "bfloat16": Format(8, -133, 127),
    "float16": Format(11, -24, 15),
}


def _inverse(function: Callable[[Any], Any], low: float, high: float) -> Callable[[Any], Any]:
    """A function that is defined within (low, high); NaN outside."""
    return lambda x: function(x) if low <= x <= high else mpmath.nan


def _sinc(x: Any) -> Any:
    return mpmath.mpf(1) if x == 0 else mpmath.sincpi(x)


def _log1p(x: Any) -> Any:
    return mpmath.log1p(x) if x > -1 else (-mpmath.inf if x == -1 else mpmath.nan)


def _log(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(x) if x > 0 else (-mpmath.inf if x == 0 else mpmath.nan)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x)) if x > -800 else mpmath.exp(x)


def _normal(x: Any) -> Any:
    return mpmath.ncdf(x) if abs(x) < 1e4 else mpmath.mpf(1 if x > 0 else 0)


def _gelu(x: Any) -> Any:
    return x * _normal(x)


def _softplus(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x)) if x <= 20 else x


def _lgamma(x: Any) -> Any:
    if x <= 0 and x == mpmath.floor(x):
        return mpmath.inf
    return mpmath.log(abs(mpmath.gamma(x))) if abs(x) < 300 else mpmath.re(mpmath.loggamma(x))


def _digamma(x: Any) -> Any:
    if x == 0:
        return -math.copysign(1, x) * mpmath.inf
    return mpmath.nan if x < 0 and x == mpmath.floor(x) else mpmath.digamma(x)


def _tan_ok(x: Any) -> Any:
    return mpmath.tan(x)


# Operators of one argument: the exact function, and numbers near which their algorithms change.
UNARY: dict[str, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    "acos": (_inverse(mpmath.acos, -1, 1), (0.5, 1)),
    "acosh": (lambda x: mpmath.acosh(x) if x >= 1 else mpmath.nan, (1, 2)),
    "asin": (_inverse(mpmath.asin, -1, 1), (0.5, 1)),
    "asinh": (mpmath.asinh, (1,)),
    "atan": (mpmath.atan, (1, 2.4)),
    "atanh": (lambda x: mpmath.atanh(x) if abs(x) < 1 else (x * mpmath.inf if abs(x) == 1 else mpmath.nan), (0.5, 1)),
    "cos": (mpmath.cos, (0.785398, 1.570796, 1e5)),
    "cosh": (mpmath.cosh, (1, 88, 89)),
    "digamma": (_digamma, (1, 1.4616, 10)),
    "erf": (mpmath.erf, (0.5, 1, 4)),
    "erfc": (mpmath.erfc, (0.5, 1, 10)),
    "exp": (mpmath.exp, (1, 88, -87, -103)),
    "exp2": (lambda x: mpmath.mpf(2) ** x, (1, 127, -126, -149)),
    "expm1": (mpmath.expm1, (0.5, 88)),
    "lgamma": (_lgamma, (1, 2, 3)),
    "log": (_log(mpmath.log), (1, 0.7071)),
    "log10": (_log(mpmath.log10), (1, 10)),
    "log1p": (_log1p, (0.4, -0.3)),
    "log2": (_log(lambda x: mpmath.log(x, 2)), (1, 2)),
    "reciprocal": (lambda x: 1 / x if x else math.copysign(1, x) * mpmath.inf, (1,)),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x) if x > 0 else (math.copysign(1, x) * mpmath.inf if x == 0 else mpmath.nan), (1,)),
    "sigmoid": (_sigmoid, (1, -20, -88)),
    "sin": (mpmath.sin, (0.785398, 3.141593, 1e5)),
    "sinc": (_sinc, (1, 0.5)),
    "sinh": (mpmath.sinh, (1, 88, 89)),
    "sqrt": (lambda x: mpmath.sqrt(x) if x >= 0 else mpmath.nan, (1, 2)),
    "tan": (_tan_ok, (0.785398, 1.570796, 1e5)),
    "tanh": (mpmath.tanh, (0.625, 9)),
    "special.erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x) if -30 < x < 1e3 else (mpmath.inf if x < 0 else 1 / (x * mpmath.sqrt(mpmath.pi)) * (1 - 1 / (2 * x * x) + 3 / (4 * x**4))), (0.5, 25)),
    "special.i0": (lambda x: mpmath.besseli(0, x) if abs(x) < 800 else mpmath.inf, (8,)),
    "special.i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), (8,)),
    "special.i1": (lambda x: mpmath.besseli(1, x) if abs(x) < 800 else x * mpmath.inf, (8,)),
    "special.i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), (8,)),
    "special.ndtr": (_normal, (1, -5, -12)),
    "special.entr": (lambda x: -x * mpmath.log(x) if x > 0 else (mpmath.mpf(0) if x == 0 else -mpmath.inf), (1, 0.3679)),
    "special.bessel_j0": (lambda x: mpmath.besselj(0, x), (2.404825, 5)),
    "special.bessel_j1": (lambda x: mpmath.besselj(1, x), (3.831706, 5)),
    "nn.functional.gelu": (_gelu, (0.5, -0.75, 4)),
    "nn.functional.logsigmoid": (lambda x: mpmath.log(_sigmoid(x)) if x > -800 else x, (1, -20, 20)),
    "nn.functional.mish": (lambda x: x * mpmath.tanh(_softplus(x)), (1, 20)),
    "nn.functional.silu": (lambda x: x * _sigmoid(x), (1, -20)),
    "nn.functional.softplus": (_softplus, (1, 20)),
    "nn.functional.elu": (lambda x: x if x > 0 else mpmath.expm1(x), (-1,)),
    "nn.functional.selu": (lambda x: mpmath.mpf(1.0507009873554804934193349852946) * (x if x > 0 else mpmath.mpf(1.6732632423543772848170429916717) * mpmath.expm1(x)), (-1,)),
}  # fmt: skip
# Of two: pairs are drawn.
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "atan2": lambda x, y: mpmath.atan2(x, y),
    "div": lambda x, y: x / y,
    "hypot": lambda x, y: mpmath.hypot(x, y),
    "mul": lambda x, y: x * y,
    "pow": lambda x, y: x**y if x > 0 or y == mpmath.floor(y) else mpmath.nan,
    "sub": lambda x, y: x - y,
    "fmod": lambda x, y: mpmath.sign(x) * mpmath.fmod(abs(x), abs(y)),
    "xlogy": lambda x, y: x * mpmath.log(y) if y > 0 else mpmath.nan,
    "logaddexp": lambda x, y: max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y))),
}
# Results at infinities, NaN and zeros are PyTorch's contract as much as numbers are: there PyTorch itself is the judge.
_SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan)
REASONS: dict[tuple[str, str], str] = {}


def arguments(name: str, kind: str, count: int, near: tuple[float, ...]) -> list[float]:
    """Numbers of the format, in every exponent."""
    form = FORMATS[kind]
    draw = random.Random(f"{name}/{kind}")
    step = max(1, (form.highest - form.lowest) * 2 // count)
    made: list[float] = []
    for exponent in range(form.lowest, form.highest + 1, step):
        for sign in (1, -1):
            made.append(sign * math.ldexp(1 + draw.random(), exponent))
    for place in near:
        for _ in range(20):
            made.append(place * (1 + draw.uniform(-1, 1) * 2.0 ** -draw.randint(1, form.bits)))
    made += [draw.uniform(-10, 10) for _ in range(count // 4)]
    return made


def exact(value: float) -> Any:
    """A number of mpmath's."""
    return mpmath.mpf(value)


def off(result: float, wanted: Any, form: Format) -> float:
    """How far a result is from the exact one, in units of the last place; infinite for another kind of number."""
    if mpmath.isnan(wanted):
        return 0.0 if math.isnan(result) else math.inf
    if math.isnan(result):
        return math.inf
    largest = mpmath.mpf(2) ** form.highest * (2 - mpmath.mpf(2) ** (1 - form.bits))
    step_at_top = mpmath.mpf(2) ** (form.highest - form.bits + 1)
    if mpmath.isinf(wanted) or abs(wanted) > largest:
        if math.isinf(result):
            return 0.0 if (result > 0) == (wanted > 0) else math.inf
        if mpmath.isinf(wanted):
            return math.inf
        return min(float((abs(wanted) - abs(mpmath.mpf(result))) / step_at_top), 1e9)
    if math.isinf(result):
        return max(0.0, float((largest - abs(wanted)) / step_at_top))
    if wanted == 0:
        return float(abs(mpmath.mpf(result)) / mpmath.mpf(2) ** form.lowest)
    exponent = max(int(mpmath.floor(mpmath.log(abs(wanted), 2))) - form.bits + 1, form.lowest)
    return float(abs(mpmath.mpf(result) - wanted) / mpmath.mpf(2) ** exponent)


def function_of(library: Any, name: str) -> Any:
    """The operator of that dotted name."""
    found = library
    for part in name.split("."):
        found = getattr(found, part)
    return found


def measure(libraries: dict[str, Any], name: str, kind: str, count: int) -> dict[str, Any]:
    """The worst of each library, and where."""
    form = FORMATS[kind]
    two = name in BINARY
    if two:
        draw = random.Random(f"{name}/{kind}")
        first = arguments(name, kind, count, ())
        second = arguments(name + "'", kind, count, ())
        draw.shuffle(second)
        if name in ("pow", "fmod", "logaddexp", "xlogy"):
            second = [draw.uniform(-20, 20) for _ in second]
        columns = [first, second[: len(first)]]
        if len(columns[1]) < len(first):
            columns[0] = first[: len(columns[1])]
    else:
        columns = [arguments(name, kind, count, UNARY[name][1])]
    if not _takes(libraries, name, kind, columns):
        return {}
    worst: dict[str, Any] = {}
    seen: dict[str, list[float]] = {}
    rounded: list[list[float]] = []
    for label, library in libraries.items():
        tensors = [library.tensor(column, dtype=library.float64).to(getattr(library, kind)) for column in columns]
        rounded = [each.to(library.float64).tolist() for each in tensors]
        seen[label] = function_of(library, name)(*tensors).to(library.float64).tolist()
        special = [library.tensor(_SPECIAL, dtype=getattr(library, kind))]
        if two:
            special = [special[0].repeat_interleave(len(_SPECIAL)), special[0].repeat(len(_SPECIAL))]
        worst[label] = {
            "special": [_word(each) for each in function_of(library, name)(*special).to(library.float64).tolist()]
        }
    for label, results in seen.items():
        worst[label].update(ulps=0.0, at=None)
        for *given, result in zip(*rounded, results, strict=True):
            if any(math.isinf(each) or math.isnan(each) or each == 0 for each in given):
                continue
            try:
                wanted = BINARY[name](*map(exact, given)) if two else UNARY[name][0](exact(given[0]))
            except (ZeroDivisionError, OverflowError, ValueError, mpmath.libmp.NoConvergence):
                continue
            distance = off(result, wanted, form)
            if distance > worst[label]["ulps"]:
                worst[label].update(ulps=distance, at=given)
    return worst


def _takes(libraries: dict[str, Any], name: str, kind: str, columns: list[list[float]]) -> bool:
    """Whether PyTorch has the operator for the format; what it has not is not compared."""
    library = libraries["PyTorch"]
    try:
        function_of(library, name)(*[library.ones(1, dtype=getattr(library, kind)) for _ in columns])
    except (NotImplementedError, RuntimeError):
        return False
    return True


def _word(value: float) -> str:
    """A special result, so that signs of zero and kinds of NaN compare."""
    return "nan" if math.isnan(value) else repr(float(numpy.float32(value)))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", default=".")
    parser.add_argument("--points", type=int, default=700)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    import torch

    import mindtorch_v2

    torch.set_num_threads(1)
    table: dict[str, Any] = {}
    failures = []
    for name in sorted([*UNARY, *BINARY]):
        if not re.search(chosen.operators, name):
            continue
        for kind in FORMATS:
            count = chosen.points if kind in ("float32", "float64") else chosen.points // 2
            made = measure({"ours": mindtorch_v2, "PyTorch": torch}, name, kind, count)
            if not made:
                continue
            ours, theirs = made["ours"]["ulps"], made["PyTorch"]["ulps"]
            table.setdefault(name, {})[kind] = {
                "ours": round(ours, 3), "PyTorch": round(theirs, 3), "at": made["ours"]["at"],
                "special": made["ours"]["special"] == made["PyTorch"]["special"],
            }  # fmt: skip
            note = "" if ours <= theirs + 1 else f"   WORSE at {made['ours']['at']}"
            if not table[name][kind]["special"]:
                note += f"   SPECIAL {made['ours']['special']} {made['PyTorch']['special']}"
            if note:
                failures.append((name, kind))
                print(f"{name:28} {kind:9} {ours:12.3f} {theirs:12.3f}{note}", flush=True)
    print(
        f"{len(table)} operators, {len(failures)} worse than PyTorch by more than a unit, or other at special numbers"
    )
    if chosen.write:
        whole = json.loads(DATA.read_text().replace('"inf"', "Infinity")) | table  # the others were measured before
        DATA.write_text(json.dumps(whole, indent=0, sort_keys=True).replace("Infinity", '"inf"') + "\n")
        write_page(whole)
    sys.exit(bool([each for each in failures if each not in REASONS]))


def write_page(table: dict[str, Any]) -> None:
    """Put the table on its page."""
    lines = [
        "| Operator | " + " | ".join(f"{kind}: ours / PyTorch" for kind in FORMATS) + " |",
        "|---" * (len(FORMATS) + 1) + "|",
    ]
    for name, kinds in sorted(table.items()):
        cells = [
            f"{_short(kinds[kind]['ours'])} / {_short(kinds[kind]['PyTorch'])}" if kind in kinds else ""
            for kind in FORMATS
        ]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + rest.partition(END)[2])


def _short(value: Any) -> str:
    return "other" if value == math.inf else f"{value:.1f}" if value < 1000 else f"{value:.0e}"


if __name__ == "__main__":
    main()
