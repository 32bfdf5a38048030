"""Functions in expressions of symbolic sizes, which are no sympy expressions here: classes that nothing is an instance of."""

from mindtorch_v2._core.unavailable import unavailable_class

__all__ = [
    "CeilDiv",
    "CeilToInt",
    "CleanDiv",
    "FloatPow",
    "FloatTrueDiv",
    "FloorDiv",
    "FloorToInt",
    "Identity",
    "IntTrueDiv",
    "IsNonOverlappingAndDenseIndicator",
    "LShift",
    "Mod",
    "ModularIndexing",
    "PowByNatural",
    "PythonMod",
    "RShift",
    "RoundDecimal",
    "RoundToInt",
    "ToFloat",
    "TruncToFloat",
    "TruncToInt",
    "Where",
]

CeilDiv = unavailable_class("torch.utils._sympy.functions.CeilDiv")
CeilToInt = unavailable_class("torch.utils._sympy.functions.CeilToInt")
CleanDiv = unavailable_class("torch.utils._sympy.functions.CleanDiv")
FloatPow = unavailable_class("torch.utils._sympy.functions.FloatPow")
FloatTrueDiv = unavailable_class("torch.utils._sympy.functions.FloatTrueDiv")
FloorDiv = unavailable_class("torch.utils._sympy.functions.FloorDiv")
FloorToInt = unavailable_class("torch.utils._sympy.functions.FloorToInt")
Identity = unavailable_class("torch.utils._sympy.functions.Identity")
IntTrueDiv = unavailable_class("torch.utils._sympy.functions.IntTrueDiv")
IsNonOverlappingAndDenseIndicator = unavailable_class("torch.utils._sympy.functions.IsNonOverlappingAndDenseIndicator")
LShift = unavailable_class("torch.utils._sympy.functions.LShift")
Mod = unavailable_class("torch.utils._sympy.functions.Mod")
ModularIndexing = unavailable_class("torch.utils._sympy.functions.ModularIndexing")
PowByNatural = unavailable_class("torch.utils._sympy.functions.PowByNatural")
PythonMod = unavailable_class("torch.utils._sympy.functions.PythonMod")
RShift = unavailable_class("torch.utils._sympy.functions.RShift")
RoundDecimal = unavailable_class("torch.utils._sympy.functions.RoundDecimal")
RoundToInt = unavailable_class("torch.utils._sympy.functions.RoundToInt")
ToFloat = unavailable_class("torch.utils._sympy.functions.ToFloat")
TruncToFloat = unavailable_class("torch.utils._sympy.functions.TruncToFloat")
TruncToInt = unavailable_class("torch.utils._sympy.functions.TruncToInt")
Where = unavailable_class("torch.utils._sympy.functions.Where")
