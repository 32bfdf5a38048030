"""Numbers that stand for sizes: `torch.SymInt`, `SymFloat`, `SymBool`, and the expressions that they are.

`torch.fx.experimental.symbolic_shapes` has what decides by them.
"""

from mindtorch_v2._symbolic.expressions import Condition, Expression, Junction, constant, symbol
from mindtorch_v2._symbolic.numbers import SymBool, SymFloat, SymInt, SymNode

__all__ = ["Condition", "Expression", "Junction", "SymBool", "SymFloat", "SymInt", "SymNode", "constant", "symbol"]
