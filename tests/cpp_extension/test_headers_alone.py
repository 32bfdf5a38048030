"""Programs that include one header of PyTorch's and use what it brings with it."""

import pytest

from .test_survey import errors_of

PROGRAMS = {
    "ATen/ATen.h": 'void f(at::Tensor x) { AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] { x.data_ptr<scalar_t>(); }); }',
    "torch/library.h": 'struct C : torch::CustomClassHolder {}; TORCH_LIBRARY(a, m) { m.class_<C>("C").def(torch::init<>()); }',
    "torch/torch.h": 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", [](torch::Tensor x) { return x; }); }',
    "torch/data.h": "at::Tensor f() { return torch::ones({2}); }",
    "torch/script.h": "ska_ordered::order_preserving_flat_hash_map<std::string, int64_t> f() { return {}; }",
    "torch/extension.h": "bool f(PyObject* o) { return THPDtype_Check(o) || THPUtils_checkLong(o) || THPVariable_Check(o); }",
}


def pytest_generate_tests(metafunc):
    both = ["ours", "live"] if metafunc.config.getoption("--live") else ["ours"]
    metafunc.parametrize("which", both)


@pytest.mark.parametrize("header", PROGRAMS)
def test_one_header(which, header, tmp_path):
    assert errors_of(which, f"#include <{header}>\n{PROGRAMS[header]}\n", tmp_path) == []


def test_what_a_header_lacks_is_seen(which, tmp_path):
    assert errors_of(which, "#include <torch/types.h>\nusing torch::no_such_name;\n", tmp_path)
