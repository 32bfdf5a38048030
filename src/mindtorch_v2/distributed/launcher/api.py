"""Start a function, or a command, in several processes, each with its rank: `torchrun` for programs that are under way already."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from mindtorch_v2.distributed import run
from mindtorch_v2.distributed.elastic.multiprocessing.errors import ChildFailedError, record
from mindtorch_v2.multiprocessing import get_context

__all__ = ["ChildFailedError", "LaunchConfig", "elastic_launch"]


@dataclasses.dataclass
class LaunchConfig:
    """Options of `elastic_launch`, as those of `torchrun`.

    Args:
        min_nodes, max_nodes: how many machines.
        nproc_per_node: how many processes on each.
        run_id: a name for the job.
        rdzv_backend: "static", with the machine's number as `rdzv_configs["rank"]`, or "c10d".
        rdzv_endpoint: "host:port"; for one machine "localhost:0" is any free port.
        rdzv_configs: as `--rdzv_conf`. rdzv_timeout: seconds in which the machines have to come.
        max_restarts: how often processes that failed are started again, with all others.
        monitor_interval: seconds between looks at other machines.
        start_method: how functions' processes are made: "spawn", "fork" or "forkserver".
        local_addr: this machine's address.
        logs_specs, log_line_prefix_template, metrics_cfg, event_log_handler, signals_to_handle: accepted as in PyTorch.

    >>> from mindtorch_v2.distributed.launcher.api import LaunchConfig
    >>> config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2)
    >>> config.nproc_per_node, config.max_restarts
    (2, 3)
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = dataclasses.field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = dataclasses.field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"

    def arguments(self) -> list[str]:
        """The options of `torchrun` that say the same; NotImplementedError for a rendezvous that is not there."""
        if self.rdzv_backend not in ("static", "c10d"):
            raise NotImplementedError(
                f'LaunchConfig: rdzv_backend="{self.rdzv_backend}" is not implemented in mindtorch_v2; "c10d" and "static" are'
            )
        configs = dict(self.rdzv_configs)
        if self.rdzv_timeout >= 0:
            configs["join_timeout"] = self.rdzv_timeout
        rank = configs.pop("rank", None)
        made = [
            f"--nnodes={self.min_nodes}:{self.max_nodes}",
            f"--nproc_per_node={self.nproc_per_node}",
            f"--rdzv_id={self.run_id or 'none'}",
            f"--rdzv_backend={self.rdzv_backend}",
            f"--rdzv_endpoint={self.rdzv_endpoint}",
            f"--rdzv_conf={','.join(f'{key}={value}' for key, value in configs.items())}",
            f"--role={self.role}",
            f"--max_restarts={self.max_restarts}",
            f"--monitor_interval={self.monitor_interval}",
        ]
        if self.rdzv_backend == "static" and rank is not None:
            made.append(f"--node_rank={rank}")
        if self.local_addr is not None:
            made.append(f"--local_addr={self.local_addr}")
        return made


class elastic_launch:
    """Run a function or a command in several processes: `elastic_launch(config, function)(*args)`.

    Args:
        config: a `LaunchConfig`.
        entrypoint: the function, which finds its rank in the environment (RANK, WORLD_SIZE, ...); or a command.

    The call returns {rank: what the function returned}, of this machine's ranks; None each of a command.

    Raises:
        ChildFailedError: a process failed, more often than `max_restarts` allows.

    ```text
    config = LaunchConfig(1, 1, nproc_per_node=2, rdzv_backend="c10d", rdzv_endpoint="localhost:0")
    losses = elastic_launch(config, train)(epochs)       # {0: ..., 1: ...}
    ```
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        self._config, self._entrypoint = config, entrypoint or sys.executable

    def __call__(self, *args: Any) -> dict[int, Any]:
        entrypoint, options = self._entrypoint, self._config.arguments()
        if isinstance(entrypoint, str):
            ranks: list[int] = []
            run.run(run.parse_args([*options, "--no_python", entrypoint, *map(str, args)]), _noting(ranks))
            return dict.fromkeys(ranks)
        name = getattr(entrypoint, "__qualname__", type(entrypoint).__name__)
        with tempfile.TemporaryDirectory(prefix="torch_launch_") as place:
            context = get_context(self._config.start_method)

            def start(command: list[str], environment: dict[str, str], out: Any, err: Any) -> Any:
                path = os.path.join(place, environment["RANK"])
                return _FunctionProcess(
                    context.Process(target=_call, args=(entrypoint, args, environment, path))  # type: ignore[attr-defined]  # (every context has it)
                )

            run.run(run.parse_args([*options, name]), start)
            found = {}
            for rank in sorted(map(int, os.listdir(place))):
                with open(os.path.join(place, str(rank)), "rb") as file:
                    found[rank] = pickle.load(file)  # which our own processes wrote
            return found


def _noting(ranks: list[int]) -> Callable[..., Any]:
    """Start commands as `torchrun` does, and note their ranks."""

    def start(command: list[str], environment: dict[str, str], out: Any, err: Any) -> Any:
        rank = int(environment["RANK"])
        if rank not in ranks:
            ranks.append(rank)
        return run.start_command(command, environment, out, err)

    return start


def _call(function: Callable[..., Any], args: tuple[Any, ...], environment: dict[str, str], path: str) -> None:
    """The body of a process."""
    os.environ.clear()
    os.environ.update(environment)
    result = record(function)(*args)
    with open(path, "wb") as file:
        pickle.dump(result, file)


class _FunctionProcess:
    """A process of `multiprocessing` with the methods of a `subprocess.Popen`."""

    def __init__(self, process: Any) -> None:
        self._process = process
        process.start()
        self.pid: int = process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self._process), timeout or 0)
        return self._process.exitcode

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()
