"""`torch.distributed.launch`: the earlier name of `torch.distributed.run`. The local rank is in LOCAL_RANK."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.distributed import run as _run

__all__ = ["main"]


def main(args: Any = None) -> None:
    """The command."""
    _run.main(args)


if __name__ == "__main__":
    main()
