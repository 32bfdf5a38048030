"""Operators of users' packages: found as CANN finds them, called by the signature of their header."""

import pathlib
import shutil
import subprocess
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import custom_kernel
from mindtorch_v2._backends.npu.custom_kernel import aclnn_codes, kernel_codes
from mindtorch_v2.npu import AclnnLauncher, NPUError

# A package's library: an operator of its own name, whose work aclnnAdds does.
_LIBRARY = """
#include <cstdint>
extern "C" {
struct aclTensor; struct aclScalar; struct aclOpExecutor; struct aclFloatArray;
int32_t aclnnAddsGetWorkspaceSize(const aclTensor*, const aclScalar*, const aclScalar*, aclTensor*, uint64_t*, aclOpExecutor**);
int32_t aclnnAdds(void*, uint64_t, aclOpExecutor*, void*);
aclScalar* aclCreateScalar(void*, int);
int32_t aclDestroyScalar(const aclScalar*);
int32_t aclGetFloatArraySize(const aclFloatArray*, uint64_t*);
int32_t aclnnShiftCustomGetWorkspaceSize(const aclTensor* x, float by, const aclFloatArray* more, const aclTensor* y,
                                         uint64_t* size, aclOpExecutor** executor) {
    uint64_t extra = 0;
    if (more) aclGetFloatArraySize(more, &extra);
    double value = double(by) + double(extra), one = 1;
    aclScalar *a = aclCreateScalar(&value, 11), *b = aclCreateScalar(&one, 11);
    int32_t code = aclnnAddsGetWorkspaceSize(x, a, b, const_cast<aclTensor*>(y), size, executor);
    aclDestroyScalar(a);
    aclDestroyScalar(b);
    return code;
}
int32_t aclnnShiftCustom(void* workspace, uint64_t size, aclOpExecutor* executor, void* stream) {
    return aclnnAdds(workspace, size, executor, stream);
}
}
"""
_HEADER = """
aclnnStatus aclnnShiftCustomGetWorkspaceSize(
    const aclTensor *x, float by, const aclFloatArray *moreOptional, const aclTensor *out,
    uint64_t *workspaceSize, aclOpExecutor **executor);
aclnnStatus aclnnShiftCustom(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: Any) -> Any:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    root = tmp_path_factory.mktemp("package")
    for folder in ("lib", "include"):
        (root / "op_api" / folder).mkdir(parents=True)
    (root / "op_api/include/aclnn_shift_custom.h").write_text(_HEADER)
    (root / "shift.cpp").write_text(_LIBRARY)
    library = root / "op_api/lib/libcust_opapi.so"
    subprocess.run([compiler, "-shared", "-fPIC", root / "shift.cpp", "-o", library], check=True)
    return root


def test_a_package_is_found_by_its_path_and_by_the_environment(package: Any, monkeypatch: Any) -> None:
    x, y = torch.randn(5, device="npu"), torch.empty(5, device="npu")
    AclnnLauncher(package / "op_api/lib/libcust_opapi.so").launch("aclnnShiftCustom", x, 0.5, None, y)
    assert torch.equal(y.cpu(), x.cpu() + 0.5)
    launcher = AclnnLauncher()
    with pytest.raises(NotImplementedError, match=r"aclnnShiftCustom or .* Tried:\n(.|\n)*libopapi.so"):
        launcher.launch("aclnnShiftCustom", x, 0.5, None, y)
    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", f"/nowhere:{package}")
    launcher.launch("aclnnShiftCustom", x, 1.0, [1.0, 2.0], y)  # the environment is read at each look-up
    assert torch.equal(y.cpu(), x.cpu() + 3)
    with pytest.raises(NotImplementedError, match="/nowhere/op_api/lib/libcust_opapi.so"):
        launcher.launch("aclnnNothing", x)


def test_a_vendor_is_found_in_the_order_of_its_configuration(package: Any, tmp_path: Any, monkeypatch: Any) -> None:
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "config.ini").write_text("load_priority=missing,mine\n")
    (vendors / "mine").symlink_to(package, target_is_directory=True)
    monkeypatch.setenv("ASCEND_OPP_PATH", str(tmp_path))
    x, y = torch.randn(5, device="npu"), torch.empty(5, device="npu")
    AclnnLauncher().launch("aclnnShiftCustom", x, -1.0, None, y)
    assert torch.equal(y.cpu(), x.cpu() - 1)


def test_operators_of_cann_need_a_signature_where_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = torch.randn(3), torch.empty(3, device="npu")
    launcher = AclnnLauncher()
    launcher.launch("aclnnAbs", x.npu(), y, signature="const aclTensor *self, aclTensor *out")
    assert torch.equal(y.cpu(), x.abs())
    launcher.launch("aclnnNeg", x.npu(), y)
    assert torch.equal(y.cpu(), -x)
    monkeypatch.setattr(custom_kernel, "signatures", dict)
    with pytest.raises(ValueError, match="aclnnAbs: its signature is not known"):
        launcher.launch("aclnnAbs", x.npu(), y)
    with pytest.raises(TypeError, match="aclnnAbs\\(\\) missing 1 required positional argument"):
        launcher.launch("aclnnAbs", y, signature="const aclTensor *self, aclTensor *out")
    with pytest.raises(NPUError, match="aclnnAbsGetWorkspaceSize returned 16100"):
        launcher.launch("aclnnAbs", y, y[:2], signature="const aclTensor *self, aclTensor *out")


def test_types_of_c() -> None:
    assert aclnn_codes(
        "const aclTensor *x, const aclTensorList *xs, const aclScalar *alpha, int64_t dim, bool keep"
    ) == (*("T", "TL", "S", "i64", "b"),)
    assert aclnn_codes("const aclIntArray* a, const char *mode, double eps, aclDataType d, const aclTensor *out") == (
        *("IA", "str", "f64", "dt", "T"),
    )
    with pytest.raises(ValueError, match=r"'FILE \*f': FILE\* is no type of an ACLNN operator's parameter"):
        aclnn_codes("FILE *f")
    assert kernel_codes(
        "GM_ADDR x, __gm__ float* y, const uint32_t n, float alpha, half h, unsigned int k, Tiling t"
    ) == (*("pointer", "pointer", "uint32", "float32", "half", "uint32", "struct"),)
    assert kernel_codes("void* x, /* y, */ long long n // last\n") == ("pointer", "int64")


def test_a_generated_header_gives_the_types(tmp_path: Any) -> None:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    from mindtorch_v2.npu import KernelLauncher

    source = tmp_path / "stub.c"
    source.write_text(
        "static double last;\nunsigned aclrtlaunch_scale(unsigned blocks, void* stream, void* x, float by, int n)"
        "{ last = by * n * blocks; return 0; }\ndouble told(void) { return last; }\n"
        "unsigned aclrtlaunch_other(unsigned blocks, void* stream, void* x) { return 507000; }\n"
    )
    (tmp_path / "lib").mkdir()
    subprocess.run([compiler, "-x", "c", "-shared", "-fPIC", source, "-o", tmp_path / "lib/libk.so"], check=True)
    (tmp_path / "include/k").mkdir(parents=True)
    (tmp_path / "include/k/aclrtlaunch_scale.h").write_text(
        "#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel\n"
        'extern "C" uint32_t aclrtlaunch_scale(uint32_t blockDim, aclrtStream stream, void* x, float by, int32_t n);\n'
    )
    launcher = KernelLauncher(tmp_path / "lib/libk.so")
    x = torch.ones(2, device="npu")
    launcher.launch("scale", 3, [x, 0.5, -4])
    import ctypes

    told = ctypes.CDLL(str(pathlib.Path(tmp_path / "lib/libk.so"))).told
    told.restype = ctypes.c_double
    assert told() == -6.0
    with pytest.raises(NPUError, match=r"aclrtlaunch_other returned 507000 \(internal error of the runtime\)"):
        launcher.launch("other", 1, [x])
    with pytest.raises(TypeError, match="the type that the kernel takes is not known"):
        launcher.launch("other", 1, [0.5])
    stated = KernelLauncher(tmp_path / "lib/libk.so", {"scale": "GM_ADDR x, float by, int n"})
    with pytest.raises(TypeError, match=r"scale takes 3 arguments \(pointer, float32, int32\), 1 were given"):
        stated.launch("scale", 1, [x])
