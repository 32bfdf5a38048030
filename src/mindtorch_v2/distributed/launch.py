"""`torch.distributed.launch`: the earlier name of `torch.distributed.run`. The local rank is in LOCAL_RANK."""

import sys

from mindtorch_v2.distributed import run as _run

__all__ = ["main"]


def main(args=None):
    """The command."""
    _run.main(args)


if __name__ == "__main__":
    sys.exit(main())
