"""Parts of the public surface: submodules without an import of their own, methods, enumerations, questions about states."""

import pytest
from programs import lines_of

import mindtorch_v2 as torch

MODULES = """
    torch.autograd.profiler_legacy torch.distributed.constants torch.distributed.rpc.options torch.fx.operator_schemas
    torch.fx.passes.infra.pass_manager torch.fx.passes.reinplace torch.fx.passes.split_module
    torch.fx.passes.utils.matcher_utils torch.jit.annotations torch.monitor torch.nn.common_types torch.onnx.symbolic_helper
""".split()


@pytest.mark.no_torch
def test_they_are_there():
    asked = "\n".join(f"print({name}.__name__)" for name in MODULES)
    found = lines_of(f"import torch\n{asked}")
    assert [name.replace("mindtorch_v2", "torch", 1) for name in found] == MODULES


@pytest.mark.no_torch
def test_others_are_missing():
    assert lines_of("import torch\nprint(hasattr(torch.fx, 'nonsense'), hasattr(torch.fx.passes, 'nonsense'))") == [
        "False False"
    ]


def test_operators_that_are_no_methods():
    for name in ("nonzero_numpy", "special_log_softmax", "special_logsumexp", "special_softmax"):
        assert not hasattr(torch.Tensor, name), name
    assert torch.special.logsumexp(torch.zeros(2), 0).item() == pytest.approx(0.6931472)
    assert not torch.ones(2).is_distributed()


def test_anomaly_mode_can_be_asked_for():
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
    assert not torch.is_anomaly_enabled()


def test_hooks_that_pickling_loses_are_warned_of():
    x, quiet = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    x.register_hook(lambda grad: grad)
    quiet.register_hook(torch.utils.hooks.unserializable_hook(lambda grad: grad))
    with pytest.warns(UserWarning, match="will not be serialized"):
        torch.utils.hooks.warn_if_has_hooks(x)
    torch.utils.hooks.warn_if_has_hooks(quiet)


def test_macos_is_not_asked_for_without_metal():
    with pytest.raises(RuntimeError, match="without MPS backend"):
        torch.backends.mps.is_macos_or_newer(14, 0)


def test_numbers_of_devices_and_actions_of_profilers():
    kinds = torch.autograd.profiler_util.DeviceType
    assert [kinds.CPU, kinds.CUDA, kinds.XPU, kinds.Meta, kinds.MTIA, kinds.PrivateUse1] == [0, 1, 12, 14, 19, 20]
    assert torch.profiler.ProfilerAction.DEVICE_STOPPED.value == 4


def test_modes_are_asked_about_functions_that_take_data():
    seen = []

    class Recorded(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func.__name__, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    with Recorded():
        torch.tensor([1.0], dtype=torch.float64)
        torch.as_tensor(2)
        torch.asarray(3.0)
    assert seen == [("tensor", ([1.0],), {"dtype": torch.float64}), ("as_tensor", (2,), {}), ("asarray", (3.0,), {})]
    assert torch.tensor(1).item() == 1 and len(seen) == 3
