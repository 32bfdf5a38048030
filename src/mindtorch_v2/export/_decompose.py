"""From the operators that a program calls to those that run, and from writes to values: `run_decompositions`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._dynamo import _control
from mindtorch_v2._sizes.inputs import inputs_like, range_constraints
from mindtorch_v2._sizes.numbers import SymFloat, SymInt, plain
from mindtorch_v2._sizes.universes import asked
from mindtorch_v2.export._trace import finished, graphs_of, trace
from mindtorch_v2.export.decomp_utils import OutOf
from mindtorch_v2.export.exported_program import ExportedProgram, register_decomposed
from mindtorch_v2.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
)
from mindtorch_v2.fx import Interpreter
from mindtorch_v2.fx import traceback as fx_traceback
from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2._ops import OpOverload


__all__ = ["decomposed"]

_WRITTEN = {
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}
_aten = torch.ops.aten


class _Lowering(Interpreter):
    """Run a graph so that all it writes to is told by schemas: batch norm's running statistics are not.

    Calls of the operators in `kept` are recorded as they are, whatever these are composed of; `rules` take the place of others.
    """

    def __init__(
        self, module: torch.nn.Module, kept: Container[OpOverload], rules: Mapping[Any, Callable[..., Any]]
    ) -> None:
        super().__init__(module)
        self._kept = kept
        self._rules = rules

    def call_function(
        self, target: OpOverload | Callable[..., Any], args: Any, kwargs: Any
    ) -> int | list[torch.Tensor] | torch.Tensor | None:
        if target is torch._C._set_grad_enabled:
            return None
        if target is _aten.batch_norm.default:
            values = dict(zip((a.name for a in target._schema.arguments), args)) | kwargs
            if values["training"] and values["running_mean"] is not None:
                names = ("input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps")
                return _aten._native_batch_norm_legit.default(*(values[name] for name in names))[0]
        if isinstance(target, torch._ops.OpOverload):
            if target is _aten._assert_scalar.default and isinstance(args[0], torch.SymBool):
                torch._check(args[0])  # which says so of the symbol, and so in the graph
                return None
            args, kwargs = pytree.tree_map_only((SymInt, SymFloat), plain, (args, kwargs))
        if target in (_aten.item.default, _aten._local_scalar_dense.default):
            return asked(lambda: super(_Lowering, self).call_function(target, args, kwargs))
        if target in self._kept:
            return _recorded_whole(target, args, kwargs)
        if target in self._rules:
            return self._rules[target](*args, **kwargs)
        return super().call_function(target, args, kwargs)


def _recorded_whole(target: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The results of a call of an operator that writes nothing, as those of one node."""
    mode = get_proxy_mode()
    assert mode is not None
    plain = pytree.tree_map_only(torch.Tensor, torch._from_functional_tensor, (tuple(args), dict(kwargs)))
    made = mode.take_whole(target, *plain)
    return pytree.tree_map_only(torch.Tensor, torch._to_functional_tensor, made)


@register_decomposed
def decomposed(program: ExportedProgram, table: Any, kept: Container[OpOverload] = ()) -> ExportedProgram:
    """See `ExportedProgram.run_decompositions`; the operators in `kept`, which write nothing, stay as they are."""
    rules = {op: rule for op, rule in (table or {}).items() if op is not rule}
    at_once = rules if isinstance(kept, OutOf) else {}
    specs = copy.deepcopy(program.graph_signature.input_specs)
    placeholders = program.graph.find_nodes(op="placeholder")
    inputs = inputs_like(
        [n.meta["val"] for n in placeholders], [n.name for n in placeholders], program.range_constraints
    )

    def run(*flat: Any) -> list:
        with torch.no_grad():
            return list(_Lowering(program.graph_module, kept, at_once).run(*flat))

    with _control.exporting(), fx_traceback.preserve_node_meta():
        module = trace(torch.func.functionalize(run), inputs, pre_dispatch=False, decompositions=rules or None)
    written = _take_writes(module, inputs)
    graph, specs, outputs, constants = finished(module, specs, inputs.leaves)
    mutations = [
        OutputSpec(_WRITTEN[specs[place].kind], outputs[n].arg, specs[place].target or specs[place].arg.name)
        for n, place in enumerate(written)
    ]
    results = outputs[len(written) :]
    for made, old in zip(results, program.graph_signature.output_specs, strict=True):
        made.kind, made.target = old.kind, old.target
    ranges, others = range_constraints(inputs)
    return ExportedProgram(
        graphs_of(module),
        graph,
        ExportGraphSignature(specs, [*mutations, *results]),
        program.state_dict,
        ranges,
        program.module_call_graph,
        program.example_inputs,
        {**program.constants, **constants},
        _guards=others,
    )


def _take_writes(module, inputs):
    """Let values that a graph copies to its inputs at the end be its first results; returns the places of those inputs."""
    placeholders = module.graph.find_nodes(op="placeholder")
    tensors = [place for place, each in enumerate(inputs.leaves) if isinstance(each, torch.Tensor)]
    place_of = dict(zip(placeholders, tensors, strict=True))
    found = {}
    for node in module.graph.find_nodes(op="call_function", target=_aten.copy_.default):
        if node.args[0] in place_of:
            found[place_of[node.args[0]]] = node.args[1]
            module.graph.erase_node(node)
    (output,) = module.graph.find_nodes(op="output")
    written = sorted(found)
    output.args = ([*(found[place] for place in written), *pytree.tree_leaves(output.args[0])],)
    return written
