"""Write `fx_cases.json` and the like: what PyTorch answers to the programs of `fx_cases.py`.

Run where PyTorch 2.13 is installed: `python tests/fx/record_cases.py [fx make_fx ...]`.
"""

import importlib
import json
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
    import reference

    reference.use_as_ours()
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or sorted(path.stem.removesuffix("_cases") for path in HERE.glob("*_cases.py")):
        if name == "record":
            continue
        programs = importlib.import_module(f"{name}_cases").CASES
        recorded = {}
        for title, program in programs.items():
            try:
                recorded[title] = program()
            except Exception as error:
                raise RuntimeError(f"{name}: {title}") from error
        lines = ",\n".join(f"{json.dumps(title)}: {json.dumps(value)}" for title, value in recorded.items())
        (HERE / f"{name}_cases.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
