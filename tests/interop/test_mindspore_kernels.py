"""MindSpore's primitives below our operators.

`make test-mindspore` runs these on MindSpore itself. Elsewhere `tests/support/mindspore_stand_in.py` has primitives over NumPy:
that shows how kernels are put in place, counted and taken away, and nothing about MindSpore.
"""

import importlib
import sys
import threading
import warnings

import mindspore_stand_in
import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import ROWS
from mindtorch_v2.backends import mindspore
from mindtorch_v2.backends.mindspore import _provider
from mindtorch_v2.status import OP_STATUS

REAL = mindspore_stand_in.real()
CLEAR = _provider.primitive.cache_clear  # tests put another function there


@pytest.fixture(autouse=True)
def _provided(monkeypatch):
    """MindSpore, or the modules in its place; nothing enabled before or after."""
    CLEAR()
    if not REAL:
        for name, module in mindspore_stand_in.MODULES.items():
            monkeypatch.setitem(sys.modules, name, module)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module("mindspore")
    yield
    mindspore.disable()
    CLEAR()


def test_what_is_enabled_serves_until_it_is_disabled():
    kernels = {name: ROWS[name].handle.kernels()["CPU"] for name in ("add.Tensor", "exp", "mul.Tensor")}
    assert not mindspore.is_enabled()
    mindspore.enable(["add", "exp"])
    assert mindspore.is_enabled()
    assert ROWS["exp"].handle.kernels()["CPU"].provider == "mindspore"
    assert [OP_STATUS[name]["mindspore"] for name in ("exp", "add", "frac")] == ["native", "native", "missing"]
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = torch.exp(x.detach()) + torch.ones(2, 2)
    torch.add(x, x, alpha=3).sum().backward()
    assert np.allclose(y.numpy(), np.exp(x.detach().numpy()) + 1, rtol=1e-5)
    assert x.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]
    report = mindspore.report()
    assert report.enabled
    assert report.served["aten::exp"] == 1
    assert report.served["aten::add.Tensor"] >= 2
    assert report.primitives["aten::add.Tensor"] == "add_ext"
    assert "aten::exp by exp: 1" in str(report)
    mindspore.disable()
    assert "mindspore" not in OP_STATUS["exp"]
    assert {name: ROWS[name].handle.kernels()["CPU"] for name in kernels} == kernels
    torch.exp(x)
    after = mindspore.report()
    assert not after.enabled and after.served == report.served
    mindspore.disable()  # a second time does nothing


def test_calls_that_a_primitive_cannot_do_are_counted_with_the_reason():
    mindspore.enable(["exp", "add.Tensor"])
    assert torch.exp(torch.ones(2, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert torch.exp(torch.ones(0)).shape == (0,)
    assert (torch.ones(2) + torch.ones(2, dtype=torch.int64)).dtype == torch.float32
    assert torch.exp(torch.ones(2)).dtype == torch.float32
    report = mindspore.report()
    assert report.ours == {"aten::exp": {"dtype": 1, "no elements": 1}, "aten::add.Tensor": {"dtype": 1}}
    assert report.served == {"aten::exp": 1}
    assert "aten::exp: 1 (dtype), 1 (no elements)" in str(report)


def test_operators_without_a_primitive_are_counted():
    mindspore.enable()
    x = torch.ones(2)
    x.mul_(3.0)  # only functional forms have primitives
    assert torch.frac(x).tolist() == [0.0, 0.0]
    x.view(2, 1)  # computes nothing
    report = mindspore.report()
    assert report.ours["aten::frac"] == {"no primitive": 1}
    assert report.ours["aten::mul_.Tensor" if "aten::mul_.Tensor" in report.ours else "aten::mul_.Scalar"] == {
        "no primitive": 1
    }
    assert not any("view" in name for name in report.ours)


def test_a_second_call_starts_anew():
    mindspore.enable(["exp"])
    torch.exp(torch.ones(2))
    mindspore.enable(["abs"])
    assert mindspore.report().served == {}
    torch.exp(torch.ones(2))
    torch.abs(torch.ones(2))
    assert mindspore.report().served == {"aten::abs": 1}


def test_a_primitive_that_fails_names_the_way_back(monkeypatch):
    def failing(*values):
        raise RuntimeError("----\n\nThe kernel Exp unregistered.\n\nC++ call stack")

    monkeypatch.setattr(_provider, "primitive", lambda name, *attributes: failing)
    mindspore.enable(["exp"])
    with pytest.raises(
        RuntimeError, match=r"^aten::exp: MindSpore's primitive exp failed: The kernel Exp unregistered\. "
    ) as told:
        torch.exp(torch.ones(2))
    assert "backends.mindspore.disable() goes back to our kernels" in str(told.value)
    assert mindspore.report().served == {}
    mindspore.disable()
    assert torch.exp(torch.zeros(1)).item() == 1


def test_names_are_checked():
    with pytest.raises(ValueError, match=r"no primitive for the operator 'frac'; .*operators\(\)"):
        mindspore.enable(["exp", "frac"])
    with pytest.raises(TypeError, match="ops is a list of names"):
        mindspore.enable("exp")
    assert not mindspore.is_enabled()


def test_without_mindspore_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mindspore", None)
    with pytest.raises(ImportError, match=r"pip install 'mindtorch_v2\[mindspore\]'"):
        mindspore.enable()


def test_every_row_names_an_operator_and_its_arguments():
    for name in mindspore.operators():
        assert "CPU" in ROWS[name].handle.kernels()
    for row in mindspore.TABLE:
        arguments = {each["name"] for each in ROWS[row.operator].handle.arguments}
        for field in (row.order, row.attributes, row.only or "", row.others):
            named = (
                field.split() if isinstance(field, str) else field.__code__.co_varnames[: field.__code__.co_argcount]
            )
            assert set(named) <= arguments, row


def test_what_others_registered_stays():
    library = torch.library.Library("aten", "IMPL")
    try:
        mindspore.enable(["exp"])
        with pytest.warns(UserWarning, match="Overriding a previously registered kernel"):
            library.impl("exp", lambda self: self * 0 + 7, "CPU")
        assert torch.exp(torch.ones(1)).item() == 7
        mindspore.disable()
        assert torch.exp(torch.ones(1)).item() == 7
    finally:
        library._destroy()
    assert torch.exp(torch.zeros(1)).item() == 1


def test_threads():
    mindspore.enable(["add.Tensor"])
    failures = []

    def work(number):
        try:
            for step in range(50):
                x = torch.full((20,), float(number))
                assert (x + torch.full((20,), float(step))).eq(number + step).all()
        except BaseException as error:  # noqa: BLE001  (handed to the test's own thread)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert mindspore.report().served == {"aten::add.Tensor": 200}
