"""`torch.jit.annotations`: the types that annotate scripted functions are those of `typing`."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035  (PyTorch's names here)

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "List",
    "Optional",
    "Tuple",
    "Union",
]

# Lists of so many numbers, for which a script may give one number.
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list
