"""`torch.distributed.launch`: the earlier name of `torch.distributed.run`. The local rank is in LOCAL_RANK."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.distributed import run as _run

__all__ = ["main"]


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


if __name__ == "__main__":
    main()
