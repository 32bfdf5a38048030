"""`__torch_function__` of a class is asked when an operator is called as `torch.ops` has it, too."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch


def test_overloads_and_packets_ask_the_class_of_an_argument() -> None:
    seen = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Asked)
    for func in (torch.ops.aten.add.Tensor, torch.ops.aten.add):
        made = func(x, torch.ones(2))
        assert type(made) is Asked
        assert seen.pop() is func and not seen


def test_a_class_that_takes_operators_over_sees_them_once() -> None:
    seen = []

    class Taken(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*(torch.ones(2) if isinstance(each, Taken) else each for each in args))

    made = torch.ops.aten.add.Tensor(torch.ones(2).as_subclass(Taken), torch.ones(2))
    assert type(made) is torch.Tensor
    assert seen == [torch.ops.aten.add.Tensor]
