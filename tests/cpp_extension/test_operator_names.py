"""Every operator that is registered here has its function, its form with `out` and its method in C++ where PyTorch has.

operator_names.json has the names of PyTorch 2.13's headers.
"""

import json
import pathlib
import re

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.utils import _cpp_headers

PYTORCH = json.loads((pathlib.Path(__file__).parent / "operator_names.json").read_text())
# Backward with a list of inputs, and a method that gives a scheme: by hand, or not at all.
WITHOUT = {"functions": set(), "outs": set(), "methods": {"_backward", "qscheme"}}


def pytorch(kind):
    return {name for line in PYTORCH[kind] for name in line.split()}


@pytest.fixture(scope="module")
def here():
    """The names that the headers define."""
    installed = _cpp_headers.installed_include_path() / "mindtorch"
    generated = _cpp_headers.generated_include_path() / "mindtorch" / "generated"
    functions = (generated / "functions.h").read_text() + (installed / "functions.h").read_text()
    methods = (generated / "methods.h").read_text() + (installed / "tensor.h").read_text()
    defined = set(re.findall(r"^inline [^\n(]*?[ &](\w+)\(", functions, re.MULTILINE))
    return {
        "functions": {name for name in defined if not name.endswith("_out")},
        "outs": {name.removesuffix("_out") for name in defined if name.endswith("_out")},
        "methods": set(re.findall(r"[ &](\w+)\(", methods)),
    }


@pytest.mark.parametrize("kind", ["functions", "outs", "methods"])
def test_names(here, kind):
    operators = [handle for handle in _C._all_operators() if handle.namespace == "aten"]
    if kind == "outs":
        operators = [h for h in operators if any(a["is_write"] and a["kwarg_only"] for a in h.arguments)]
    wanted = {handle.name for handle in operators} & pytorch(kind)
    assert len(wanted) > {"functions": 900, "outs": 550, "methods": 400}[kind]
    assert wanted - here[kind] == WITHOUT[kind]


def test_operators_that_are_registered_later(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    functions = "mindtorch/generated/functions.h"
    before = _cpp_headers.generated_include_path()
    assert "at::Tensor named_later(" not in (before / functions).read_text()
    with torch.library._scoped_library("aten", "FRAGMENT") as library:
        library.define("named_later(Tensor self) -> Tensor")
        after = _cpp_headers.generated_include_path()
        assert "at::Tensor named_later(const at::Tensor& self)" in (after / functions).read_text()
    assert _cpp_headers.generated_include_path() == before
