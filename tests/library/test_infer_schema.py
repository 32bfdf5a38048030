"""`infer_schema`: what annotations and defaults say, as PyTorch 2.13 was seen to read them."""

from collections.abc import Sequence
from typing import Dict, List, Optional, Tuple, Union

import pytest
from behaviours import RECORDED, Cases

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2.library import infer_schema

CASES = Cases()
case = CASES.case
ELSEWHERE = {
    "infer_schema param torch.Generator": "PyTorch's text, torch._C.Generator, is no type of the schema language; ours is",
    "infer_schema default str='a\"b'": "PyTorch does not escape the quote, and its schema does not parse",
    "infer_schema param torch.SymInt": "there is no torch.SymInt",
}

PARAMETERS = {
    "List[Tensor]": List[Tensor],
    "list[Tensor]": list[Tensor],
    "List[int]": List[int],
    "Sequence[int]": Sequence[int],
    "float": float,
    "List[float]": List[float],
    "List[str]": List[str],
    "List[torch.types.Number]": List[Union[int, float, bool]],
    "torch.dtype": torch.dtype,
    "Optional[torch.dtype]": Optional[torch.dtype],
    "torch.device": torch.device,
    "Optional[torch.device]": Optional[torch.device],
    "Tuple[int, ...]": Tuple[int, ...],
    "Dict[str,int]": Dict[str, int],
    "complex": complex,
    "torch.layout": torch.layout,
    "Union[int,float,bool]": Union[int, float, bool],
    "'Tensor'": "Tensor",
    "'nonexist'": "nonexist",
    "None": None,
}
RETURNS = {
    "Tensor": Tensor,
    "None": None,
    "tuple[Tensor, int]": tuple[Tensor, int],
    "Tuple[Tensor]": Tuple[Tensor],
    "int": int,
    "float": float,
    "Optional[Tensor]": Optional[Tensor],
    "Tuple[()]": Tuple[()],
    "'Tensor'": "Tensor",
    "dict": dict,
}
DEFAULTS = {
    "int=1": (int, 1),
    "float=1.5": (float, 1.5),
    "float=1": (float, 1),
    "float=float('inf')": (float, float("inf")),
    "float=1e-5": (float, 1e-5),
    "bool=True": (bool, True),
    "str='a'": (str, "a"),
    "Optional[int]=None": (Optional[int], None),
    "Optional[Tensor]=None": (Optional[Tensor], None),
    "torch.dtype=torch.float32": (torch.dtype, torch.float32),
    "List[int]=[1]": (List[int], [1]),
    "torch.types.Number=2": (Union[int, float, bool], 2),
    "Optional[float]=None": (Optional[float], None),
    "Tensor=None": (Tensor, None),
}


def _annotated(**annotations):
    def f(v): ...

    f.__annotations__ = annotations
    return f


for _name, _kind in PARAMETERS.items():
    if f"infer_schema param {_name}" in RECORDED:
        case(f"infer_schema param {_name}", upto="The valid types are")(
            lambda kind=_kind: infer_schema(_annotated(v=kind, **{"return": Tensor}), mutates_args=())
        )
for _name, _kind in RETURNS.items():
    case(f"infer_schema return {_name}", upto="The valid types are")(
        lambda kind=_kind: infer_schema(_annotated(v=Tensor, **{"return": kind}), mutates_args=())
    )
for _name, (_kind, _default) in DEFAULTS.items():

    def _with_default(kind=_kind, default=_default):
        def f(v=default): ...

        f.__annotations__ = {"v": kind, "return": Tensor}
        return infer_schema(f, mutates_args=())

    case(f"infer_schema default {_name}", upto="Got func with signature")(_with_default)


def _three(x: Tensor, ys: List[Tensor], k: int) -> Tensor: ...


for _name, _mutates in {
    "'unknown'": "unknown", "{'x'}": {"x"}, "{'ys'}": {"ys"}, "{'zz'}": {"zz"}, "None": None,
}.items():  # fmt: skip
    case(f"infer_schema mutates {_name}", upto="Got func with signature")(
        lambda mutates=_mutates: infer_schema(_three, mutates_args=mutates)
    )


@case("infer_schema op_name")
def _():
    return infer_schema(_three, mutates_args=(), op_name="foo")


@case("infer_schema varkw", upto="Got func")
def _():
    def f(**x: Tensor) -> Tensor: ...

    return infer_schema(f, mutates_args=())


@case("infer_schema posonly", upto="Got func")
def _():
    def f(x: Tensor, /) -> Tensor: ...

    return infer_schema(f, mutates_args=())


@case("infer_schema kwonly")
def _():
    def f(x: Tensor, *, k: int = 3, b: bool) -> Tensor: ...

    return infer_schema(f, mutates_args=())


@case("infer_schema Tag.out")
def _():
    def f(x: Tensor, *, out: Tensor) -> Tensor: ...

    return infer_schema(f, mutates_args={"out"}, tags=torch.Tag.out)


@case("infer_schema Tag.inplace")
def _():
    def f(x: Tensor, y: Tensor) -> Tensor: ...

    return infer_schema(f, mutates_args={"x"}, tags=torch.Tag.inplace)


@case("infer_schema Tag.inplace wrong", upto="Got func")
def _():
    def f(x: Tensor, y: Tensor) -> Tensor: ...

    return infer_schema(f, mutates_args=("y",), tags=torch.Tag.inplace)


@pytest.mark.parametrize("name", CASES)
def test_behaviour(name):
    CASES.check(name)


def test_every_case_is_there():
    assert {name for name in RECORDED if name.startswith("infer_schema")} == set(CASES) | set(ELSEWHERE)
