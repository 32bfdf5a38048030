"""A model that is called with another length each time: eager and compiled, this package and the installed PyTorch.

    python benchmarks/sizes.py                    BERT of 4 layers, a training step with each of 24 lengths
    python benchmarks/sizes.py --task infer --calls 40

Each way is a process of its own; calls take turns. Printed are the processor time of the first call, of the next seven together (in
which graphs are made), and the median of a call after these; what a compiler's other processes take is among it.
"""

import argparse
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turns import serve, take_turns

FIRST = 8  # calls in which graphs are made
WAYS = {f"{name}, {way}": (name, way) for name in ("torch", "mindtorch_v2") for way in ("eager", "compiled")}


def main() -> int:
    """Measure and print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--task", choices=("train", "infer"), default="train")
    parser.add_argument("--calls", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--serve", nargs=2, metavar=("LIBRARY", "WAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        library, way = options.serve
        return serve(lambda: _prepared(library, way, options))
    shared = [f"--task={options.task}", f"--threads={options.threads}"]
    commands = {name: [sys.executable, str(Path(__file__)), *shared, "--serve", *which] for name, which in WAYS.items()}
    found = take_turns(commands, options.calls)
    print(f"{'':26} {'first call':>12} {'next seven':>12} {'a call then':>12}   (ms of processor time)")
    for name, times in found.items():
        first, then, later = times[0], sum(times[1:FIRST]), statistics.median(times[FIRST:])
        print(f"{name:26} {first * 1e3:12.0f} {then * 1e3:12.0f} {later * 1e3:12.1f}")
    return 0


def _processor_time() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _prepared(library: str, way: str, options: argparse.Namespace) -> Callable[[], float]:
    if library == "mindtorch_v2":
        import mindtorch_v2

        mindtorch_v2.as_torch()
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    sizes = {"num_hidden_layers": 4, "hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 4}
    model = BertModel(BertConfig(vocab_size=1000, **sizes), add_pooling_layer=False).train(options.task == "train")
    run: Any = torch.compile(model) if way == "compiled" else model
    lengths = random.Random(0)

    def measure() -> float:
        words = torch.randint(0, 1000, (4, lengths.randrange(16, 128)))
        start = _processor_time()
        if options.task == "train":
            run(input_ids=words).last_hidden_state.square().mean().backward()
        else:
            with torch.no_grad():
                run(input_ids=words)
        return _processor_time() - start

    return measure


if __name__ == "__main__":
    sys.exit(main())
