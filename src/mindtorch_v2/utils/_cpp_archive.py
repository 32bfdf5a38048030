"""Text forms of the values of torch::serialize's C++ archives (mindtorch/archive.h).

Text, because what a class gives to be pickled is a `str`; its content is what `torch.save` writes.
"""

from __future__ import annotations

import base64
import io
from typing import Any

from mindtorch_v2 import serialization

__all__ = ["pickle_text", "text_of", "value_of_pickle", "values_of"]


def text_of(values: dict[str, Any]) -> str:
    """Return the values by name, as text."""
    file = io.BytesIO()
    serialization.save(values, file)
    return base64.b64encode(file.getvalue()).decode()


def values_of(text: str, device: Any = None) -> dict[str, Any]:
    """Return the values that `text_of` was given; tensors on `device` if one is named. RuntimeError for other text."""
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise RuntimeError(f"this is no archive that mindtorch_v2 wrote: {error}") from error
    return serialization.load(io.BytesIO(content), map_location=device)


def pickle_text(value: Any) -> str:
    """Return the bytes of a file that `torch.save` writes, each as the character of its number."""
    file = io.BytesIO()
    serialization.save(value, file)
    return file.getvalue().decode("latin-1")


def value_of_pickle(text: str) -> Any:
    """Return the value of such a file; what `torch.load` refuses is refused."""
    return serialization.load(io.BytesIO(text.encode("latin-1")))
