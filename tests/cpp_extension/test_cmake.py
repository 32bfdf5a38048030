"""`find_package(Torch)`: a project of CMake finds headers and libraries, and what it builds is loaded."""

import shutil
import subprocess
import sys

import pytest

import mindtorch_v2 as torch

from .processes import environment

pytestmark = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("ninja") is None, reason="it needs CMake and Ninja"
)

PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(found LANGUAGES CXX)
find_package(Torch @VERSION@ REQUIRED)
add_library(found_operators SHARED operators.cpp)
target_link_libraries(found_operators PRIVATE ${TORCH_LIBRARIES})
add_library(by_variables SHARED operators.cpp)
target_include_directories(by_variables PRIVATE ${TORCH_INCLUDE_DIRS})
target_compile_definitions(by_variables PRIVATE BY_VARIABLES)
target_link_libraries(by_variables PRIVATE ${TORCH_LIBRARY} ${C10_LIBRARY})
find_library(TORCH_PYTHON_LIBRARY torch_python PATHS "${TORCH_INSTALL_PREFIX}/lib" NO_DEFAULT_PATH REQUIRED)
message(STATUS "Torch_VERSION=${Torch_VERSION} TORCH_FOUND=${TORCH_FOUND} TORCH_CXX_FLAGS=${TORCH_CXX_FLAGS}")
foreach(name torch torch_cpu c10)
  if(NOT TARGET ${name})
    message(FATAL_ERROR "no target ${name}")
  endif()
endforeach()
"""
OPERATORS = """
#include <ATen/ATen.h>
#include <torch/library.h>
at::Tensor doubled(const at::Tensor& x) { return x + x; }
#ifdef BY_VARIABLES
TORCH_LIBRARY(found_by_variables, m) { m.def("doubled", &doubled); }
#else
TORCH_LIBRARY(found_by_target, m) { m.def("doubled", &doubled); }
#endif
"""


def _configure(folder, version=""):
    folder.joinpath("CMakeLists.txt").write_text(PROJECT.replace("@VERSION@", version))
    folder.joinpath("operators.cpp").write_text(OPERATORS)
    command = ["cmake", "-GNinja", "-S", str(folder), "-B", str(folder / "build")]
    command.append(f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}")
    return subprocess.run(command, capture_output=True, text=True)


def test_a_project_is_built_and_loaded(tmp_path):
    configured = _configure(tmp_path, "2.1")
    assert configured.returncode == 0, configured.stderr
    expected = "Torch_VERSION=2.13.0 TORCH_FOUND=TRUE TORCH_CXX_FLAGS=-D_GLIBCXX_USE_CXX11_ABI=1"
    assert expected in configured.stdout
    subprocess.run(["cmake", "--build", str(tmp_path / "build")], check=True, capture_output=True)
    for name, namespace in (("found_operators", "found_by_target"), ("by_variables", "found_by_variables")):
        torch.ops.load_library(str(tmp_path / "build" / f"lib{name}.so"))
        assert getattr(torch.ops, namespace).doubled(torch.ones(2)).tolist() == [2, 2]


def test_a_later_version_is_not_found(tmp_path):
    configured = _configure(tmp_path, "99.0")
    assert configured.returncode != 0
    assert "version: 2.13.0" in configured.stderr


def test_the_folder_is_known_when_it_is_asked_for():
    code = "import sys, mindtorch_v2 as t; t.utils; print('mindtorch_v2.utils._cpp_headers' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert shown.stdout.strip() == "False"
