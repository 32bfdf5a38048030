"""How `ascendc_load` builds with CANN: here with an `ascendc.cmake` that stands in for CANN's, and compiles with the host's compiler."""

import pathlib
import shutil
from typing import Any

import pytest

from mindtorch_v2._backends.npu import ascendc

_CMAKE = """
function(ascendc_library target kind)
  add_library(${target} ${kind} ${ARGN})
  file(WRITE ${CMAKE_BINARY_DIR}/include/${target}/aclrtlaunch_twice.h "// ${SOC_VERSION} ${RUN_MODE}\\n")
endfunction()
function(ascendc_include_directories target scope)
  target_include_directories(${target} ${scope} ${ARGN})
endfunction()
function(ascendc_compile_options target scope)
  target_compile_options(${target} ${scope} ${ARGN})
endfunction()
"""


@pytest.fixture
def toolkit(tmp_path: Any, monkeypatch: Any) -> pathlib.Path:
    """An installation that has nothing but the build file."""
    folder = tmp_path / "cann/compiler/tikcpp/ascendc_kernel_cmake"
    folder.mkdir(parents=True)
    (folder / "ascendc.cmake").write_text(_CMAKE)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path / "cann"))
    return tmp_path


@pytest.mark.skipif(
    not (shutil.which("cmake") and (shutil.which("g++") or shutil.which("c++")) and shutil.which("make")),
    reason="needs cmake, make and a C++ compiler",
)
def test_the_library_and_its_headers_are_kept(toolkit: pathlib.Path) -> None:
    source, include = toolkit / "twice.cpp", toolkit / "include"
    include.mkdir()
    (include / "two.h").write_text("constexpr int kTwo = 2;\n")
    source.write_text(
        '#include "two.h"\nextern "C" int aclrtlaunch_twice(unsigned, void*, int n) { return BASE + kTwo * n; }\n'
    )
    build = ascendc._CannBuild("mine", "Ascend910B1", ["-DBASE=5"], [include])
    work = toolkit / "work"
    work.mkdir()
    build.run(work, {source: [("twice", "int32_t n")]}, False)
    assert (work / "libmine.so").exists()
    assert (work / "aclrtlaunch_twice.h").read_text() == "// Ascend910B1 npu\n"
    assert build.identity() != ascendc._CannBuild("mine", "Ascend910B3", ["-DBASE=5"], [include]).identity()
    (toolkit / "twice.cpp").write_text("no C++\n")
    again = toolkit / "again"
    again.mkdir()
    with pytest.raises(RuntimeError, match=r"ascendc_load: the build failed(.|\n)*twice.cpp"):
        build.run(again, {source: [("twice", "int32_t n")]}, False)


def test_a_toolkit_without_the_build_file_is_named(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"ascendc.cmake was not found(.|\n)*tools/tikcpp/ascendc_kernel_cmake"):
        ascendc._CannBuild("mine", "Ascend910B1", [], [])
