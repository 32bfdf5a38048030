"""How many functions of the package say their types: those with a return type, and public ones that are fully annotated.

python tools/count_annotations.py            a table by folder
python tools/count_annotations.py --record   write tests/snapshots/annotations.json, below which the numbers may not fall
"""

from __future__ import annotations

import ast
import collections
import json
import pathlib
import sys
from collections.abc import Iterable, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "mindtorch_v2"
RECORD = ROOT / "tests" / "snapshots" / "annotations.json"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(body: Iterable[ast.AST], of_class: bool) -> Iterator[tuple[Function, bool]]:
    """Each function, and whether its first parameter is the instance or class."""
    for node in body:
        if isinstance(node, Function):
            static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list)
            yield node, of_class and not static
        within = isinstance(node, ast.ClassDef) or (of_class and isinstance(node, ast.If))
        yield from _functions(ast.iter_child_nodes(node), within)


def is_public(function: Function) -> bool:
    """Whether its name is for users, Python's special methods included."""
    return not function.name.startswith("_") or function.name.startswith("__")


def is_annotated(function: Function, bound: bool) -> bool:
    """Whether every parameter and the result have a type."""
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    parameters = parameters[1:] if bound else parameters
    parameters += [each for each in (given.vararg, given.kwarg) if each is not None]
    return function.returns is not None and all(each.annotation is not None for each in parameters)


def count() -> dict[str, dict[str, int]]:
    """By folder, and in "all": functions, those with a return type, public ones, and of these the annotated ones."""
    found: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for path in sorted(SOURCE.rglob("*.py")):
        folder = path.relative_to(SOURCE).parts[0]
        for function, bound in _functions(ast.parse(path.read_text("utf-8")).body, False):
            for where in ("all", folder):
                found[where]["functions"] += 1
                found[where]["returning"] += function.returns is not None
                found[where]["public"] += is_public(function)
                found[where]["annotated"] += is_public(function) and is_annotated(function, bound)
    return {folder: dict(numbers) for folder, numbers in found.items()}


def shares() -> dict[str, float]:
    """The shares of functions with a return type, and of public functions that are annotated, in percent."""
    numbers = count()["all"]
    return {
        "returning": round(100 * numbers["returning"] / numbers["functions"], 1),
        "annotated": round(100 * numbers["annotated"] / numbers["public"], 1),
    }


def main() -> None:
    """Print the table, or record the shares."""
    if "--record" in sys.argv[1:]:
        RECORD.write_text(json.dumps(shares(), indent=1) + "\n", encoding="utf-8")
        return
    print(f"{'':24}{'functions':>10}{'returning':>10}{'public':>10}{'annotated':>10}")
    for folder, numbers in sorted(count().items(), key=lambda item: item[1]["annotated"] - item[1]["public"]):
        print(
            f"{folder:24}" + "".join(f"{numbers[key]:10}" for key in ("functions", "returning", "public", "annotated"))
        )


if __name__ == "__main__":
    main()
