"""Write what PyTorch answers to the programs of `functionalize_cases.py` and to seeded random programs.

Run where PyTorch 2.13 is installed: `python tests/functionalize/record.py`.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
SNAPSHOTS = TESTS / "snapshots" / "functionalize"


def described(value: Any) -> Any:
    """An outcome as JSON: tensors with shape, dtype and elements."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        plain = value.detach()
        parts = [plain.real.tolist(), plain.imag.tolist()] if plain.is_complex() else plain.tolist()
        return {"shape": list(plain.shape), "dtype": str(plain.dtype), "data": parts}
    if isinstance(value, dict):
        return {key: described(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    return value


def _write(name: str, recorded: dict) -> None:
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in recorded.items())
    (SNAPSHOTS / name).write_text(f"{{\n{lines}\n}}\n")


def main() -> None:
    sys.path[:0] = [str(TESTS / "support")]
    import reference

    reference.use_as_ours()
    import functionalize_cases
    import mutating_programs
    import torch

    warnings.simplefilter("ignore")
    _write("cases.json", {name: described(functionalize_cases.outcome(name)) for name in functionalize_cases.CASES})
    seeded = {}
    for seed in range(mutating_programs.SEEDS):
        program, aliasing = mutating_programs.seeded(seed)
        seeded[str(seed)] = mutating_programs.summary(
            mutating_programs.outcome(torch, mutating_programs.body(torch, program), aliasing, grad=seed % 2 == 0)
        )
    _write("random_programs.json", seeded)


if __name__ == "__main__":
    main()
