"""A pipe of decoded files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sized
from typing import Any

from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe
from mindtorch_v2.utils.data.datapipes.utils.decoder import Decoder, basichandlers, extension_extract_fn, imagehandler

__all__ = ["RoutedDecoderIterDataPipe"]


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe):
    """A pipe of names with objects, of pairs of a name and a stream or bytes: `handlers` decode by the ending of the name.

    Without handlers they are `basichandlers` and an image handler that gives tensors. Deprecated, as in PyTorch.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> from mindtorch_v2.utils.data.datapipes.iter.routeddecoder import RoutedDecoderIterDataPipe
    >>> list(RoutedDecoderIterDataPipe([("a.txt", b"one"), ("b.cls", b"2")]))
    [('a.txt', 'one'), ('b.cls', 2)]
    """

    def __init__(
        self,
        datapipe: Any,
        *handlers: Callable[[str, Any], Any],
        key_fn: Callable[[str], str] = extension_extract_fn,
    ) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.decoder = Decoder(*(handlers or (basichandlers, imagehandler("torch"))), key_fn=key_fn)
        warnings.warn(
            "`RoutedDecoderIterDataPipe()` and its functional API `.routed_decode()` are deprecated since 1.12 and will be "
            "removed in 1.13. See https://github.com/pytorch/data/issues/163 for details.",
            FutureWarning,
            stacklevel=2,
        )

    def add_handler(self, *handler: Callable[[str, Any], Any]) -> None:
        """Add handlers behind those that are there."""
        self.decoder.add_handler(*handler)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for name, *contents in self.datapipe:
            yield name, self.decoder((name, *contents))[name]

    def __len__(self) -> int:
        if isinstance(self.datapipe, Sized):
            return len(self.datapipe)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
