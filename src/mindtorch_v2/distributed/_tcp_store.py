"""`TCPStore`: one process holds the keys, the others ask it over a socket."""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import Any

from mindtorch_v2.distributed import _store_messages as messages
from mindtorch_v2.distributed._errors import DistNetworkError, DistStoreError
from mindtorch_v2.distributed._store_server import ERROR, FALSE, NOTHING, TRUE, Server
from mindtorch_v2.distributed._stores import DEFAULT_TIMEOUT, Store, seconds_of

__all__ = ["TCPStore"]

_GRACE = 10  # seconds by which an answer of the server may be late
_GREETING_SECONDS = 10.0  # that whatever is connected to may take to show that it is a store


def receive_exactly(connection: socket.socket, count: int) -> bytes:
    """So many bytes from a socket; DistNetworkError if it ends before."""
    parts = bytearray()
    while len(parts) < count:
        piece = connection.recv(min(count - len(parts), 1 << 20))
        if not piece:
            raise DistNetworkError(
                f"Failed to recv, got {len(parts)} bytes. Connection was likely closed. "
                "Did the remote server shutdown or crash?"
            )
        parts += piece
    return bytes(parts)


def _receive(connection: socket.socket) -> list[bytes]:
    (size,) = messages.LENGTH.unpack(receive_exactly(connection, messages.LENGTH.size))
    if size > messages.LARGEST_MESSAGE:
        raise DistNetworkError("what came is no message of a TCPStore")
    return messages.unpack(receive_exactly(connection, size))


class TCPStore(Store):
    """A store that one process serves to all others.

    Args:
        host_name: where the server is, or will be.
        port: its port; 0 with `is_master` takes a free one (the attribute `port`).
        world_size: how many processes will connect; None if that is not known.
        is_master: whether this process is the server.
        timeout: how long to wait for the server, and in `get` and `wait`: a `datetime.timedelta`.
        wait_for_workers: whether the server waits, when it is made, until all processes have connected.
        multi_tenant: whether a second server of this process on the same port uses the first one.
        master_listen_fd: a socket that listens already, for the server.

    The server listens at `host_name` only, where that is an address of this machine, and serves those who know the
    secret in the environment variable MINDTORCH_JOB_TOKEN, which `torchrun` makes for its processes; several machines
    need the same. Values are at most 8 MiB.

    Raises `DistNetworkError` if the server cannot be reached in time, is gone, or is another job's.

    ```python
    import mindtorch_v2 as torch

    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True)
    store.set("first", "1")
    print(store.get("first"))  # b'1'
    ```

    >>> server = torch.distributed.TCPStore("127.0.0.1", 0, world_size=2, is_master=True, wait_for_workers=False)
    >>> client = torch.distributed.TCPStore("127.0.0.1", server.port, world_size=2)
    >>> client.set("first", "1")
    >>> server.get("first")
    b'1'
    """

    _servers: dict = {}  # port -> server, of those that may be shared
    _connection: Any = None
    _server: Any = None
    _pid: int | None = None

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: Any = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self.set_timeout(timeout)
        self._host, self._port, self._world_size = host_name, port, world_size
        self._lock = threading.Lock()
        self._pid = os.getpid()
        try:
            if is_master:
                self._serve(multi_tenant, master_listen_fd)
            self._connection = self._connect()
            if wait_for_workers:
                joined = self.add("init/", 1)
                if is_master and world_size:
                    self._wait_for_workers(joined)
        except BaseException:
            self.close()
            raise

    def _serve(self, multi_tenant, listen_fd) -> None:
        self._server = self._servers.get(self._port) if multi_tenant else None
        if self._server is None:
            try:
                self._server = Server(self._host, self._port, listen_fd, messages.job_token())
            except OSError as error:
                raise DistNetworkError(
                    "The server socket has failed to listen on any local network address. "
                    f"port: {self._port}, error: {error}"
                ) from None
            if multi_tenant:
                self._servers[self._server.port] = self._server
        self._port = self._server.port

    def _connect(self):
        seconds = self._timeout.total_seconds()
        deadline = time.monotonic() + seconds
        while True:
            left = max(0.01, deadline - time.monotonic())
            try:
                made = socket.create_connection((self._host, self._port), left)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise DistNetworkError(
                        f"The client socket has timed out after {round(seconds * 1000)}ms while trying to connect to "
                        f"({self._host}, {self._port})."
                    ) from None
                time.sleep(0.05)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            made.settimeout(max(_GREETING_SECONDS, deadline - time.monotonic()))
            self._greet(made)
        except BaseException:
            made.close()
            raise
        return made

    def _greet(self, connection) -> None:
        """Prove to the server that this process is of the job, and let it prove the same."""
        token, place = messages.job_token(), f"({self._host}, {self._port})"
        try:
            proven = messages.proof(token, receive_exactly(connection, messages.CHALLENGE_SIZE))
            connection.sendall(proven)
            judged = receive_exactly(connection, messages.VERDICT_SIZE)
        except (OSError, DistNetworkError) as error:
            raise DistNetworkError(f"no store answers at {place}: {error}") from None
        if not messages.is_accepted(token, proven, judged):
            raise DistNetworkError(
                f"the store at {place} belongs to another job: the environment variable {messages.TOKEN_VARIABLE}, which "
                f"is {'set' if token else 'not set'} here, must be the same in all processes of a job"
            )

    def _wait_for_workers(self, joined) -> None:
        deadline = time.monotonic() + self._timeout.total_seconds()
        while joined < self._world_size:
            if time.monotonic() > deadline:
                raise DistStoreError(
                    f"Timed out after {round(self._timeout.total_seconds()) + 1} seconds waiting for clients. "
                    f"{joined}/{self._world_size} clients joined."
                )
            time.sleep(0.01)
            joined = int(self._call("get", "init/"))

    @property
    def host(self) -> str:
        """Where the server is."""
        return self._host

    @property
    def port(self) -> int:
        """The server's port."""
        return self._port

    @property
    def libuvBackend(self) -> bool:  # PyTorch's name
        """Whether the server runs on libuv: no."""
        return False

    def local_address(self) -> str:
        """The address of this process as the server sees it."""
        return self._connection.getsockname()[0].removeprefix("::ffff:")

    def clone(self) -> TCPStore:
        """Another connection to the same server, so that one thread's waiting does not hold up another's."""
        return TCPStore(self._host, self._port, self._world_size, False, self._timeout, wait_for_workers=False)

    def close(self) -> None:
        """Close the connection, and the server if it is this one's."""
        if self._connection is not None:
            self._connection.close()
        if self._server is not None and self._servers.get(self._port) is not self._server:
            self._server.close()

    def __del__(self) -> None:
        if self._pid == os.getpid():
            self.close()

    def __repr__(self) -> str:
        role = "server" if self._server else "client"
        return f"TCPStore({role} of {self._host}:{self._port})"

    def _timed_out(self, keys, timeout):
        milliseconds = round(timeout.total_seconds() * 1000)
        return DistStoreError(f"wait timeout after {milliseconds}ms, keys: {', '.join('/' + key for key in keys)}")

    def _wait(self, keys, timeout) -> None:
        seconds = seconds_of(timeout)
        if not self._ask(seconds, "wait", repr(seconds), *keys):
            raise self._timed_out(keys, timeout)

    def _call(self, operation, *arguments):
        return self._ask(self._timeout.total_seconds(), operation, *arguments)

    def _ask(self, seconds, *fields):
        # Before the connection is touched: what is too large is refused, and the store goes on.
        asked = messages.pack(field.encode() if isinstance(field, str) else field for field in fields)
        with self._lock:
            try:
                self._connection.settimeout(min(seconds + _GRACE, threading.TIMEOUT_MAX))
                self._connection.sendall(asked)
                kind, *value = _receive(self._connection)
            except BaseException as error:
                # The answer may come yet: it must not be taken for that to the next question.
                self._connection.close()
                if isinstance(error, OSError):
                    place = f"the store at {self._host}:{self._port}"
                    raise DistNetworkError(f"{error.strerror or error} ({place})") from None
                raise
        if kind[0] == ERROR:
            raise DistStoreError(value[0].decode())
        return {NOTHING: None, FALSE: False, TRUE: True}.get(kind[0], value[0] if value else None)
