"""Queues between processes, through which tensors go as handles of shared memory."""

from __future__ import annotations

import io
import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

__all__ = ["ConnectionWrapper", "Queue", "SimpleQueue"]


class ConnectionWrapper:
    """A connection whose objects go through the pickler that knows tensors; all else is the connection's.

    >>> import multiprocessing
    >>> from mindtorch_v2.multiprocessing.queue import ConnectionWrapper
    >>> receiving, sending = multiprocessing.Pipe(duplex=False)
    >>> ConnectionWrapper(sending).send({"x": 3})
    >>> ConnectionWrapper(receiving).recv()
    {'x': 3}
    """

    def __init__(self, conn: Any) -> None:
        self.conn = conn

    def send(self, obj: Any) -> None:
        """Send an object."""
        buffer = io.BytesIO()
        ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(obj)
        self.conn.send_bytes(buffer.getvalue())

    def recv(self) -> Any:
        """The next object, when it has come."""
        return pickle.loads(self.conn.recv_bytes())

    def __getattr__(self, name: str) -> Any:
        if "conn" in self.__dict__:
            return getattr(self.conn, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'conn'")


class Queue(multiprocessing.queues.Queue):
    """Python's queue, whose `_reader` and `_writer` are such connections.

    >>> import multiprocessing
    >>> from mindtorch_v2.multiprocessing.queue import Queue
    >>> queue = Queue(ctx=multiprocessing.get_context())
    >>> queue.put(torch.ones(2))
    >>> queue.get()
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reader: Any = ConnectionWrapper(self._reader)
        self._writer: Any = ConnectionWrapper(self._writer)
        self._send = self._writer.send
        self._recv = self._reader.recv


class SimpleQueue(multiprocessing.queues.SimpleQueue):
    """Python's simple queue, by the name that programs have for it here.

    >>> import multiprocessing
    >>> from mindtorch_v2.multiprocessing.queue import SimpleQueue
    >>> queue = SimpleQueue(ctx=multiprocessing.get_context())
    >>> queue.put(torch.ones(2))
    >>> queue.get()
    tensor([1., 1.])
    """
