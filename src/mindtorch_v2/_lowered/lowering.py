"""A program's forward and backward as graphs of operators, which a compiler gets.

A program is lowered at its first call with arguments of a kind: shapes, strides, dtypes, what requires grad, what shares
memory, and the modes of the thread. Each kind has its graphs.
"""

from __future__ import annotations

import copy
import dataclasses
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._lowered import partition
from mindtorch_v2._lowered import replay as _replay
from mindtorch_v2._lowered.joint import Joint, NotLowerable, OffsetsMatter, trace_joint
from mindtorch_v2._lowered.open_sizes import Compiled, Family, family_of
from mindtorch_v2._lowered.plan import Plan, call_compiled, with_writes_inside
from mindtorch_v2._subclasses.wrappers import Form, rebuilt, taken_apart
from mindtorch_v2.amp import _state as autocast_state
from mindtorch_v2.fx import GraphModule, Node
from mindtorch_v2.utils._python_dispatch import is_traceable_wrapper_subclass

__all__ = ["Lowering", "NotLowerable"]

_KINDS = 64  # of arguments for which one program keeps graphs
_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))


def _modes() -> tuple:
    """The part of the thread's state that a graph depends on."""
    autocast = tuple(
        autocast_state.get_autocast_dtype(device) if autocast_state.is_autocast_enabled(device) else None
        for device in autocast_state.DEVICES
    )
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), autocast, torch.get_default_dtype()


def _kind(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.shape, x.stride(), x.dtype, x.device, x.requires_grad, x.is_leaf
    return type(x), x


def _is_wrapper(x: Any) -> bool:
    return type(x) not in _PLAIN and is_traceable_wrapper_subclass(x)


def _place(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.storage_offset(), x.untyped_storage().nbytes()
    return None


def _extent(x: Any) -> tuple[int, int]:
    first = x.storage_offset() * x.element_size()
    reach = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride()))
    return first, first + (reach + 1) * x.element_size()


def _sharing(inputs: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
    """The groups of different arguments that share memory."""
    memories: dict[int, list[int]] = {}
    for number, each in enumerate(inputs):
        if isinstance(each, torch.Tensor) and each.numel():
            memories.setdefault(each.untyped_storage()._cdata, []).append(number)
    groups = []
    for members in memories.values():
        if len(members) > 1:
            extents = {number: _extent(inputs[number]) for number in members}
            overlapping = [
                n
                for n in members
                if any(n != m and extents[n][0] < extents[m][1] and extents[m][0] < extents[n][1] for m in members)
            ]
            if overlapping:
                groups.append(tuple(overlapping))
    return tuple(groups)


class Lowering:
    """A function of a flat list of arguments, which returns a list, run through compiled graphs of operators.

    `fw_compiler(graph_module, example_inputs)` gives what is called in place of the graph module (`bw_compiler` that of
    the way back, `inference_compiler` that where nothing requires grad). A program that cannot be lowered runs as it is, and
    `refused(reason)` is called once; with `strict` it is an error. `observe(kind, graph_module)` sees each graph; `tell(text)` is
    told why sizes need graphs of their own. With `whole` the operators are this package's own, and not taken to the parts that
    PyTorch makes some of them of.
    """

    def __init__(
        self,
        function: Callable,
        fw_compiler: Callable,
        bw_compiler: Callable | None = None,
        *,
        partition_fn: Callable | None = None,
        decompositions: dict | None = None,
        inference_compiler: Callable | None = None,
        keep_inference_input_mutations: bool = False,
        strict: bool = False,
        refused: Callable[[str], None] | None = None,
        observe: Callable[[str, GraphModule], None] | None = None,
        tell: Callable[[str], None] = lambda text: None,
        whole: bool = False,
    ) -> None:
        self._function = function
        self._fw_compiler = fw_compiler
        self._bw_compiler = bw_compiler or fw_compiler
        self._inference_compiler = inference_compiler or fw_compiler
        self._partition = partition_fn or partition.default_partition
        self._decompositions = decompositions
        self._whole = whole
        self._writes_inside = keep_inference_input_mutations
        self._strict = strict
        self._refused = refused or _warn
        self._observe = observe or (lambda kind, module: None)
        self._tell = tell
        self._plans: dict[Any, Any] = {}
        self._families: dict[Any, Family] = {}  # of kinds that differ by sizes only
        # The plan of the last call, and what tells whether a call is like it: the same in less time.
        self._last: tuple[Any, Any] = (None, None)
        self._exact: set[Any] = set()  # kinds whose graphs depend on places in memory
        self._sharing: set[Any] = set()  # kinds that write to arguments
        self._of_parts: list[tuple[list[Form | None], Lowering]] = []  # for arguments that wrap tensors
        self._options: dict[str, Any] = dict(
            partition_fn=partition_fn,
            decompositions=decompositions,
            inference_compiler=inference_compiler,
            keep_inference_input_mutations=keep_inference_input_mutations,
            strict=strict,
            refused=refused,
            observe=observe,
            tell=tell,
            whole=whole,
        )
        self._lock = threading.RLock()

    def __call__(self, *inputs: Any) -> list[Any]:
        """The results for these arguments."""
        looks, plan = self._last
        if looks is not None and looks(*inputs):
            return plan(inputs)
        if any(map(_is_wrapper, inputs)):
            return self._call_with_parts(inputs)
        kind = (_modes(), *map(_kind, inputs))
        plan = self._plans.get(self._full(kind, inputs))
        if plan is None:
            with self._lock:
                plan = self._plans.get(self._full(kind, inputs)) or self._make(kind, inputs)
            if plan is None:
                return self._as_it_is(inputs)
        if kind not in self._exact and kind not in self._sharing:
            self._last = (_C._Looks(*inputs), plan)
        return plan(inputs)

    def _call_with_parts(self, inputs: Sequence[Any]) -> list[Any]:
        """The same where some arguments are wrappers: the graph is one of their innermost tensors."""
        if torch.is_grad_enabled() and any(_is_wrapper(each) and each.requires_grad for each in inputs):
            self._refused("an argument that wraps tensors requires grad")
            return self._as_it_is(inputs)
        parts, forms = taken_apart(inputs)
        with self._lock:
            found = next((lowering for known, lowering in self._of_parts if known == forms), None)
            if found is None:

                def function(*parts: Any) -> list[Any]:
                    results = list(self._function(*rebuilt(parts, forms)))
                    if any(map(_is_wrapper, results)):
                        raise NotLowerable("a result wraps tensors")
                    return results

                found = Lowering(function, self._fw_compiler, self._bw_compiler, **self._options)
                self._of_parts = [*self._of_parts[1 - _KINDS :], (forms, found)]
        return found(*parts)

    def _full(self, kind: Any, inputs: Sequence[Any]) -> Any:
        if kind in self._sharing:
            groups = _sharing(inputs)
            if groups or kind in self._exact:
                return kind, groups, tuple(map(_place, inputs))
        elif kind in self._exact:
            return kind, (), tuple(map(_place, inputs))
        return kind

    def _make(self, kind: Any, inputs: Sequence[Any]) -> Any:
        """The plan of a kind that is new; None if this call is not worth one."""
        family = None if self._full(kind, inputs) != kind else self._family(kind[0], inputs)
        plan: Any = None if family is None else self._of_family(family, kind, inputs)
        if plan is None:
            if family is not None and not family.is_worth_it(kind):
                return None
            try:
                joint = self._trace(kind, inputs)
                plan = self._compile(joint, family if self._full(kind, inputs) == kind else None)
            except NotLowerable as reason:
                if self._strict:
                    raise RuntimeError(f"the program has no graph of operators: {reason}") from None
                self._refused(str(reason))
                plan = self._as_it_is
        if len(self._plans) >= _KINDS:
            self._plans.pop(next(iter(self._plans)))
        self._plans[self._full(kind, inputs)] = plan
        if _replay.is_asked_for() and plan != self._as_it_is:
            _replay.check_against_program(
                self._function, lambda *given: plan(given), inputs, lambda: "Its graphs: TORCH_LOGS=aot_graphs"
            )
        return plan

    def _family(self, modes: tuple, inputs: Sequence[Any]) -> Family:
        found = family_of(modes, inputs)
        if found not in self._families:
            self._families[found] = Family(self._trace_again, self._tell)
        return self._families[found]

    def _of_family(self, family: Family, kind: Any, inputs: Sequence[Any]) -> Plan | None:
        """The plan of a kind whose graphs are those of others with other numbers; None if there is none."""
        if _sharing(inputs) or len(self._families) > _KINDS:
            return None
        found = family.at(inputs)
        if found is None:
            return None
        joint, forward, backward, inside = found
        if joint.written:
            self._sharing.add(kind)
        return Plan(joint, _tensors_only(forward), backward, inside)

    def _as_it_is(self, inputs: Sequence[Any]) -> list[Any]:
        return list(self._function(*inputs))

    def _trace(self, kind: Any, inputs: Sequence[Any]) -> Joint:
        def trace(**how: Any) -> Joint:
            return self._trace_again(inputs, **how)

        try:
            joint = trace()
        except OffsetsMatter:
            self._exact.add(kind)
            joint = trace(exact=True)
        if joint.written:
            self._sharing.add(kind)
            written = {each.input for each in joint.written}
            together = [group for group in _sharing(inputs) if written.intersection(group)]
            if together:
                joint = trace(exact=True, together=together)
        return joint

    def _trace_again(self, inputs: Sequence[Any], **how: Any) -> Joint:
        return trace_joint(self._function, inputs, decompositions=self._decompositions, whole=self._whole, **how)

    # ---- from the joint graph to what runs ----

    def _compile(self, joint: Joint, family: Family | None) -> Plan:
        """The plan; a family is told of graphs that may be opened for other sizes."""
        examples = [each.detach() if isinstance(each, torch.Tensor) else each for each in joint.inputs]
        tensors = [each for each in examples if isinstance(each, torch.Tensor)]
        if not joint.tangents:
            traced = joint
            if joint.written and self._writes_inside:
                traced = dataclasses.replace(joint, module=GraphModule(joint.module, copy.deepcopy(joint.module.graph)))
            inside = with_writes_inside(joint.module, joint) if self._writes_inside else frozenset()
            self._observe("inference", joint.module)
            made = self._inference_compiler(joint.module, tensors)
            if family is not None and hasattr(made, "graphs"):
                family.learn(Compiled(traced, made, None, inside))
            return Plan(joint, _checked(joint.module, _tensors_only(made)), None, inside)
        self._observe("joint", joint.module)
        forward, backward = self._partition(
            joint.module,
            [*tensors, *joint.tangents],
            num_fwd_outputs=joint.forward_count,
            forward_nodes=joint.forward_nodes,
        )
        _keep_apart(forward, joint)
        self._observe("forward", forward)
        self._observe("backward", backward)
        values = [n.meta.get("val") for n in backward.graph.find_nodes(op="placeholder")]
        forth, back = self._fw_compiler(forward, tensors), self._bw_compiler(backward, values)
        if family is not None and hasattr(forth, "graphs") and hasattr(back, "graphs"):
            family.learn(Compiled(joint, forth, back, frozenset()))
        return Plan(joint, _checked(forward, _tensors_only(forth)), _checked(backward, back))


def _tensors_only(compiled: Callable) -> Callable:
    """A compiler's callable, called with the tensors among the arguments: other values are part of its graph."""

    def run(*args: Any) -> Any:
        return call_compiled(compiled, [each for each in args if isinstance(each, torch.Tensor)])

    return run


def _checked(module: GraphModule, compiled: Callable) -> Callable:
    """The same; the first call is watched.

    Users' operators may not write, nor give back, what their schemas keep quiet about: a graph counts on those. That is
    seen by version counters and storages; MINDTORCH_CHECK_MUTATION sees more, at each call. With MINDTORCH_GRAPH_CHECK the
    graph is run in other orders first.
    """
    theirs = _operators_of_users(module)
    if not theirs and not _replay.is_asked_for():
        return compiled
    done: list[bool] = []

    def run(*args: Any) -> Any:
        if done:
            return call_compiled(compiled, list(args))
        if _replay.is_asked_for():
            _replay.check_order(module, [each for each in args if isinstance(each, torch.Tensor)])
        for handle in theirs:
            _C._watch_first_run(handle, True)
        try:
            results = call_compiled(compiled, list(args))
        finally:
            for handle in theirs:
                _C._watch_first_run(handle, False)
        done.append(True)
        return results

    return run


def _operators_of_users(module: GraphModule) -> list[Any]:
    """The handles of a graph's operators outside of `aten`, and those behind derived functional forms."""
    found: dict[Any, None] = {}
    for node in module.graph.nodes:
        handle = getattr(node.target, "_handle", None)
        if handle is not None and handle.namespace != "aten":
            found[handle] = None
            form = handle.__dict__.get("functional_form_of")
            name, _, overload = form.partition("(")[0].partition(".") if form else ("", "", "")
            original = _C._find_operator(name, overload)
            if original is not None:
                found[original] = None
    return list(found)


def _keep_apart(forward: GraphModule, joint: Joint) -> None:
    """Arguments that are written after forward and read by backward are kept as they were."""
    if not joint.written:
        return
    names = {f"primals_{each.input + 1}" for each in joint.written if each.how != "hidden"}
    whole = any(each.whole is not None for each in joint.written)
    (output,) = forward.graph.find_nodes(op="output")
    results = list(output.args[0])
    changed = False
    for place in range(joint.forward_count, len(results)):
        node = results[place]
        if isinstance(node, Node) and node.op == "placeholder" and (whole or node.target in names):
            with forward.graph.inserting_before(output):
                copy = forward.graph.call_function(torch.ops.aten.clone.default, (node,))
            copy.meta["val"] = node.meta.get("val")
            results[place], changed = copy, True
    if changed:
        output.args = (tuple(results),)
        forward.recompile()


def _warn(reason: str) -> None:
    warnings.warn(f"aot_autograd: {reason}; the program runs without a graph of operators", stacklevel=4)
