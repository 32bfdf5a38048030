"""`aot_function`, `aot_module`, `aot_module_simplified`: a program's forward and backward, compiled ahead of time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.unavailable import unavailable_class, unavailable_function
from mindtorch_v2._lowered import partition
from mindtorch_v2._lowered.lowering import Lowering, NotLowerable
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["Lowering", "NotLowerable", "aot_function", "aot_module", "aot_module_simplified", "make_boxed_func"]


def make_boxed_func(f: Callable) -> Callable:
    """`f(*args)` as a function of one list, as compilers may give it back."""

    def g(args: list[Any]) -> Any:
        return f(*args)

    g._boxed_call = True  # type: ignore[attr-defined]  # (a mark on the user's function)
    return g


def aot_function(
    fn: Callable,
    fw_compiler: Callable,
    bw_compiler: Callable | None = None,
    partition_fn: Callable = partition.default_partition,
    decompositions: dict | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable | None = None,
    *,
    dynamic: bool = False,
    enable_log: bool = True,
    disable_functionalization: bool = False,
    _disable_torch_fn_metadata_mode: bool = False,
) -> Callable:
    """`fn`, with the operators of its forward and of its backward compiled.

    `fw_compiler(graph_module, example_inputs)` and `bw_compiler` (the same if not given) return a callable, each for a
    graph without writes. `partition_fn` divides the joint graph, `decompositions` maps operators to functions that take
    their place. Arguments and results may be trees of tensors. Graphs hold for one size, others get graphs of their own; with
    `dynamic` the program must also be one for open sizes: it is recorded once with symbols for them, and what stands in the way
    of that is raised. RuntimeError for a program that has no graph of operators.

    >>> from mindtorch_v2._functorch.aot_autograd import aot_function
    >>> def show(module, inputs):
    ...     print([str(node.target) for node in module.graph.nodes if node.op == "call_function"])
    ...     return module
    >>> x = torch.ones(2, requires_grad=True)
    >>> aot_function(lambda x: x.sin(), show)(x).sum().backward()
    ['aten.sin.default']
    ['aten.cos.default', 'aten.mul.Tensor']
    """
    if disable_functionalization:
        raise NotImplementedError("aot_function(disable_functionalization=True) is not implemented in mindtorch_v2")
    lowered: dict[Any, tuple[Lowering, list]] = {}

    @functools.wraps(fn)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        found = lowered.get(spec)
        if found is None:
            tree: list = [None]

            def flat(*leaves: Any) -> list:
                args, kwargs = pytree.tree_unflatten(leaves, spec)
                results, tree[0] = pytree.tree_flatten(fn(*args, **kwargs))
                return results

            if dynamic:
                _check_open_sizes(flat, leaves)
            found = lowered[spec] = (
                Lowering(
                    flat,
                    fw_compiler,
                    bw_compiler,
                    partition_fn=partition_fn,
                    decompositions=decompositions,
                    inference_compiler=inference_compiler,
                    keep_inference_input_mutations=keep_inference_input_mutations,
                    strict=True,
                ),
                tree,
            )
        lowering, tree = found
        return pytree.tree_unflatten(lowering(*leaves), tree[0])

    return compiled


def _check_open_sizes(function: Callable, leaves: Sequence[Any]) -> None:
    """Record the function of flat arguments with symbols for the sizes of its tensors; whatever that ends in is raised."""
    from mindtorch_v2.fx.experimental.proxy_tensor import make_fx  # slow to load, and few ask for it

    tensors = [each for each in leaves if isinstance(each, torch.Tensor)]

    def of_tensors(*given: torch.Tensor) -> Any:
        rest = iter(given)
        return function(*(next(rest) if isinstance(each, torch.Tensor) else each for each in leaves))

    make_fx(torch.func.functionalize(of_tensors), tracing_mode="symbolic")(*(each.detach() for each in tensors))


def _functional_call(module: Any, names: Sequence[str]) -> Callable:
    def call(state: Sequence[Any], args: Sequence[Any], kwargs: dict) -> Any:
        return torch.func.functional_call(module, dict(zip(names, state)), tuple(args), kwargs)

    return call


def _state(module: Any) -> tuple[list[str], list[Any]]:
    named = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    return list(named), list(named.values())


def aot_module(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """The Module `mod`, with the operators of its forward and backward compiled; arguments as of `aot_function`.

    It has the parameters and buffers of `mod`, whose own they are.
    """
    if not isinstance(mod, torch.nn.Module):
        raise AssertionError(f"aot_module(): expected a Module, got {type(mod).__name__}")

    class AOTModule(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod
            self._names = _state(mod)[0]
            self._compiled = aot_function(_functional_call(mod, self._names), *args, **kwargs)

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self._compiled(_state(self.orig_module)[1], args, kwargs)

    return AOTModule()


def aot_module_simplified(
    mod: Any,
    args: Sequence[Any],
    fw_compiler: Callable,
    bw_compiler: Callable | None = None,
    partition_fn: Callable = partition.default_partition,
    decompositions: dict | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable | None = None,
    **options: Any,
) -> Callable:
    """Callable for back ends: a function of flat tensors in place of the graph module `mod`, whose state is its own.

    `args` are example inputs. TypeError for further options that are not known.
    """
    known = {"cudagraphs", "boxed_forward_device_index", "ignore_shape_env", "disable_functionalization"}
    if set(options) - known:
        raise TypeError(f"aot_module_simplified() got unexpected keyword arguments {sorted(set(options) - known)}")
    del args
    names, _ = _state(mod)
    call = _functional_call(mod, names) if names else None
    count = len(names)

    def flat(*values: Any) -> list:
        results = mod(*values) if call is None else call(values[:count], values[count:], {})
        return list(results) if isinstance(results, (tuple, list)) else [results]

    lowering = Lowering(
        flat,
        fw_compiler,
        bw_compiler,
        partition_fn=partition_fn,
        decompositions=decompositions,
        inference_compiler=inference_compiler,
        keep_inference_input_mutations=keep_inference_input_mutations,
    )

    def forward(*inputs: Any) -> Any:
        return tuple(lowering(*_state(mod)[1], *inputs))

    return forward


SerializableAOTDispatchCompiler = unavailable_class("torch._functorch.aot_autograd.SerializableAOTDispatchCompiler")
aot_export_joint_simple = unavailable_function("torch._functorch.aot_autograd.aot_export_joint_simple")
aot_export_module = unavailable_function(
    "torch._functorch.aot_autograd.aot_export_module", "torch.export.export(module, args).run_decompositions()"
)
setup_stacktrace_preservation_hooks = unavailable_function(
    "torch._functorch.aot_autograd.setup_stacktrace_preservation_hooks"
)
