"""Which kernels the tests on the emulated GPU compile: recorded, so that a compiler for GPUs can be given every one of them.

    MINDTORCH_CUDA_EMULATOR=1 python -m tests.cuda.kernel_sources [files of tests/cuda/on_emulator]

Of each kernel with a header of its own the record keeps so many choices of words that each word has each of its values once; of an
element-wise kernel the key of a call for each dtype of its first result, three at most (_backends/cuda/pointwise.py). Where files are
named, what they compile comes to what is recorded.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

from mindtorch_v2._backends.cuda import compiler, pointwise, table

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORD = ROOT / "tests" / "snapshots" / "cuda_kernels.json"
_KEYS = 3
_TOGETHER = 40  # element-wise kernels that are compiled as one source


def read() -> dict[str, Any]:
    """The record."""
    return json.loads(RECORD.read_text("utf-8"))  # type: ignore[no-any-return]  # (JSON)


def covering(choices: set[tuple[tuple[str, str], ...]]) -> list[tuple[tuple[str, str], ...]]:
    """So many of the choices of words that every word has every value that it has in any of them."""
    wanted = {pair for words in choices for pair in words}
    kept = []
    for words in sorted(choices, key=lambda words: (-len(set(words) & wanted), words)):
        if not kept or set(words) & wanted:
            kept.append(words)
            wanted -= set(words)
    return kept


def element_wise(recorded: dict[str, list[str]]) -> list[str]:
    """Sources of the element-wise kernels, many together: each in a namespace of its own, under another name."""
    text, parts = compiler.HEADERS.joinpath("pointwise.cuh").read_text(), []
    loop = text.replace("#pragma once", "")
    known = {(made.name, made.outputs, len(made.names)): made for made in pointwise.MADE}
    for number, (name, keys) in enumerate(sorted(recorded.items())):
        row, outputs, arguments = name.rsplit("/", 2)
        for place, key in enumerate(keys):
            source, _ = known[row, int(outputs), int(arguments)].source_of(pointwise.read(key.encode("latin-1")))
            body = source.replace('#include "base.cuh"\n#include "functions.cuh"\n', "").replace(
                '#include "pointwise.cuh"', loop
            )
            parts.append(
                f"namespace k{number}_{place} {{\n{body.replace('KERNEL(pointwise,', f'KERNEL(k{number}_{place},')}}}\n#undef DENSE\n"
            )
    head = '#include "base.cuh"\n#include "functions.cuh"\n'
    return [head + "".join(parts[at : at + _TOGETHER]) for at in range(0, len(parts), _TOGETHER)]


def elsewhere() -> dict[str, Any]:
    """Names of all element-wise kernels, and sources by the number of keys of each, from a process that registers the kernels."""
    program = (
        "import json; from mindtorch_v2._backends import cuda; cuda.register_kernels(); from tests.cuda import kernel_sources as k; "
        "of = k.read()['element-wise']; print(json.dumps({'names': k.names_made(), **{str(n): "
        "k.element_wise({name: keys[:n] for name, keys in of.items()}) for n in (1, 2)}}))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)  # type: ignore[no-any-return]  # (JSON)


def names_made() -> list[str]:
    """All element-wise kernels, as the record names them."""
    return sorted({f"{made.name}/{made.outputs}/{len(made.names)}" for made in pointwise.MADE})


def own(recorded: list[list[Any]]) -> list[tuple[str, str]]:
    """Name and source of each kernel with a header of its own."""
    found = []
    for header, entry, words in recorded:
        defines = "".join(f"#define {name} {text}\n" for name, text in words)
        said = " ".join(f"{name}={text}" for name, text in words)
        found.append(
            (
                f"{header}:{entry} {said}",
                f'#include "base.cuh"\n#include "functions.cuh"\n{defines}#include "{header}"\n',
            )
        )
    return found


def _record(files: list[str]) -> int:
    import pytest

    words: dict[tuple[str, str], set[Any]] = {}
    keys: dict[str, dict[str, str]] = {}
    if files:
        for header, entry, chosen in read()["own"]:
            words.setdefault((header, entry), set()).add(tuple((name, text) for name, text in chosen))
        keys = {name: {key[:2]: key for key in held} for name, held in read()["element-wise"].items()}
    found, compiled = table.Source._function, pointwise.Pointwise.compile

    def noted(self: Any, device: int, given: Any, shared: int) -> int:
        words.setdefault((self.header, self.entry), set()).add(given)
        return found(self, device, given, shared)

    def kept(self: Any, key: bytes) -> Any:
        name = f"{self.name}/{self.outputs}/{len(self.names)}"
        of_name = keys.setdefault(name, {})
        if len(of_name) < _KEYS:
            of_name.setdefault(key[:2].decode("latin-1"), key.decode("latin-1"))
        return compiled(self, key)

    table.Source._function = noted  # type: ignore[method-assign]  # (watched while it runs)
    pointwise.Pointwise.compile = kept  # type: ignore[method-assign]  # (watched while it runs)
    status = pytest.main(["-q", "-p", "no:cacheprovider", *(files or ["tests/cuda/on_emulator"])])
    lines = [
        json.dumps([header, entry, chosen])
        for (header, entry), choices in sorted(words.items())
        for chosen in covering(choices)
    ]
    named = [f"{json.dumps(name)}: {json.dumps(sorted(of_name.values()))}" for name, of_name in sorted(keys.items())]
    RECORD.write_text(
        '{\n"own": [\n' + ",\n".join(lines) + '\n],\n"element-wise": {\n' + ",\n".join(named) + "\n}\n}\n", "utf-8"
    )
    print(len(lines), "choices of words of", len(words), "kernels;", len(keys), "element-wise kernels")
    return int(status)


if __name__ == "__main__":
    sys.exit(_record(sys.argv[1:]))
