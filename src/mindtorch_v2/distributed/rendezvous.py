"""`torch.distributed.rendezvous`: how the processes of a job find each other, by the scheme of `init_method`."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch_v2.distributed._stores import DEFAULT_TIMEOUT, FileStore
from mindtorch_v2.distributed._tcp_store import TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

_handlers: dict = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Any]) -> None:
    """Let `rendezvous` take URLs of a new scheme.

    `handler(url, timeout=...)` is an iterator of (store, rank, world size). RuntimeError if the scheme has a handler.

    >>> def handler(url, timeout=None, **kwargs):
    ...     yield torch.distributed.HashStore(), 0, 1
    >>> torch.distributed.register_rendezvous_handler("memory", handler)
    >>> next(torch.distributed.rendezvous("memory://here"))[1:]
    (0, 1)
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, timeout: Any = DEFAULT_TIMEOUT) -> Iterator[Any]:
    """An iterator of (store, rank, world size) for a URL: `env://`, `tcp://host:port` or `file:///path`.

    Rank and world size may stand in the URL (`?rank=0&world_size=2`), or, for `env://`, in RANK and WORLD_SIZE.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store, rank, size = next(torch.distributed.rendezvous(f"file://{folder}/store?rank=0&world_size=1"))
    >>> rank, size
    (0, 1)
    """
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, int):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, int):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    parts = urllib.parse.urlparse(url)
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    query = dict(urllib.parse.parse_qsl(parts.query))
    for name, value in (("rank", rank), ("world_size", world_size)):
        if value != -1:
            if name in query:
                raise AssertionError(f"The url: {url} has node-specific arguments(rank, world_size) already.")
            query[name] = str(value)
    url = parts._replace(query=urllib.parse.urlencode(query)).geturl()
    return _handlers[parts.scheme](url, timeout=timeout)


def _query(url, scheme, *names) -> tuple:
    parts = urllib.parse.urlparse(url)
    query = dict(urllib.parse.parse_qsl(parts.query))
    for name in names:
        if name not in query:
            raise _error(scheme, f"{name.replace('_', ' ')} parameter missing")
    return parts, query


def _error(scheme, problem):
    return ValueError(f"Error initializing torch.distributed using {scheme} rendezvous: {problem}")


def _tcp(url, timeout=DEFAULT_TIMEOUT):
    parts, query = _query(url, "tcp://", "rank", "world_size")
    if not parts.port:
        raise _error("tcp://", "port number missing")
    rank, world_size = int(query["rank"]), int(query["world_size"])
    yield _tcp_store(parts.hostname, parts.port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform rerendezvous using tcp:// method")


def _file(url, timeout=DEFAULT_TIMEOUT):
    parts, query = _query(url, "file://", "rank", "world_size")
    if not parts.path:
        raise _error("file://", "path missing")
    rank, world_size = int(query["rank"]), int(query["world_size"])
    store = FileStore(parts.path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


def _environment(url, timeout=DEFAULT_TIMEOUT):
    _, query = _query(url, "env://")

    def variable(name: str) -> str:
        value = os.environ.get(name)
        if value is None:
            raise _error("env://", f"environment variable {name} expected, but not set")
        return value

    rank = int(query["rank"]) if "rank" in query else int(variable("RANK"))
    world_size = int(query["world_size"]) if "world_size" in query else int(variable("WORLD_SIZE"))
    address, port = variable("MASTER_ADDR"), int(variable("MASTER_PORT"))
    yield _tcp_store(address, port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


def _tcp_store(host, port, rank, world_size, timeout):
    # The launcher keeps the store itself, on a port that it found free.
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    is_master = rank == 0 and not agent
    return TCPStore(host, port, world_size, is_master, timeout, wait_for_workers=not agent, multi_tenant=True)


register_rendezvous_handler("tcp", _tcp)
register_rendezvous_handler("env", _environment)
register_rendezvous_handler("file", _file)
