"""Options of commands whose defaults stand in the environment, as PET_<NAME>."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

__all__ = ["check_env", "env"]


class env(argparse.Action):
    """An option that is else what the variable PET_<NAME> says, and else `default`; it is not required where that is set.

    >>> import argparse, os
    >>> from unittest import mock
    >>> from mindtorch_v2.distributed.argparse_util import env
    >>> parser = argparse.ArgumentParser()
    >>> with mock.patch.dict(os.environ, {"PET_NODES": "4"}):
    ...     _ = parser.add_argument("--nodes", action=env, type=int, default=1)
    >>> parser.parse_args([]), parser.parse_args(["--nodes=2"])
    (Namespace(nodes=4), Namespace(nodes=2))
    """

    def __init__(self, dest: str, default: Any = None, required: bool = False, **kwargs: Any) -> None:
        default = os.environ.get(f"PET_{dest.upper()}", default)
        super().__init__(dest=dest, default=default, required=required and not default, **kwargs)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, values)


class check_env(argparse.Action):
    """A flag that is else whether the variable PET_<NAME> is a number other than 0, and else `default`.

    >>> import argparse, os
    >>> from unittest import mock
    >>> from mindtorch_v2.distributed.argparse_util import check_env
    >>> parser = argparse.ArgumentParser()
    >>> with mock.patch.dict(os.environ, {"PET_VERBOSE": "1"}):
    ...     _ = parser.add_argument("--verbose", action=check_env)
    >>> parser.parse_args([])
    Namespace(verbose=True)
    """

    def __init__(self, dest: str, default: bool = False, **kwargs: Any) -> None:
        given = os.environ.get(f"PET_{dest.upper()}")
        super().__init__(
            dest=dest, const=True, default=default if given is None else bool(int(given)), nargs=0, **kwargs
        )

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, self.const)
