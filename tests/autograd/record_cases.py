"""Write `func_cases.json`: what PyTorch answers to the programs of `func_cases.py`.

Run where PyTorch 2.13 is installed: `python tests/autograd/record_cases.py`.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def described(value: Any) -> Any:
    """A result as JSON: tensors with shape, dtype and elements."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        plain = value.detach()
        parts = [plain.real.tolist(), plain.imag.tolist()] if plain.is_complex() else plain.tolist()
        return {"shape": list(plain.shape), "dtype": str(plain.dtype), "data": parts}
    if isinstance(value, dict):
        return {key: described(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    return value


def main() -> None:
    sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
    import reference

    reference.use_as_ours()
    import func_cases

    warnings.simplefilter("ignore")
    recorded = {name: described(program()) for name, program in func_cases.CASES.items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in recorded.items())
    (HERE / "func_cases.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
