"""`torch.distributed.launch`: the earlier name of `torch.distributed.run`. The local rank is in LOCAL_RANK."""

from __future__ import annotations

import argparse
from typing import Any

from mindtorch_v2.distributed import run as _run

__all__ = ["launch", "main", "parse_args"]


def main(args: Any = None) -> None:
    """The command.

    >>> from unittest import mock
    >>> from mindtorch_v2.distributed import launch
    >>> with mock.patch("mindtorch_v2.distributed.run.run") as run:
    ...     launch.main(["--nproc-per-node=2", "train.py"])
    >>> run.call_args.args[0].training_script
    'train.py'
    """
    _run.main(args)


def parse_args(args: Any) -> argparse.Namespace:
    """Arguments as a namespace: those of `torch.distributed.run`.

    >>> from mindtorch_v2.distributed.launch import parse_args
    >>> parse_args(["--nproc-per-node=2", "train.py"]).training_script
    'train.py'
    """
    return _run.parse_args(args)


def launch(args: argparse.Namespace) -> None:
    """Start the processes that `parse_args` describes and wait for them.

    >>> from unittest import mock
    >>> from mindtorch_v2.distributed.launch import launch, parse_args
    >>> with mock.patch("mindtorch_v2.distributed.run.run") as run:
    ...     launch(parse_args(["train.py"]))
    >>> run.call_count
    1
    """
    _run.run(args)


if __name__ == "__main__":
    main()
