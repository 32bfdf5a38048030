"""Filters of guards, marks and caches of `torch.compiler`, as PyTorch's answer."""

import types

import numpy
import pytest
from agreement import same, same_error

import mindtorch_v2 as torch


def _entries(torch):
    module = types.SimpleNamespace(
        is_unspecialized_nn_module=lambda: True, is_unspecialized_builtin_nn_module=lambda: False
    )
    other = types.SimpleNamespace(
        is_unspecialized_nn_module=lambda: False, is_unspecialized_builtin_nn_module=lambda: False
    )
    built_in = types.SimpleNamespace(
        is_unspecialized_nn_module=lambda: True, is_unspecialized_builtin_nn_module=lambda: True
    )
    return [
        types.SimpleNamespace(
            guard_type=kind, is_global=is_global, value=value, orig_guard=types.SimpleNamespace(source=source)
        )
        for kind, is_global, value, source in [
            ("GLOBAL_STATE", False, None, other),
            ("SHAPE_ENV", True, None, other),
            ("TENSOR_MATCH", False, torch.ones(1), module),
            ("TENSOR_MATCH", True, torch.ones(1), built_in),
            ("TENSOR_MATCH", False, torch.nn.Parameter(torch.ones(1)), other),
            ("ID_MATCH", True, 3, other),
        ]
    ]


@pytest.mark.parametrize(
    "name",
    """keep_portable_guards_unsafe keep_tensor_guards_unsafe skip_all_guards_unsafe skip_guard_on_all_nn_modules_unsafe
    skip_guard_on_globals_unsafe skip_guard_on_inbuilt_nn_modules_unsafe""".split(),
)
def test_guards_that_a_filter_keeps(name):
    same(lambda torch: getattr(torch.compiler, name)(_entries(torch)))


def test_guards_on_parameters_are_kept_if_asked_for():
    same(lambda torch: torch.compiler.keep_tensor_guards_unsafe(_entries(torch), keep_parameters=True))


def test_a_filter_is_taken_by_every_back_end_and_guards_stay():
    seen = []

    def backend(graph, inputs, **kwargs):
        seen.append(kwargs)
        return graph.forward

    options = {"guard_filter_fn": torch.compiler.skip_all_guards_unsafe, "level": 2}
    compiled = torch.compile(lambda x: x * 2, backend=backend, options=options)
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert compiled(torch.ones(2, dtype=torch.int64)).dtype == torch.int64
    assert seen == [{"options": {"level": 2}}] * 2 and "guard_filter_fn" in options


def test_a_region_is_the_function_as_it_was():
    for torch_compile in (lambda torch, f: f, lambda torch, f: torch.compile(f, backend="eager", fullgraph=True)):

        def program(torch, torch_compile=torch_compile):
            layer = torch.compiler.nested_compile_region(lambda x, bias: x.relu() * 2 + bias)
            again = torch.compiler.nested_compile_region(max_reuse_entries=2)(layer)
            return torch_compile(torch, lambda x: again(layer(x, 1), 0.5))(torch.tensor([-1.0, 2.0]))

        same(program)
    same_error(lambda torch: torch.compiler.nested_compile_region(lambda x: x, options=3))


def test_functions_of_arrays_take_tensors():
    def program(torch):
        wrapped = torch.compiler.wrap_numpy(lambda a, *, b: {"sum": numpy.add(a, b["x"]), "n": 3})
        return wrapped(torch.arange(3), b={"x": torch.ones(3)})

    same(program)
    same_error(lambda torch: torch.compiler.wrap_numpy(numpy.sin)(torch.ones(2, requires_grad=True)))


def test_nothing_compiled_is_kept():
    same(lambda torch: torch.compiler.save_cache_artifacts())
    info = torch.compiler.CacheInfo()
    info.artifacts["inductor"].append("key")
    assert not info.empty()
    info.clear()
    assert info.empty() and torch.compiler.load_cache_artifacts(b"old") is None
