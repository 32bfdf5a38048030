"""Parameters and settings of the modules that a graph calls, for back ends that need them beside the nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx._naming import type_text
from mindtorch_v2.fx.graph_module import GraphModule

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]

_CONVOLUTION = "weight bias kernel_size stride padding dilation groups padding_mode".split()
_NORMALISED = "weight bias running_mean running_var eps".split()
# Class -> the version that is known, the parameters to fetch, and how to name one of another version.
_FETCHED: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {}


@compatibility(is_backward_compatible=False)
def default_matching(name: str, target_version: int) -> str:
    """The name itself: parameters that are named the same in all versions of a module.

    >>> default_matching("weight", 1)
    'weight'
    """
    return name


def _fill() -> None:
    for kinds, names in (
        ((torch.nn.Conv2d,), _CONVOLUTION),
        ((torch.nn.BatchNorm2d,), _NORMALISED),
        ((torch.nn.Linear,), ["weight", "bias"]),
        ((torch.nn.AdaptiveAvgPool2d,), []),
        ((torch.nn.AvgPool2d,), []),
        ((torch.nn.MaxPool2d,), ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]),
        ((torch.nn.ReLU,), ["inplace"]),
    ):
        for kind in kinds:
            _FETCHED[kind] = (getattr(kind, "_version", 1), names, default_matching)


_fill()


@compatibility(is_backward_compatible=False)
def extract_attrs_for_lowering(mod: torch.nn.Module) -> dict[str, Any]:
    """The module's class, under "name", and the parameters and settings by their names.

    RuntimeError for a class that is not known, or of another version.

    >>> sorted(extract_attrs_for_lowering(torch.nn.Linear(2, 2)))
    ['bias', 'name', 'weight']
    """
    kind = type(mod)
    if kind not in _FETCHED:
        raise RuntimeError(
            f"Failed to find parameter mapping for module {type_text(kind)}: add it to param_fetch's table"
        )
    version, names, match = _FETCHED[kind]
    found = getattr(mod, "_version", 1)
    if version < found:
        raise RuntimeError(f"Fetcher version {version} try to fetch {type_text(kind)} version {found}, please upgrade")
    return {"name": type_text(kind)} | {name: getattr(mod, match(name, found)) for name in names}


@compatibility(is_backward_compatible=False)
def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Leave in `node.attrs_for_lowering` of each node that calls a module what `extract_attrs_for_lowering` gives of it.

    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> lift_lowering_attrs_to_nodes(traced)
    >>> [node.attrs_for_lowering for node in traced.graph.nodes if node.op == "call_module"]
    [{'name': 'torch.nn.modules.activation.ReLU', 'inplace': False}]
    """
    submodules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op != "call_module":
            continue
        module = submodules[node.target]
        if isinstance(module, GraphModule):
            lift_lowering_attrs_to_nodes(module)
        else:
            node.attrs_for_lowering = extract_attrs_for_lowering(module)
