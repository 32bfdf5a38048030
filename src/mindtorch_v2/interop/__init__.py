"""Tensors of other frameworks: `to_mindspore`, `from_mindspore`. DLPack and NumPy have their own functions in torch."""

from __future__ import annotations

from mindtorch_v2.interop._mindspore import from_mindspore, set_interop_warning, to_mindspore

__all__ = ["from_mindspore", "set_interop_warning", "to_mindspore"]
