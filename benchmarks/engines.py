"""Compiled inference beside the engines that people run models with on a CPU: OpenVINO and ONNX Runtime.

    python benchmarks/engines.py                  every model of cases/inference.py, one thread
    python benchmarks/engines.py --match BERT --threads 2 --clock wall
    python benchmarks/engines.py --dtype bfloat16

Each engine is a process of its own; rounds take turns, and the medians count. The models reach the engines by
`torch.onnx.export` of this package, so that PyTorch is not needed. Needs transformers, onnxscript, onnxruntime, openvino; an
engine that is not installed is left out, and said to be.
"""

import argparse
import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turns import serve, take_turns

HERE = Path(__file__).parent
ENGINES = {"eager": "mindtorch_v2", "compiled": "mindtorch_v2", "OpenVINO": "openvino", "ONNX Runtime": "onnxruntime"}


def main() -> int:
    """Measure and print one line a model."""
    sys.path.insert(0, str(HERE))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--match", default="", help="only models whose name contains this")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--clock", choices=("cpu", "wall"), default="cpu", help="processor time (default) or the wall's"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--dtype", choices=("float32", "bfloat16"), default="float32", help="bfloat16: without ONNX Runtime"
    )
    parser.add_argument("--serve", nargs=2, metavar=("ENGINE", "MODEL"), help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        engine, model = options.serve
        return _serve(engine, model, options)
    wanted = [engine for engine in ENGINES if options.dtype == "float32" or engine != "ONNX Runtime"]
    there = [engine for engine in wanted if importlib.util.find_spec(ENGINES[engine])]
    if missing := [engine for engine in wanted if engine not in there]:
        print(f"not installed: {', '.join(missing)}")
    import mindtorch_v2

    mindtorch_v2.as_torch()
    from cases.inference import MODELS

    print(f"| model, ms ({options.threads} thread(s), {options.clock}) | {' | '.join(there)} |")
    print("|---|" + "--:|" * len(there), flush=True)
    for model in MODELS:
        if options.match in model:
            cells = _measured(model, there, options)
            print(f"| {model} | {' | '.join(cells)} |", flush=True)
    return 0


def _measured(model: str, engines: list[str], options: argparse.Namespace) -> list[str]:
    """The medians of the engines, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--threads", str(options.threads), "--clock", options.clock]
        command += ["--dtype", options.dtype, "--file", str(Path(folder) / "model.onnx")]
        found = take_turns({engine: [*command, "--serve", engine, model] for engine in engines}, options.rounds)
    return [f"{1e3 * statistics.median(times):.1f}" if times else "failed" for times in found.values()]


def _serve(engine: str, model: str, options: argparse.Namespace) -> int:
    """One engine with one model: a time for each line that comes."""
    clock = time.process_time if options.clock == "cpu" else time.perf_counter

    def prepare() -> Callable[[], float]:
        call = _engine(engine, model, options)
        call()

        def measure() -> float:
            start = clock()
            call()
            return clock() - start

        return measure

    return serve(prepare)


def _engine(engine: str, model: str, options: argparse.Namespace) -> Callable[[], Any]:
    if engine in ("eager", "compiled") or not Path(options.file).exists():
        import mindtorch_v2

        mindtorch_v2.as_torch()
        import torch
        from cases.inference import made, runner

        torch.set_num_threads(options.threads)
        module, inputs = made(torch, model)
        if options.dtype == "bfloat16" and engine in ("eager", "compiled"):
            module = module.bfloat16()
            inputs = {
                name: value.bfloat16() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
                for name, value in inputs.items()
            }
        if engine == "eager":
            return runner(torch, module, inputs, 1)
        if engine == "compiled":
            return runner(torch, torch.compile(module), inputs, 20)
        _export(torch, module, inputs, options.file)
    return _session(engine, options)


def _export(torch: Any, module: Any, inputs: dict[str, Any], path: str) -> None:
    """The ONNX file, with the inputs' values beside it."""
    import numpy

    tensors = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    fixed = {name: value for name, value in inputs.items() if name not in tensors}

    class First(torch.nn.Module):
        """The model with its tensors by position, and the first of its results."""

        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *values: Any) -> Any:
            made = self.module(**dict(zip(tensors, values)), **fixed)
            return made if isinstance(made, torch.Tensor) else made[0]

    with torch.no_grad():
        torch.onnx.export(First().eval(), tuple(tensors.values()), path, dynamo=True, input_names=list(tensors))
    numpy.savez(f"{path}.npz", **{name: value.numpy() for name, value in tensors.items()})


def _session(engine: str, options: argparse.Namespace) -> Callable[[], Any]:
    import numpy

    with numpy.load(f"{options.file}.npz") as stored:
        values = dict(stored)
    if engine == "OpenVINO":
        import openvino

        core = openvino.Core()
        settings = {
            "INFERENCE_NUM_THREADS": options.threads,
            "INFERENCE_PRECISION_HINT": "f32" if options.dtype == "float32" else "bf16",
        }
        request = core.compile_model(core.read_model(options.file), "CPU", settings).create_infer_request()
        given = list(values.values())
        return lambda: request.infer(given)
    import onnxruntime

    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(options.file, chosen, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, values)


if __name__ == "__main__":
    sys.exit(main())
