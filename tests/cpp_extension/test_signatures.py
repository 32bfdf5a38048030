"""Every function and method that PyTorch's headers declare for an operator that is registered here: parameters and result, by type.

With --live, as the declarations are read from PyTorch's own headers. Operators that are not registered here are left out.
"""

import importlib
import pathlib
import re

import pytest

from mindtorch_v2 import _C

from .test_survey import errors_of, parts

# Quantised and sparse results, and oneDNN's: PyTorch has forms with `out`, which are no rows here.
NO_OUT = re.compile(
    "_copy_from|_copy_from_and_resize|_empty_affine_quantized|_empty_per_channel_affine_quantized|empty_quantized|"
    "_make_per_(channel|tensor)_quantized_tensor|_sparse_coo_tensor_with_dims|hspmm|native_norm|sspaddmm|to_mkldnn|"
    "quantized_batch_norm|quantized_max_pool[123]d"
)
# Forms that are CUDA's alone, whose rows have other results, or that take a storage as an operator does.
ELSEWHERE = re.compile(
    r"(addmm|baddbmm|bmm|mm)(_outf?)?\(.*const at::Tensor ?&, (const at::Tensor ?&, )?at::ScalarType|"
    r"_(efficient_attention|flash_attention)_forward\(|set(_outf?)?\(.*at::Storage|qscheme\(|_backward\("
)
FUNCTION = re.compile(r"^inline\s+([^\n{}()]*?)\s*\b(\w+)\(([^{}]*?)\)\s*\{", re.MULTILINE)
RESULTS = r"at::Tensor &|at::Tensor|::std::tuple<[^(]*>|::std::vector<[^(]*>|bool|void|int64_t|double|at::\w+"
METHOD = re.compile(rf"^  ({RESULTS})\s+(\w+)\(([^\n]*)\) const;", re.MULTILINE)


def types(parameters):
    """The types of a parameter list, without names and defaults."""
    without_defaults = re.sub(r"\s*=\s*(\{[^}]*\}|[^,]*)", "", " ".join(parameters.split()))
    return [re.sub(r"\s*\b\w+$", "", part).strip() for part in parts(without_defaults)]


def declared():
    """(whether a method, result, name, types of the parameters) of all in PyTorch's headers, sizes as numbers."""
    root = pathlib.Path(importlib.import_module("torch").__file__).parent / "include" / "ATen"
    for path in sorted((root / "ops").glob("*.h")):
        if not path.name.endswith(("_ops.h", "_native.h", "_dispatch.h", "_meta.h")):
            yield from ((False, *each) for each in FUNCTION.findall(path.read_text()))
    yield from ((True, *each) for each in METHOD.findall((root / "core" / "TensorBody.h").read_text()))


def asked():
    """C++ that asks whether each call has PyTorch's result type."""
    here = {handle.name for handle in _C._all_operators() if handle.namespace == "aten"}
    for method, result, name, parameters in declared():
        without_out = re.sub("_outf?$", "", name)
        call = f"{name}({', '.join(types(parameters))})"
        if without_out not in here or "SymInt" in parameters or "SymInt" in result or "sym" in name:
            continue
        if ELSEWHERE.match(call) or (name != without_out and NO_OUT.fullmatch(without_out)):
            continue
        place = "std::declval<const at::Tensor&>()." if method else "at::"
        given = ", ".join(f"std::declval<{kind}>()" for kind in types(parameters))
        made = f"decltype({place}{name}({given}))"
        yield f'static_assert(std::is_same_v<{made}, {result or "void"}>, "{call}");'


def source_of(lines):
    return "\n".join(["#include <torch/extension.h>", "namespace at {", *lines, "}", ""])


@pytest.fixture(scope="module")
def lines(request):
    if not request.config.getoption("--live"):
        pytest.skip("with --live: it reads PyTorch's headers")
    return list(asked())


@pytest.mark.parametrize("which", ["ours", "live"])
def test_all_fit(lines, which, tmp_path):
    assert len(lines) > 3900
    assert errors_of(which, source_of(lines), tmp_path) == []


def test_what_does_not_fit_is_seen(lines, tmp_path):
    wrong = [line.replace("at::add(", "at::add_not(").replace(", at::Tensor>", ", double>") for line in lines[:200]]
    assert len(errors_of("ours", source_of(wrong), tmp_path)) > 50
