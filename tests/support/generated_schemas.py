"""Schemas made at random from a seed, right ones and wrong ones, to compare the parser with PyTorch's."""

from __future__ import annotations

import random
from collections.abc import Mapping

SEED, COUNT = 17, 10_000  # of those whose answers are recorded

_TYPES = {
    "Tensor": 30, "int": 15, "float": 8, "bool": 8, "str": 6, "Scalar": 6, "complex": 2, "Device": 3, "Generator": 2, "Layout": 2,
    "ScalarType": 3, "MemoryFormat": 2, "Dimname": 2, "Storage": 1, "QScheme": 1, "Stream": 1, "SymInt": 8, "SymBool": 2,
    "SymFloat": 2, "number": 1, "Any": 1, "NoneType": 1, "None": 1, "Capsule": 1, "__torch__.torch.classes.never.Made": 1, "t": 1,
    "Future(Tensor)": 1, "RRef(int)": 1, "Dict(str, Tensor)": 1, "Dict(int, float[])": 1, "Union(int, float)": 1,
    "Union(Tensor, int[], str)": 1, "Union[int, None]": 1, "List(Tensor)": 1, "Optional(int)": 1, "AnyEnumType": 1,
    "DeviceObjType": 1, "ConstQuantizerPtr": 1, "Never": 1,
}  # fmt: skip
_SETS = (
    "(a)", "(a!)", "(b)", "(b!)", "(a -> *)", "(a! -> *)", "(a|b)", "(*)", "(*!)", "(a|*)", "( a )", "( a ! )", "(a ! )", "(a->b)",
    "(a -> b)", "(a! -> a|b)", "()", "(!)", "(a!!)", "(0)", "(a | b)", "(b|a)", "(a! -> b|a)", "(a|a)",
)  # fmt: skip
_SUFFIXES = (
    "?", "[]", "[2]", "[]?", "?[]", "[3]?", "[][]", "[0]", "[1]", "[-1]", "[ ]", "??", " ?", " []", "[2][3]", "[1]?[]", "[]?[]",
)  # fmt: skip
_DEFAULTS = (
    "0", "1", "-1", "1.5", "-2.5", "1e-5", "1e5", ".5", "2.", "True", "False", "None", "[]", "[0, 1]", "[1,2]", "[0.5]",
    "[True, False]", '"a"', "'b'", "float", "int", "long", "Mean", "mean", "contiguous_format", "strided", "sparse", "inf", "-inf",
    "nan", "1j", "2.5j", "9223372036854775807", "-9223372036854775808", "1_000", "cpu", '"cpu"', "[[]]", "[None]", '["a"]', "0x10",
    "+1", "- 1", "1e400", "1e", "[1, 2", "(1, 2)", "Float", "float32", "bool", "false", "true", "none", "pi", "{}", "1.0e+3",
    "-0.0", "00", "01", "1.50", "100000.0", "1e16", "123456789.125", "1e-7", "0.1", "[1.0, 2]", "[0.1,  3]", "True ", "[ 1 ]",
)  # fmt: skip
_NAMES = {
    "x": 10, "self": 10, "input": 6, "y": 6, "z": 5, "other": 5, "dim": 5, "a": 4, "b": 4, "out": 4, "k": 4, "weight": 3, "from": 2,
    "_x": 2, "x1": 2, "1x": 0.3, "lambda": 0.3, "None": 0.3, "Tensor": 0.3, "int": 0.3, "def": 0.3, "x-y": 0.3, "x.y": 0.3, "": 0.3,
}  # fmt: skip
_OPERATORS = {
    "f": 20, "ns::f": 10, "f.out": 4, "ns::f.Tensor": 3, "aten::add": 3, "f_": 2, "_f": 2, "f.a_b": 1, "ns::a::f": 0.3, "1f": 0.3,
    "f.": 0.3, "f.1": 0.3, "f.default": 0.3, "ns::": 0.3, "::f": 0.3, "f::": 0.3, "ns.f": 0.3, "f.a.b": 0.3, "f.out1": 0.3,
    "prim::Print": 0.3, "__and__.x": 0.3, "F": 0.3, "f-x": 0.3,
}  # fmt: skip
_SPOILERS = "()[]{}*!?,.->=:a1 \"'\\#@"


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, weights: Mapping[str, float]) -> str:
        return self.random.choices(list(weights), list(weights.values()))[0]

    def sometimes(self, chance: float) -> bool:
        return self.random.random() < chance

    def type(self, depth: int = 0) -> str:
        if depth < 2 and self.sometimes(0.06):
            text = "(" + ", ".join(self.type(depth + 1) for _ in range(self.random.randint(0, 3))) + ")"
        else:
            text = self.one(_TYPES)
        if self.sometimes(0.3 if text == "Tensor" else 0.04):
            text += self.random.choice(_SETS)
        if self.sometimes(0.35):
            text += self.random.choice(_SUFFIXES)
            if self.sometimes(0.1):
                text += self.random.choice(_SETS)
        return text

    def argument(self) -> str:
        text = self.type()
        if self.sometimes(0.92):
            text += (" " if self.sometimes(0.97) else "  ") + self.one(_NAMES)
        if self.sometimes(0.3):
            text += self.one({"=": 10, " = ": 1, " =": 1, "= ": 1}) + self.random.choice(_DEFAULTS)
        return text

    def results(self) -> str:
        kind = self.one({"none": 1, "one": 6, "several": 3, "named": 2, "any": 0.4, "and more": 0.4})
        if kind == "several":
            return "(" + ", ".join(self.type() for _ in range(self.random.randint(1, 3))) + ")"
        if kind == "named":
            names = ("x", "out", "values", "indices", "a")
            count = self.random.randint(1, 3)
            return "(" + ", ".join(f"{self.type()} {self.random.choice(names)}" for _ in range(count)) + ")"
        return {"none": "()", "any": "...", "one": self.type(), "and more": f"({self.type()}, ...)"}[kind]

    def schema(self) -> str:
        count = self.random.choices(range(7), (2, 5, 5, 4, 2, 1, 1))[0]
        arguments = [self.argument() for _ in range(count)]
        if count and self.sometimes(0.25):
            arguments.insert(self.random.randint(0, count), "*")
        if self.sometimes(0.05):
            arguments.insert(self.random.randint(0, len(arguments)), "...")
        text = self.one(_OPERATORS) + self.one({"(": 20, " (": 1, "( ": 1})
        text += self.one({", ": 20, ",": 2, ",  ": 1}).join(arguments) + ")"
        text += self.one({" -> ": 30, "->": 2, "  ->": 1, "": 0.3, " - > ": 0.2, " => ": 0.2}) + self.results()
        return self.spoilt(text) if self.sometimes(0.06) else text

    def spoilt(self, text: str) -> str:
        place = self.random.randrange(len(text))
        return self.random.choice(
            (
                text[:place] + text[place + 1 :],
                text[:place] + self.random.choice(_SPOILERS) + text[place:],
                text[:place],
            )
        )


def generated(seed: int, count: int) -> list[str]:
    """So many texts."""
    writer = _Writer(seed)
    return [writer.schema() for _ in range(count)]
