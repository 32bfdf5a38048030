"""The operators of the ATB library."""

from mindtorch_v2 import ops as _ops
from mindtorch_v2._operators.table import rows_of

__all__ = sorted({row.handle.name for row in rows_of("atb").values()})

for _name in __all__:
    globals()[_name] = getattr(_ops.atb, _name)
