"""The meaning of single options of `torch.distributed.run`."""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any

__all__ = [
    "determine_local_world_size",
    "get_rdzv_endpoint",
    "get_use_env",
    "parse_min_max_nnodes",
    "run_script_path",
]


def determine_local_world_size(nproc_per_node: str) -> int:
    """The number of processes that `--nproc_per_node` means: a number, "cpu", "gpu", or "auto", which is the one of these that is there.

    ValueError for other texts, and for "gpu" without an accelerator.

    >>> import os
    >>> from mindtorch_v2.distributed.run import determine_local_world_size
    >>> determine_local_world_size("2"), determine_local_world_size("cpu") == os.cpu_count()
    (2, True)
    """
    if nproc_per_node in ("auto", "cpu", "gpu"):
        import mindtorch_v2 as torch  # the rest of the launcher does without

        devices = 0 if nproc_per_node == "cpu" else torch.npu.device_count() if torch.npu.is_available() else 0
        if nproc_per_node == "gpu" and not devices:
            raise ValueError("--nproc_per_node=gpu: there is no accelerator")
        return devices or os.cpu_count() or 1
    try:
        return int(nproc_per_node)
    except ValueError:
        raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}") from None


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """The least and the largest number of machines that `--nnodes` means. RuntimeError for more than two numbers.

    >>> from mindtorch_v2.distributed.run import parse_min_max_nnodes
    >>> parse_min_max_nnodes("2"), parse_min_max_nnodes("1:4")
    ((2, 2), (1, 4))
    """
    numbers = [int(each) for each in str(nnodes).split(":")] if str(nnodes).count(":") < 2 else []
    if not numbers:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return numbers[0], numbers[-1]


def get_rdzv_endpoint(args: Any) -> str:
    """The place where the machines of a job meet: `--rdzv_endpoint`, or the address and port of machine 0.

    >>> from mindtorch_v2.distributed.run import get_rdzv_endpoint, parse_args
    >>> get_rdzv_endpoint(parse_args(["--master-port=29500", "train.py"]))
    '127.0.0.1:29500'
    """
    if args.rdzv_backend == "static" and not args.rdzv_endpoint:
        return f"{args.master_addr}:{args.master_port}"
    return args.rdzv_endpoint


def get_use_env(args: Any) -> bool:
    """Whether programs find their local rank in the environment rather than among their arguments.

    >>> import argparse
    >>> from mindtorch_v2.distributed.run import get_use_env
    >>> get_use_env(argparse.Namespace()), get_use_env(argparse.Namespace(use_env=False))
    (True, False)
    """
    return getattr(args, "use_env", True)


def run_script_path(training_script: str, *training_script_args: str) -> None:
    """Run a program in this process, as if Python had been started with it and these arguments.

    >>> import pathlib, sys, tempfile
    >>> from unittest import mock
    >>> from mindtorch_v2.distributed.run import run_script_path
    >>> with tempfile.TemporaryDirectory() as folder, mock.patch.object(sys, "argv", ["this"]):
    ...     path = pathlib.Path(folder, "program.py")
    ...     _ = path.write_text("import sys; print(__name__, sys.argv[1:])")
    ...     run_script_path(str(path), "--lr=0.1")
    __main__ ['--lr=0.1']
    """
    sys.argv = [training_script, *training_script_args]
    runpy.run_path(training_script, run_name="__main__")
