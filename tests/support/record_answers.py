"""Write what PyTorch answers to the programs of a file. Run where PyTorch 2.13 is installed:

    python tests/support/record_answers.py tests/masked/masked_cases.py

The file has `CASES` and `REFUSED`: name -> a program of `torch`. Their answers, and the classes and texts of the errors, go to
the JSON file of the same name beside it.
"""

import importlib
import json
import sys
import warnings
from pathlib import Path

import torch

warnings.simplefilter("ignore")
path = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(path.parent))
cases = importlib.import_module(path.stem)
recorded: dict[str, dict] = {"cases": {name: program(torch) for name, program in cases.CASES.items()}, "refused": {}}
for name, program in cases.REFUSED.items():
    try:
        program(torch)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        recorded["refused"][name] = [type(error).__name__, str(error)]
lines = (
    f"{json.dumps(part)}: {{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}"
    for part, found in recorded.items()
)
path.with_suffix(".json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
