"""The key Functionalize: programs that write to tensors, carried out without any write.

A functional tensor shows sizes and strides like any other, over a storage without memory. Behind the storage stands a value, an
ordinary tensor that nothing writes to: a write makes a new value, and every alias of the storage is made anew from it
when it is used next. Autograd is above the key and sees the program as it was written; below it there are operators
without side effects only. `docs/functionalization.md` is the guide.
"""

from ._boundary import Arguments, from_functional, to_functional
from ._call import handle
from ._levels import active_level, entered
from ._values import is_functional, unwrap, value_of, wrap
from ._variants import functional_variant

__all__ = [
    "Arguments",
    "active_level",
    "entered",
    "from_functional",
    "functional_variant",
    "handle",
    "is_functional",
    "to_functional",
    "unwrap",
    "value_of",
    "wrap",
]
