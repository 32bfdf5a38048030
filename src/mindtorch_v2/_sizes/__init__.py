"""Numbers that stand for sizes: `torch.SymInt`, `SymFloat`, `SymBool`, and the expressions that they are.

`torch.fx.experimental.symbolic_shapes` is the public side. What is here, from below: `expressions` and their `numbers`;
`fitting` finds the expression of a size; `environment` names sizes and notes decisions, `decisions` asks about them;
`universes` are fake tensors with such sizes; `opening` makes the graph of a program right for other sizes
(`same_graph`, `opened`); `dims` and `inputs` are what `torch.export` is told; `recorded` are the numbers of a capture.
"""

from mindtorch_v2._sizes.expressions import Condition, Expression, Junction, constant, symbol
from mindtorch_v2._sizes.numbers import SymBool, SymFloat, SymInt, SymNode

__all__ = ["Condition", "Expression", "Junction", "SymBool", "SymFloat", "SymInt", "SymNode", "constant", "symbol"]
