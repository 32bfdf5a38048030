"""Switches of products: `torch.backends.cuda.matmul` and `torch.set_float32_matmul_precision` set them."""

from __future__ import annotations

tf32 = False
"""Whether float32 may be multiplied with 10 bits of mantissa."""
