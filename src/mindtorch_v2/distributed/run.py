"""Start a program in several processes, each with its rank in the environment: what `torchrun` does.

    python -m mindtorch_v2.distributed.run --nproc_per_node=2 script.py arguments...
    python -m mindtorch_v2.distributed.run --nproc_per_node=2 -m module arguments...

In the program `import torch` finds this package. `torch.distributed.init_process_group("gloo")` needs no more arguments: RANK,
WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT are set. If one process fails, the others are ended, and so does this command.
On several machines: the same command on each, with --nnodes, --node_rank, --master_addr and --master_port; or with
--nnodes=1:4 --rdzv_backend=c10d --rdzv_endpoint=host:port: then machines may come and go, and a failure anywhere starts all again.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import multiprocessing.connection
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import uuid
from collections.abc import Callable
from typing import Any

from mindtorch_v2._as_torch import is_torch
from mindtorch_v2.distributed._elastic import ElasticJob, Interrupted, Settings
from mindtorch_v2.distributed._run_options import (
    determine_local_world_size,
    get_rdzv_endpoint,
    get_use_env,
    parse_min_max_nnodes,
    run_script_path,
)
from mindtorch_v2.distributed._store_messages import TOKEN_VARIABLE
from mindtorch_v2.distributed._tcp_store import TCPStore
from mindtorch_v2.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

__all__ = [
    "determine_local_world_size",
    "get_args_parser",
    "get_rdzv_endpoint",
    "get_use_env",
    "main",
    "parse_args",
    "parse_min_max_nnodes",
    "run",
    "run_script_path",
]

_GRACE = 10  # seconds between asking the others to end and making them


def get_args_parser() -> argparse.ArgumentParser:
    """The options, as an `argparse.ArgumentParser`. Those of PyTorch's that change nothing here are accepted.

    >>> from mindtorch_v2.distributed.run import get_args_parser
    >>> get_args_parser().parse_args(["--nproc-per-node=2", "train.py", "--lr=0.1"]).training_script_args
    ['--lr=0.1']
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])

    def option(name: str, *others: str, **kinds: Any) -> None:
        dashes = name.replace("_", "-")
        parser.add_argument(f"--{dashes}", *([f"--{name}"] if dashes != name else []), *others, **kinds)

    option("nnodes", default="1", help="how many machines, or least:most")
    option("nproc_per_node", default="1", help='processes on each: a number, "auto", "cpu" or "gpu"')
    option("node_rank", type=int, default=None, help="which machine this is; 0 unless it is given")
    option("master_addr", default="127.0.0.1", help="the address of machine 0")
    option("master_port", type=int, default=0, help="a port of machine 0; a free one if there is one machine only")
    option("standalone", action="store_true", help="one machine, any free port")
    option("max_restarts", type=int, default=0, help="how often all processes are started anew if one fails")
    option("monitor_interval", type=float, default=0.1)
    option("rdzv_endpoint", default="", help="host:port instead of --master_addr and --master_port")
    option("rdzv_id", default="none", help="a name for the job")
    option("rdzv_backend", default="static")
    option("rdzv_conf", default="")
    option("role", default="default")
    option("start_method", default="spawn")
    option("local_addr", default=None)
    option("log_dir", default=None, help="a directory for what the processes print, with --redirects")
    option("redirects", "-r", default="0", help="3: the processes' output goes to files in --log_dir")
    option("tee", "-t", default="0")
    option("module", "-m", action="store_true", help="the program is a module")
    option("no_python", action="store_true", help="the program is a command")
    option("run_path", action="store_true")
    option("use_env", action="store_true")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Any) -> argparse.Namespace:
    """Arguments as a namespace.

    >>> from mindtorch_v2.distributed.run import parse_args
    >>> args = parse_args(["--standalone", "--nproc-per-node=2", "train.py"])
    >>> args.nproc_per_node, args.training_script
    ('2', 'train.py')
    """
    return get_args_parser().parse_args(args)


def _command(args) -> list:
    if args.no_python:
        return [args.training_script, *args.training_script_args]
    module = ["-m"] if args.module else []
    return [sys.executable, "-u", "-m", "mindtorch_v2", *module, args.training_script, *args.training_script_args]


def start_command(command: list[str], environment: dict[str, str], out: Any, err: Any) -> Any:
    """Start a process, whose output goes to files or, for None, to this one's."""
    return subprocess.Popen(command, env=environment, stdout=out, stderr=err)


def run(args: Any, start: Callable[..., Any] = start_command) -> None:
    """Start the processes that `parse_args` describes and wait for them. ChildFailedError if one fails.

    Args:
        args: the options.
        start: makes a process of (command, environment, stdout, stderr): a `subprocess.Popen`, or something like one.
    """
    (least, nodes), local = parse_min_max_nnodes(args.nnodes), determine_local_world_size(str(args.nproc_per_node))
    address, port = args.master_addr, int(args.master_port)  # launchers of others set it to a text
    if args.rdzv_endpoint:
        endpoint = urllib.parse.urlsplit(f"//{args.rdzv_endpoint}")
        address, port = endpoint.hostname, endpoint.port or port
    if args.standalone:
        address, port = "127.0.0.1", 0
    if nodes > 1 and not port:
        raise ValueError("several machines need --master_port (or --rdzv_endpoint)")
    if nodes > 1 and args.node_rank is None and (args.rdzv_backend != "static" or least != nodes):
        settings = Settings((address, port), least, nodes, args.rdzv_conf, args.max_restarts)
        _run_elastic(args, settings, local, start)
        return
    if least != nodes:
        raise ValueError(f"--nnodes={args.nnodes}: where the number of machines changes, --node_rank cannot be given")
    node = args.node_rank or 0
    if not 0 <= node < nodes:
        raise ValueError(f"--node_rank={node} is not one of the {nodes} machines of --nnodes")
    if nodes == 1:
        # Nobody else on this machine is to join the job, or to read what its processes tell each other.
        os.environ.setdefault(TOKEN_VARIABLE, secrets.token_hex(16))
    for attempt in range(args.max_restarts + 1):
        # A new store each time: the keys of processes that failed are of no use to those that follow.
        store = TCPStore(address, port, is_master=True, wait_for_workers=False) if node == 0 else None
        environment = _environment(args, local, (node, nodes), (address, store.port if store else port), attempt)
        try:
            _run_once(args, environment, local, first=node * local, start=start)
            return
        except ChildFailedError:
            if attempt == args.max_restarts:
                raise
        finally:
            if store is not None:
                store.close()


def _run_elastic(args, settings, local, start_process) -> None:
    """Machines that number themselves, and may come and go."""
    job = ElasticJob(settings, args.rdzv_id, args.local_addr)

    def start(current: Any, over: Callable[[], bool]) -> None:
        store = TCPStore(current.address, 0, is_master=True, wait_for_workers=False) if current.node == 0 else None
        try:
            place = current.address, job.share_port(current, store.port if store else None)
            environment = _environment(args, local, (current.node, current.nodes), place, current.number)
            _run_once(args, environment, local, current.node * local, start_process, over)
        finally:
            if store is not None:
                store.close()

    try:
        job.run(start)
    finally:
        job.close()


def _environment(args, local, machine, place, attempt) -> dict[str, str]:
    """Environment of the processes of this machine: `machine` is (which, of how many), `place` the address and port of their store."""
    node, nodes = machine
    environment = {
        **os.environ,
        "GROUP_RANK": str(node),
        "GROUP_WORLD_SIZE": str(nodes),
        "LOCAL_WORLD_SIZE": str(local),
        "MASTER_ADDR": place[0],
        "MASTER_PORT": str(place[1]),
        "ROLE_NAME": args.role,
        "ROLE_WORLD_SIZE": str(nodes * local),
        "TORCHELASTIC_MAX_RESTARTS": str(args.max_restarts),
        "TORCHELASTIC_RESTART_COUNT": str(attempt),
        "TORCHELASTIC_RUN_ID": uuid.uuid4().hex if args.rdzv_id == "none" else args.rdzv_id,
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "WORLD_SIZE": str(nodes * local),
    }
    if args.no_python:
        environment["MINDTORCH_AS_TORCH"] = "1"
    if local > 1:
        environment.setdefault("OMP_NUM_THREADS", "1")
    return environment


def _run_once(args, environment, local, first, start, over=None):
    with tempfile.TemporaryDirectory(prefix="torch_run_") as place, contextlib.ExitStack() as ends:
        processes: list[Any] = []
        ends.callback(_end, processes)
        before = signal.signal(signal.SIGTERM, _terminated)
        ends.callback(signal.signal, signal.SIGTERM, before)
        for number in range(local):
            own = {
                "LOCAL_RANK": str(number),
                "RANK": str(first + number),
                "ROLE_RANK": str(first + number),
                "TORCHELASTIC_ERROR_FILE": f"{place}/{number}.json",
            }
            out, err = _files(args, ends, number)
            processes.append(start(_command(args), {**environment, **own}, out, err))
        _watch(args.training_script, processes, first, place, over, args.monitor_interval)


def _watch(name, processes, first, place, over, interval):
    """Wait for all processes. ChildFailedError when one has failed; those that failed because of it may be named too.

    Interrupted when `over()`, which is asked every `interval` seconds.
    """
    running: dict[int, Any] = {os.pidfd_open(process.pid): process for process in processes}
    try:
        while running:
            ended: Any  # one of the file descriptors
            for ended in multiprocessing.connection.wait(list(running), None if over is None else interval):
                os.close(ended)
                running.pop(ended).wait()
            failures = {
                first + number: ProcessFailure(number, process.pid, process.returncode, f"{place}/{number}.json")
                for number, process in enumerate(processes)
                if process.poll()
            }
            if failures:
                # The others may hold what all share, such as the lock of a queue: they are not ended in the same instant.
                time.sleep(interval)
                raise ChildFailedError(name, failures)
            if over is not None and over():
                raise Interrupted
    finally:
        for descriptor in running:
            os.close(descriptor)


def _files(args, ends, number):
    """Where a process' output goes: None is this process' own."""
    if args.redirects == "0" or args.log_dir is None:
        return None, None
    directory = os.path.join(args.log_dir, str(number))
    os.makedirs(directory, exist_ok=True)
    wanted = {"1": ("stdout",), "2": ("stderr",), "3": ("stdout", "stderr")}.get(args.redirects, ())
    return [
        ends.enter_context(open(os.path.join(directory, f"{name}.log"), "w")) if name in wanted else None
        for name in ("stdout", "stderr")
    ]


def _terminated(number, frame):
    raise SystemExit(128 + number)


def _end(processes) -> None:
    """End what still runs."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + _GRACE
    for process in processes:
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main(args: Any = None) -> None:
    """The command; ends the process with status 1 if a launched one failed.

    >>> from unittest import mock
    >>> from mindtorch_v2.distributed.run import main
    >>> with mock.patch("mindtorch_v2.distributed.run.run") as run:
    ...     main(["--nproc-per-node=2", "train.py"])
    >>> run.call_args.args[0].nproc_per_node
    '2'
    """
    try:
        run(parse_args(args))
    except ChildFailedError as error:
        print(error, file=sys.stderr)
        sys.exit(1)


def torchrun() -> None:
    """The console script `torchrun`: PyTorch's where that is installed as well, which is not shadowed; this one elsewhere."""
    if not is_torch() and importlib.util.find_spec("torch") is not None:
        sys.exit(subprocess.call([sys.executable, "-m", "torch.distributed.run", *sys.argv[1:]]))
    main()


if __name__ == "__main__":
    main()
