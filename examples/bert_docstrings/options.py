"""The command line of train.py: each wrong value is refused in one sentence that says what was expected."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import torch
from sizes import SIZES


def read(description: str) -> argparse.Namespace:
    """The options. A wrong one ends the program with status 2."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("sentences", nargs="*", help="sentences to classify after training")
    parser.add_argument("--data", nargs=2, type=Path, metavar=("TRAIN.csv", "TEST.csv"), help="columns text, label")
    parser.add_argument("--size", choices=SIZES, default="tiny", help="default: tiny")
    parser.add_argument("--device", type=_device, default=torch.device("cpu"), help="default: cpu")
    parser.add_argument("--epochs", type=_above_zero(int), help="default: by size")
    parser.add_argument("--batch-size", type=_above_zero(int), default=32, help="default: 32")
    parser.add_argument("--learning-rate", type=_above_zero(float), help="the peak; default: by size")
    parser.add_argument("--seed", type=int, default=0, help="decides split, weights, order and dropout; default: 0")
    parser.add_argument("--out", type=Path, default=Path("out/bert_docstrings"), help="default: out/bert_docstrings")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out, if there is one")
    parser.add_argument("--checkpoint-seconds", type=float, default=60, help="besides every epoch's end; default: 60")
    options = parser.parse_args()
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {options.out}: a folder is expected that can be made or is there: {error.strerror}")
    return options


def _above_zero(kind: type) -> Callable[[str], float]:
    what = "a whole number" if kind is int else "a number"

    def read_number(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"expected {what} above 0, got {text!r}") from None
        if not (value > 0 and math.isfinite(value)):
            raise argparse.ArgumentTypeError(f"expected {what} above 0, got {text}")
        return value

    return read_number


def _device(text: str) -> torch.device:
    """A device that is there: one number is put on it."""
    try:
        device = torch.device(text)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        said = str(error).strip().splitlines()
        raise argparse.ArgumentTypeError(f"{text!r} cannot be used here: {said[0] if said else error!r}") from None
    if device.type == "meta":
        raise argparse.ArgumentTypeError("'meta' holds no numbers to train with")
    return device
