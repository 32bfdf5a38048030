"""A pipe of what is in files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe

__all__ = ["StreamReaderIterDataPipe"]


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """A pipe of pairs of a label and bytes, `chunk` at a time or all, of pairs of a label and an open file.

    >>> import io
    >>> from mindtorch_v2.utils.data.datapipes.iter import StreamReader
    >>> list(StreamReader([("a", io.BytesIO(b"abcde"))], chunk=2))
    [('a', b'ab'), ('a', b'cd'), ('a', b'e')]
    """

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        for label, stream in self.datapipe:
            while part := stream.read(self.chunk) if self.chunk is not None else stream.read():
                yield label, part
            close = getattr(stream, "close", None)
            if close is not None:
                close()
