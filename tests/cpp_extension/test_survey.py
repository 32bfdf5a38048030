"""The names that extensions were counted to use, with their signatures: all of them compile.

survey.json has them. --live compiles the same text against PyTorch, which shows that it asks for what there is.
"""

import importlib
import json
import os
import pathlib
import re
import subprocess
import sysconfig

import pytest

SURVEY = json.loads((pathlib.Path(__file__).parent / "survey.json").read_text())
# Templates are used with one type.
CLASSES = {
    "c10::ArrayRef": "c10::ArrayRef<int64_t>",
    "c10::HeaderOnlyArrayRef": "c10::HeaderOnlyArrayRef<int64_t>",
    "c10::List": "c10::List<int64_t>",
    "c10::OptionalArrayRef": "c10::OptionalArrayRef<int64_t>",
    "ska::flat_hash_map": "ska::flat_hash_map<std::string, c10::IValue>",
    "torch::headeronly::detail::TensorAccessor": "at::TensorAccessor<int16_t, 1>",
    "torch::headeronly::detail::TensorAccessorBase": "at::TensorAccessor<int16_t, 1>",
}


def parts(text):
    """The types of a parameter list, which have commas of their own."""
    found, depth = [""], 0
    for sign in text:
        depth += (sign in "<([") - (sign in ">)]")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [part.strip() for part in found if part.strip()]


def split(signature):
    """Result and parameters of `result (parameters)`."""
    depth = 0
    for place in range(len(signature) - 1, -1, -1):
        depth += (signature[place] == ")") - (signature[place] == "(")
        if not depth:
            return signature[:place].strip(), parts(signature[place + 1 : -1])
    raise AssertionError(signature)


def value(kind):
    return "[](at::Tensor a) { return a; }" if kind == "(lambda)" else f"std::declval<{kind}>()"


def same(expression, result):
    return f"static_assert(std::is_same_v<decltype({expression}), {result}>);"


def function_of_autograd(number, kinds):
    """A torch::autograd::Function that is applied to arguments of these types."""
    applied = f"Applied{number}::apply({', '.join(map(value, kinds))})"
    return (
        f"struct Applied{number} : torch::autograd::Function<Applied{number}> {{\n"
        f"  static torch::autograd::variable_list forward(torch::autograd::AutogradContext*, {', '.join(kinds)});\n"
        "  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*, torch::autograd::variable_list);\n"
        f"}};\n{same(applied, 'torch::autograd::variable_list')}"
    )


def declaration(number, kind, name, signature=""):
    """The C++ text that uses one declaration."""
    owner, _, last = name.rpartition("::")
    owner = CLASSES.get(owner, owner)
    if kind in ("enum_constant_decl", "field_decl"):
        return f"[[maybe_unused]] constexpr auto used{number} = {'&' * (kind == 'field_decl')}{name};"
    if kind == "namespace_alias":
        return f"namespace used{number} = ::{name};"
    if not signature:
        return f"namespace used{number} {{ using ::{name}; }}"
    result, kinds = split(signature)
    given = ", ".join(map(value, kinds))
    if name == "torch::autograd::Function::apply":
        return function_of_autograd(number, kinds)
    if kind == "constructor":
        return f"static_assert(std::is_constructible_v<{', '.join([owner, *kinds])}>);"
    if kind == "conversion_function":
        return f"static_assert(std::is_convertible_v<{owner}, {result}>);"
    if kind == "method":
        this = f"std::declval<{owner}{'' if owner.endswith('RegisterOperators') else '&'}>()"
        if last == "operator[]":
            return (
                same(f"{this}[{given}]", result)
                if "c10::List" not in owner
                else f"using used{number} = decltype({this}[0]);"
            )
        if last == "operator-":
            return same(f"-{this}", result)
        if last == "operator=":
            return same(f"{this} = {given}", result)
        template = ""
        if last in ("data_ptr", "item"):
            template = f"<{result.removesuffix('*').strip()}>"
        elif last == "accessor":
            template = re.search(r"<.*>", result)[0]
        return same(f"{this}.{last}{template}({given})", result)
    if last.startswith("operator"):
        return same(f" {last.removeprefix('operator')} ".join(map(value, kinds)), result)
    return same(f"{name}({given})", result)


def by_name(number, name):
    """The C++ text that names something."""
    owner, _, last = name.rpartition("::")
    if owner.rpartition("::")[2] in SURVEY["classes"]:
        return f"using used{number} = decltype({name});" if last != "Type" else ""
    if name in SURVEY["namespaces"]:
        return f"namespace used{number} = ::{name};"
    return f"namespace used{number} {{ using ::{name}; }}"


def text():
    """The whole translation unit."""
    lines = ["#include <torch/extension.h>", *(f"#include <{header}>" for header in SURVEY["headers"])]
    for macro in SURVEY["macros"]:
        lines += [f"#ifndef {macro}", f"#error {macro}", "#endif"]
    lines += ["namespace survey {", "using namespace at;", "using namespace c10;", "using namespace torch::autograd;"]
    lines += ["using caffe2::TypeMeta;", "using torch::Library;", "using torch::autograd::Variable;"]
    lines += [declaration(number, *row) for number, row in enumerate(SURVEY["declarations"])]
    lines += [by_name(1000 + number, name) for number, name in enumerate(SURVEY["names"])]
    lines += ["struct Methods : at::Tensor {", *(f"using at::Tensor::{name};" for name in SURVEY["methods"]), "};"]
    lines += [f"constexpr auto key_{key} = c10::DispatchKey::{key};" for key in SURVEY["keys"]]
    return "\n".join([*lines, "}", "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}", ""])


def errors_of(which, source, folder):
    """Errors of the compiler against the headers of one."""
    folders = []
    if which == "ours":
        folders.append(pytest.importorskip("pybind11", reason="torch/extension.h needs pybind11").get_include())
    package = importlib.import_module("torch" if which == "live" else "mindtorch_v2")
    folders += importlib.import_module(f"{package.__name__}.utils.cpp_extension").include_paths()
    flags = [f"-isystem{path}" for path in [*folders, sysconfig.get_paths()["include"]]]
    path = folder / "survey.cpp"
    path.write_text(source)
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-w", "-DTORCH_EXTENSION_NAME=survey"]
    command.append("-DTORCH_API_INCLUDE_EXTENSION_H")  # as load() and setup scripts do
    done = subprocess.run([*command, *flags, str(path)], capture_output=True, text=True, check=False)
    return [line for line in done.stderr.splitlines() if "error" in line]


def pytest_generate_tests(metafunc):
    both = ["ours", "live"] if metafunc.config.getoption("--live") else ["ours"]
    metafunc.parametrize("which", both)


def test_all_compile(which, tmp_path):
    assert len(SURVEY["declarations"]) > 200 and len(SURVEY["names"]) > 300
    assert errors_of(which, text(), tmp_path) == []


def test_what_is_missing_is_seen(which, tmp_path):
    """A name, a method, a signature and a macro that do not exist; and those that are known not to be here."""
    absent = SURVEY["absent"] if which == "ours" else []
    source = text().replace(
        "PYBIND11_MODULE(",
        "\n".join(
            [
                "#ifndef SURVEY_NO_SUCH_MACRO",
                "#error SURVEY_NO_SUCH_MACRO",
                "#endif",
                by_name(5000, "at::no_such_function"),
                declaration(5001, "method", "at::Tensor::no_such_method", "at::Tensor ()"),
                declaration(5002, "method", "at::Tensor::dim", "double ()"),
                *(by_name(6000 + number, name) for number, name in enumerate(absent)),
                "PYBIND11_MODULE(",
            ]
        ),
    )
    found = "\n".join(errors_of(which, source, tmp_path))
    for name in ("SURVEY_NO_SUCH_MACRO", "no_such_function", "no_such_method", "static assertion"):
        assert name in found
    for name in absent:
        assert any(part in found for part in name.split("::")[1:]), name
