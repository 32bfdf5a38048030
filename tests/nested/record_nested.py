"""Writes `nested_cases.json`: what PyTorch 2.13 answers to `nested_cases.py`. Run where it is installed."""

import json
import warnings
from pathlib import Path

import nested_cases  # of this folder
import torch

warnings.simplefilter("ignore")
recorded = {"cases": {name: program(torch) for name, program in nested_cases.CASES.items()}, "refused": {}}
for name, program in nested_cases.REFUSED.items():
    try:
        program(torch)
    except (RuntimeError, TypeError, ValueError) as error:
        recorded["refused"][name] = [type(error).__name__, str(error)]
lines = (
    f"{json.dumps(part)}: {{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}"
    for part, found in recorded.items()
)
Path(__file__).with_name("nested_cases.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
