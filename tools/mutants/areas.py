"""The areas that faults are planted in: which sources, and which folders of tests are asked first."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "mindtorch_v2"


# Its tests run in processes of their own, which do not see a planted fault.
_ELSEWHERE = SOURCE / "nn" / "parallel"


def found(pattern: str) -> list[Path]:
    """The Python sources below the package that a pattern stands for."""
    paths = SOURCE.glob(pattern)
    return [path for path in paths if path.suffix == ".py" and not path.is_relative_to(_ELSEWHERE)]


class Area(NamedTuple):
    """Sources below the package, and the tests that are nearest to them."""

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    signatures: tuple[str, ...] = (  # tests that read defaults, and enter no function
        "tests/surface/test_signatures.py",
        "tests/surface/test_parameters.py",
        "tests/surface/test_declarations.py",
        "tests/surface/test_class_facts.py",
    )

    def files(self) -> list[Path]:
        """The source files of the area."""
        return sorted(path for name in self.sources for path in found(name))


AREAS = (
    Area(
        "rows",
        ("_operators/native/*", "_operators/composite/*", "_operators/inner/*"),
        ("tests/ops",),
        ("tests/ops/test_bodies.py", "tests/ops/test_facts.py"),
    ),
    Area("operators", ("_operators/*", "_operators/table/*"), ("tests/ops", "tests/pytorch_port")),
    Area("nn", ("nn/**/*",), ("tests/nn", "tests/pytorch_port", "tests/ops")),
    Area("optim", ("optim/*", "optim/_schedules/*"), ("tests/optim",)),
    Area("distributions", ("distributions/*",), ("tests/surface",)),
    Area("func", ("func/*", "_behaviours/batched/*"), ("tests/func", "tests/autograd", "tests/ops")),
    Area("autograd", ("_core/autograd/*", "autograd/*"), ("tests/autograd", "tests/pytorch_port")),
    Area(
        "serialization",
        ("serialization/*", "_weights_only_unpickler.py"),
        ("tests/serialization",),
    ),
)
# Tests whose calls are watched. What starts processes of its own, or reads sources, says nothing about a planted fault.
TESTS = (
    "tests/ops",
    "tests/nn",
    "tests/optim",
    "tests/amp",
    "tests/autograd",
    "tests/func",
    "tests/pytorch_port",
    "tests/surface",
    "tests/serialization",
    "tests/functionalize",
    "tests/sparse",
    "tests/aot",
    "tests/fx",
    "tests/library",
    "tests/utils",
    "tests/docs/test_help.py",
    "tests/test_random_state.py",
    "tests/test_tensor_str.py",
)
