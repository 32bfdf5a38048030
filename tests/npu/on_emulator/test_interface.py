"""The emulator against misuse of the interface, and the interface's signatures against one another."""

import ctypes
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import aclnn, quirks


@pytest.fixture
def acl(emulator: Any) -> Any:
    return emulator.runtime.libraries.acl


def _misuse(acl: Any, report: Any) -> str:
    messages = report()["messages"]
    acl.emulatorForgetMisuses()
    return messages[-1] if messages else ""


def test_signatures_agree(emulator: Any) -> None:
    """Two statements of each signature, the table that ctypes calls by and the emulator's C++ types, say the same."""
    library = emulator.runtime.libraries.operators[-1]
    library.emulatorSignatures.restype = ctypes.c_char_p
    emulated = dict(line.split(" ") for line in library.emulatorSignatures().decode().splitlines())
    bound = {name: ",".join(codes) for name, codes in aclnn.signatures().items()}
    assert emulated == bound
    for name in bound:
        assert hasattr(library, name) and hasattr(library, name + "GetWorkspaceSize")


def test_a_second_free_is_misuse(acl: Any, report: Any, emulator: Any) -> None:
    address, code = emulator.runtime.malloc(100, 0)
    assert code == 0
    assert acl.aclrtFree(ctypes.c_void_p(address)) == 0
    assert acl.aclrtFree(ctypes.c_void_p(address)) == 107000
    assert "was freed before" in _misuse(acl, report)


def test_copies_are_checked(acl: Any, report: Any, emulator: Any) -> None:
    address, _ = emulator.runtime.malloc(100, 0)
    here = ctypes.create_string_buffer(4096)

    def copy(to: Any, source: Any, size: int, kind: int) -> int:
        return acl.aclrtMemcpy(
            ctypes.c_void_p(to), ctypes.c_size_t(size), ctypes.c_void_p(source), ctypes.c_size_t(size), kind
        )

    host = ctypes.addressof(here)
    assert copy(address, host, 100, 1) == 0
    assert copy(address, host, 1000, 1) == 107000
    assert "beyond an allocation" in _misuse(acl, report)
    assert copy(address, host, 100, 2) == 107000
    assert "the kind says" in _misuse(acl, report)
    acl.aclrtFree(ctypes.c_void_p(address))
    assert copy(host, address, 100, 2) == 107000
    assert "was freed" in _misuse(acl, report)


def test_executors_are_used_once(acl: Any, report: Any, emulator: Any) -> None:
    base, operator = emulator.runtime.libraries.base, aclnn.operator("aclnnInplaceZero")
    if not operator.bound:
        operator.bind()
    address, _ = emulator.runtime.malloc(64, 0)
    one = (ctypes.c_int64 * 1)(4)
    step = (ctypes.c_int64 * 1)(1)
    tensor = base.aclCreateTensor(one, 1, 0, step, 0, 2, one, 1, address)
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    assert operator.first(tensor, ctypes.byref(size), ctypes.byref(executor)) == 0
    assert operator.second(None, 0, executor, None) == 0
    assert operator.second(None, 0, executor, None) != 0
    assert "was used up by an earlier second phase" in _misuse(acl, report)
    assert base.aclDestroyAclOpExecutor(executor) == 561000
    _misuse(acl, report)
    assert base.aclDestroyTensor(tensor) == 0
    assert base.aclDestroyTensor(tensor) != 0
    assert "was destroyed before" in _misuse(acl, report)
    assert operator.first(tensor, ctypes.byref(size), ctypes.byref(executor)) == 161002
    assert "destroyed before it was used" in _misuse(acl, report)
    emulator.runtime.synchronize(0)
    acl.aclrtFree(ctypes.c_void_p(address))


def test_a_view_beyond_its_memory_is_misuse(acl: Any, report: Any, emulator: Any) -> None:
    base, operator = emulator.runtime.libraries.base, aclnn.operator("aclnnInplaceZero")
    address, _ = emulator.runtime.malloc(64, 0)
    many, step = (ctypes.c_int64 * 1)(1000), (ctypes.c_int64 * 1)(1)
    tensor = base.aclCreateTensor(many, 1, 0, step, 0, 2, many, 1, address)
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    assert operator.first(tensor, ctypes.byref(size), ctypes.byref(executor)) == 161002
    assert "beyond an allocation" in _misuse(acl, report)
    base.aclDestroyTensor(tensor)
    acl.aclrtFree(ctypes.c_void_p(address))


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation", "ceil"),
    [(9, 3, 2, 1, 1, False), (8, 2, 2, 0, 1, False), (10, (3, 2), (2, 1), (1, 0), 2, True), (7, 3, 3, 1, 1, True)],
)
def test_the_replacement_of_max_pooling(
    emulator: Any, monkeypatch: Any, size: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> None:
    found = quirks.applying("Ascend910A-emulated", (1, 13, 0))
    assert set(found) == {"aclnnMaxPool2dWithIndices", "aclnnMaxPool2dWithIndicesBackward"}
    assert quirks.applying("Ascend310P3", (1, 13, 0)) and not quirks.applying("Ascend910_9391", (1, 13, 0))
    monkeypatch.setattr(emulator.caller, "quirks", found)
    for name in found:  # as in a process that has not called it yet
        operator = aclnn.operator(name)
        monkeypatch.setattr(operator, "run", operator._first_run)
    x = torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0))
    x[0, 0] = -torch.inf
    grads = []
    for device in ("cpu", "npu"):
        there = x.to(device).requires_grad_()
        values, places = torch.nn.functional.max_pool2d(there, kernel, stride, padding, dilation, ceil, True)
        (grad,) = torch.autograd.grad(values.clamp(min=-9).square().sum(), there)
        grads.append((values.detach().cpu(), places.cpu(), grad.cpu()))
    for ours, theirs in zip(*grads, strict=True):
        assert torch.equal(ours, theirs)


def test_a_quirk_is_called_in_an_operators_place(emulator: Any, monkeypatch: Any) -> None:
    doubled = quirks.Quirk(
        "aclnnAbs",
        "Ascend910B*",
        "1.*",
        "gives half",
        lambda x, out: aclnn.operator("aclnnAdd")(x, x, 1, out),
        "planted",
    )
    other = quirks.Quirk("aclnnNeg", "Ascend310*", "*", "is not there", lambda *_: None, "planted")
    monkeypatch.setattr(quirks, "QUIRKS", [doubled, other])
    found = quirks.applying(emulator.runtime.soc_name(), emulator.runtime.version())
    assert found == {"aclnnAbs": doubled}
    monkeypatch.setattr(emulator.caller, "quirks", found)
    fresh = aclnn.Operator("aclnnAbs", ("T", "T"))
    x, y = torch.ones(3, device="npu"), torch.empty(3, device="npu")
    fresh(x, y)
    assert y.tolist() == [2.0, 2.0, 2.0]
    aclnn.Operator("aclnnNeg", ("T", "T"))(x, y)
    assert y.tolist() == [-1.0, -1.0, -1.0]
