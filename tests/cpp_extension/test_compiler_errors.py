"""Messages for C++ code that does not compile: first the user's line, and the names that our headers lack."""

import pytest

from mindtorch_v2.utils import cpp_extension
from mindtorch_v2.utils._compiler_errors import errors_first

# One line of the source each, and the name that is said to be absent.
ABSENT = {
    "at::Tensor a(at::Tensor x) { return at::no_such_function(x); }": "at::no_such_function",
    "at::Tensor b(at::Tensor x) { return torch::no_such_operator(x, 3); }": "torch::no_such_operator",
    "at::Tensor c(const at::Tensor& x) { return x.no_such_method(1); }": "at::Tensor::no_such_method",
    "at::Tensor d(at::Tensor x) { return at::no_space::f(x); }": "at::no_space",
    "at::Tensor e(at::Tensor x) { c10::NoSuchClass made; return x; }": "c10::NoSuchClass",
    "auto f(at::Tensor x) { return torch::jit::no_such_loader(x); }": "torch::jit::no_such_loader",
    "auto g(at::Tensor x) { return at::cuda::getNoSuchStream(); }": "at::cuda::getNoSuchStream",
    'void h(at::Tensor x) { AT_DISPATCH_NO_SUCH_TYPES(x.scalar_type(), "h", [&] {}); }': "AT_DISPATCH_NO_SUCH_TYPES",
    'void i(at::Tensor x) { TORCH_NO_SUCH_CHECK(x.defined(), "i"); }': "TORCH_NO_SUCH_CHECK",
    "auto j(at::TensorOptions o) { return o.no_such_option(1); }": "c10::TensorOptions::no_such_option",
}
# One line each, and what an error in a header says of it.
TEMPLATES = {
    'TORCH_LIBRARY(errors_a, m) { m.def("f", [](std::map<int, int> given) { return 1; }); }': "no operator takes or gives a value",
    "std::string k(at::Tensor x) { return x.item<std::string>(); }": "this C++ type is no type of a number",
}


def failure(tmp_path, lines):
    """Lines at the top of the message for a file of these lines."""
    source = tmp_path / "user.cpp"
    source.write_text("\n".join(["#include <torch/extension.h>", *lines]) + "\n")
    with pytest.raises(RuntimeError, match="Error building extension 'errors'") as raised:
        cpp_extension.load("errors", [str(source)], ["-O0"], build_directory=str(tmp_path), is_python_module=False)
    head, _, rest = str(raised.value).partition("\n\n")
    assert rest, "the compiler's own output follows"
    return head.splitlines()


def test_absent_names(tmp_path):
    head = failure(tmp_path, ABSENT)
    for number, name in enumerate(ABSENT.values(), 2):
        assert f"mindtorch_v2's C++ headers have no {name}; docs/cpp-operators.md lists what there is" in head
        assert number > 8 or any(f"user.cpp:{number}:" in line for line in head)
    assert "user.cpp:2:" in head[0]
    assert len(head) < 20


@pytest.mark.parametrize("line", TEMPLATES)
def test_errors_in_headers_behind_the_users_line(tmp_path, line):
    head = failure(tmp_path, [line])
    assert "user.cpp:2:" in head[0], head
    assert TEMPLATES[line] in head[1]
    assert len(head) < 8


CLANG = """\
In file included from /home/me/main.cpp:1:
../ours/mindtorch/ivalue.h:394:5: error: static_assert failed "no operator takes or gives a value of this C++ type"
    static_assert(sizeof(T) == 0, "no operator takes");
../ours/mindtorch/library.h:79:70: note: in instantiation of template class 'mindtorch::Convert<int>' requested here
/home/me/main.cpp:3:96: note: in instantiation of function template specialization 'torch::Library::def' requested here
/home/me/main.cpp:9:46: error: no member named 'nothing' in 'at::Tensor'
2 errors generated.
"""


def test_clang_names_the_users_line_below():
    head = errors_first(CLANG, "/home/build", ["/home/ours"]).partition("\n\n")[0].splitlines()
    assert [line.split(":")[0].rpartition("/")[2] for line in head[:3]] == ["main.cpp", "ivalue.h", "main.cpp"]
    assert head[0].startswith("/home/me/main.cpp:3:96:")
    assert (
        head[3] == "mindtorch_v2's C++ headers have no at::Tensor::nothing; docs/cpp-operators.md lists what there is"
    )


def test_output_without_errors_stays():
    assert errors_first("ninja: no work to do.") == "ninja: no work to do."
