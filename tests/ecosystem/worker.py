"""Run programs, each in a process of its own, and keep the values that they give.

    python worker.py FOLDER SECONDS PROGRAM ...

A program is a function of a module of `programs`, "vision.timm". It is called with every generator seeded, and gives values:
tensors, arrays, numbers, text, and lists and dicts of those. FOLDER/PROGRAM.json holds them, flat, or the error and where it came from.
"""

import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings

import numpy as np
import torch

MOST = 512
"""Elements of a value that are kept; the rest is in its sum and its sum of absolute values."""


def flat(value, name=""):
    """The values in a program's result, by their places in it."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from flat(each, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and not isinstance(value, torch.Size):
        for index, each in enumerate(value):
            yield from flat(each, f"{name}.{index}")
    else:
        yield name, kept(value)


def kept(value):
    """One value as JSON has it."""
    if value is None or isinstance(value, str | bool):
        return {"text": str(value)}
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        value = value.detach().to_dense() if value.layout is not torch.strided else value.detach()
        value = value.resolve_conj().resolve_neg()
        array = (value.float() if kind == "bfloat16" else value).cpu().numpy()
    else:
        array = np.asarray(value)
        kind = str(array.dtype)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    numbers = array.astype(np.float64).reshape(-1)
    sums = [float(numbers.sum()), float(np.abs(numbers).sum())]
    return {"dtype": kind, "shape": list(array.shape), "sums": sums, "values": numbers[:MOST].tolist()}


def values_of(program):
    """The values of a program, or the error that it ends in."""
    module, _, name = program.partition(".")
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    try:
        function = getattr(__import__(f"programs.{module}", fromlist=[name]), name)
        return {"values": dict(flat(function()))}
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a library may raise anything)
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error}"
        return {
            "error": text[:400],
            "place": f"{pathlib.Path(place.filename).name}:{place.name}",
            "trace": traceback.format_exc()[-6000:],
        }


def run(program, folder, seconds):
    """Run one program in a process of its own; how it ended is in its file."""
    path = folder / f"{program}.json"
    child = os.fork()
    if not child:
        signal.alarm(seconds)
        log = os.open(folder / f"{program}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        warnings.simplefilter("ignore")
        os.chdir(tempfile.mkdtemp())  # some leave logs where they run
        path.write_text(json.dumps(values_of(program)))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        path.write_text(json.dumps({"error": f"the process ended with signal {os.WTERMSIG(status)}", "place": ""}))


def main():
    """Run the programs of the command line."""
    folder, seconds, programs = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for program in programs:
        begin = time.perf_counter()
        run(program, folder, seconds)
        print(program, f"{time.perf_counter() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    main()
