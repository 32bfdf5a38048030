"""Parts that exist by name only: each can be imported and asked about, and says what it is when it is used."""

import pytest

import mindtorch_v2 as torch


def test_no_accelerator():
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    assert not torch.xpu.is_available()
    assert not torch.mps.is_available()
    assert not torch.mtia.is_available()
    assert not torch.backends.mps.is_available()
    assert not torch.backends.cuda.is_built()
    assert torch.accelerator.current_accelerator() is None
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == 0


@pytest.mark.parametrize("call", ["current_device", "synchronize", "get_device_properties", "init"])
def test_cuda_calls_raise_as_in_a_cpu_build(call):
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        getattr(torch.cuda, call)()


@pytest.mark.parametrize(
    "name",
    ["export.draft_export",
     "cuda.MemPool", "sparse.spsolve"],
)  # fmt: skip
def test_calling_what_is_missing_names_it(name):
    value = torch
    for part in name.split("."):
        value = (
            getattr(value, part)
            if hasattr(value, part)
            else __import__(f"mindtorch_v2.{name.rpartition('.')[0]}", fromlist=["x"])
        )
    with pytest.raises(NotImplementedError, match=r"torch\." + name.replace(".", r"\.") + " is not implemented"):
        value()


def test_nothing_is_being_traced():
    assert not torch.compiler.is_compiling()
    assert not torch.jit.is_tracing()
    assert not torch.jit.is_scripting()
    assert not torch.fx._symbolic_trace.is_fx_tracing()
    x = torch.ones(2)
    assert not isinstance(x, torch.fx.Proxy)
    assert not isinstance(x, torch._subclasses.FakeTensor)


def test_script_returns_its_argument():
    def double(x):
        return x * 2

    assert torch.jit.script(double) is double
    assert torch.jit.unused(double) is double
    assert torch.jit.ignore(double) is double
    assert torch.jit.ignore(drop=True)(double) is double


def test_backend_flags():
    assert torch.backends.cudnn.benchmark is False
    with torch.backends.cudnn.flags(enabled=False, benchmark=True):
        assert torch.backends.cudnn.benchmark is True
        assert torch.backends.cudnn.enabled is False
    assert torch.backends.cudnn.benchmark is False
    assert torch.backends.cudnn.enabled is True
    torch.backends.cuda.matmul.allow_tf32 = False
    with pytest.raises(AttributeError, match="Unknown attribute no_such"):
        torch.backends.cuda.matmul.no_such = 1
    with pytest.warns(FutureWarning, match="sdp_kernel"), torch.backends.cuda.sdp_kernel(enable_flash=False):
        assert not torch.backends.cuda.flash_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()


def test_version_compares_as_a_version():
    version = torch.torch_version.TorchVersion("2.13.0")
    assert version > "2.9"
    assert version >= (2, 13)
    assert version == "2.13"
    assert version.startswith("2.13")
    assert torch.version.cuda is None
    assert torch.version.__version__ == "2.13.0"
    assert torch.__version__ >= "2.6.0"  # as programs ask: text would say that 2.13 is less


def test_script_types_are_names_of_torch_too():
    assert torch.ScriptModule is torch.jit.ScriptModule
    assert torch.ScriptFunction is torch.jit.ScriptFunction


def test_names_that_test_suites_import():
    assert "Linear" in torch.ao.nn.quantized.modules.__all__
    assert torch.ao.nn.qat.modules.__name__.endswith("ao.nn.qat.modules")
    with pytest.raises(AttributeError, match="'torch.ao.nn' has no attribute 'nobody'"):
        _ = torch.ao.nn.nobody
    with pytest.raises(NotImplementedError, match="MultiheadAttention is not implemented"):
        torch.ao.nn.quantized.MultiheadAttention(2, 2)
    assert torch.ao.nn.quantized.MaxPool2d is torch.nn.MaxPool2d
    assert not torch.profiler.itt.is_available()
    with pytest.raises(NotImplementedError, match="itt.mark is not implemented"):
        torch.profiler.itt.mark("here")
    assert torch._C._ConvBackend.Slow2d.name == "Slow2d"
    assert not torch._nnpack_available()
    assert isinstance(torch.__config__._cxx_flags(), str)
    assert callable(torch.testing._utils.freeze_rng_state)
    assert str(torch._dynamo.utils.LazyString("{}-{}".format, 1, 2)) == "1-2"
