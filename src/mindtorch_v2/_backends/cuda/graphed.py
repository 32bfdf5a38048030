"""`torch.cuda.make_graphed_callables`."""

from __future__ import annotations

from ..common.graphed import graphed_callables

make_graphed_callables = graphed_callables("cuda", "CUDAGraph")
