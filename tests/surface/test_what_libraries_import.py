"""Names that torchvision, timm, torch_geometric, kornia, diffusers and open_clip ask for when they are imported."""

import importlib
import logging

import pytest

import mindtorch_v2 as torch


def test_exceptions_of_devices():
    assert issubclass(torch.OutOfMemoryError, RuntimeError)
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
    assert issubclass(torch.npu.OutOfMemoryError, torch.OutOfMemoryError)
    assert issubclass(torch.npu.OutOfMemoryError, torch.AcceleratorError)


def test_the_module_of_a_device():
    assert torch.get_device_module("cpu:0") is torch.cpu
    assert torch.get_device_module(torch.device("npu")) is torch.npu
    assert torch.get_device_module() is (torch.npu if torch.npu.is_available() else torch.cpu)
    with pytest.raises(
        RuntimeError, match=r"Device 'meta' does not have a corresponding module registered as 'torch.meta'"
    ):
        torch.get_device_module("meta")
    with pytest.raises(RuntimeError, match="Invalid value of device '0', expect torch.device, str, or None"):
        torch.get_device_module(0)


def test_a_file_as_a_tensor(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(8)))
    shared = torch.from_file(str(path), shared=True, size=8, dtype=torch.uint8)
    private = torch.from_file(str(path), size=2, dtype=torch.int32)
    assert shared.tolist() == list(range(8))
    shared[0] = 255
    assert path.read_bytes() == bytes([255, 1, 2, 3, 4, 5, 6, 7])
    private.zero_()
    assert path.read_bytes()[1] == 1
    with pytest.raises(RuntimeError, match="8 bytes, 36 were asked for"):
        torch.from_file(str(path), size=9)
    with pytest.raises(RuntimeError, match="unable to open file"):
        torch.from_file(str(tmp_path / "none"), size=1)


def test_whether_transforms_are_active():
    seen = []
    torch.func.vmap(lambda x: seen.append(torch._C._are_functorch_transforms_active()) or x)(torch.ones(2))
    assert seen == [True]
    assert not torch._C._are_functorch_transforms_active()


@pytest.mark.parametrize("make", [lambda: torch.Tensor(2), lambda: torch.Tensor([1.0]), lambda: torch.LongTensor([1])])
def test_older_constructors_have_no_default_device(make):
    with torch.device("meta"):
        assert make().device.type == "cpu"
        assert torch.tensor([1.0]).device.type == "meta"


def test_marks_of_scripted_and_quantized_models_change_nothing():
    for mark in (torch.jit._overload, torch.jit._overload_method, torch.jit._script_if_tracing):
        assert mark(len) is len
    x = torch.ones(2)
    assert torch.ao.quantization.QuantStub()(x) is torch.ao.quantization.DeQuantStub()(x) is x
    assert importlib.import_module("mindtorch_v2.onnx.symbolic_helper").parse_args("v", "i")(len) is len


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("cuda", "use_mem_pool"),
        ("distributed.rpc", "init_rpc"),
    ],
)
def test_what_exists_by_name_says_so(module, name):
    with pytest.raises(NotImplementedError, match=rf"torch\.{module}\.{name} is not implemented in mindtorch_v2"):
        getattr(importlib.import_module(f"mindtorch_v2.{module}"), name)(None)


def test_no_size_is_a_function_of_sympy():
    functions = importlib.import_module("mindtorch_v2.utils._sympy.functions")
    assert len(functions.__all__) == 22
    for name in functions.__all__:
        kind = getattr(functions, name)
        assert kind.__name__ == name and not isinstance(3, kind)
        with pytest.raises(NotImplementedError, match=rf"torch\.utils\._sympy\.functions\.{name} is not implemented"):
            kind(7, 2)


@pytest.mark.parametrize(("said", "level"), [(None, logging.WARNING), ("DEBUG", logging.DEBUG)])
def test_loggers_of_agents_have_the_level_of_the_environment(said, level, monkeypatch):
    monkeypatch.delenv("LOGLEVEL", raising=False)
    if said is not None:
        monkeypatch.setenv("LOGLEVEL", said)
    get_logger = importlib.import_module("mindtorch_v2.distributed.elastic.utils.logging").get_logger
    assert get_logger("an.agent") is logging.getLogger("an.agent") and get_logger("an.agent").level == level
    assert get_logger().name == __name__ and get_logger().level == level
    logging.getLogger(__name__).setLevel(logging.NOTSET)


def test_where_functions_compile():
    supported = importlib.import_module("mindtorch_v2._dynamo.utils").is_compile_supported
    assert supported("cpu")
    assert not supported("meta")
    assert importlib.import_module("mindtorch_v2.utils._triton").has_triton() is False


def test_an_older_name_of_register_fake():
    library = torch.library.Library("older_names", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    importlib.import_module("mindtorch_v2._custom_ops").impl_abstract(
        "older_names::twice", func=lambda x: x.new_empty(2)
    )
    assert torch.ops.older_names.twice(torch.ones(3, device="meta")).shape == (2,)


def test_torchvision_finds_nms():
    @torch.library.register_fake("torchvision::nms")
    def fake(dets, scores, iou_threshold):
        return dets.new_empty((0,), dtype=torch.int64)

    boxes = torch.tensor([[0, 0, 2, 2], [0, 0, 2, 1.9], [1, 1, 3, 3], [5, 5, 6, 6], [0, 0, 2, 2]])
    scores = torch.tensor([0.5, 0.9, 0.8, 0.8, 0.5])
    # The third shares 0.9 of 6.9 with the second; the first and the last share 0.95 with it.
    assert torch.ops.torchvision.nms(boxes, scores, 0.5).tolist() == [1, 2, 3]
    assert torch.ops.torchvision.nms(boxes, scores, 0.1).tolist() == [1, 3]
    assert torch.ops.torchvision.nms(boxes, scores, 1.0).tolist() == [1, 2, 3, 0, 4]
    assert torch.ops.torchvision.nms(boxes[:0], scores[:0], 0.5).tolist() == []
    assert torch.ops.torchvision.nms(boxes.to("meta"), scores.to("meta"), 0.5).device.type == "meta"


def test_none_is_no_dtype():
    """`x.to(None)` once was uint8, which schedulers of diffusers came upon."""
    x = torch.ones(2)
    assert x.to(None) is x
    assert x.to(None, None) is x
    assert x.to(dtype=None) is x
    assert x.to(None, torch.float64).dtype is torch.float64
    with pytest.raises(TypeError, match=r"view\(\) received an invalid combination of arguments - got \(NoneType\)"):
        x.view(None)


def test_names_that_libraries_build_on():
    class Base:
        pass

    class Own(Base):
        pass

    @torch.distributions.register_kl(Own, Base)
    def distance(p, q):
        return 3

    assert torch.distributions.kl_divergence(Own(), Base()) == 3
    assert torch.finfo(float).eps == torch.finfo(torch.float64).eps
    assert torch.jit.wait(torch.jit.fork(torch.neg, torch.ones(2))).tolist() == [-1, -1]
    assert torch.utils.data.DataLoader[int].__origin__ is torch.utils.data.DataLoader
    assert torch.distributions.transforms._InverseTransform is type(torch.distributions.ExpTransform().inv)
    with pytest.raises(RuntimeError, match="NVTX functions not installed"), torch.cuda.nvtx.range("here"):
        pass
    called = torch.distributed.rpc.api._require_initialized(len)
    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        called([])


def test_einsum_of_a_list_is_seen_with_its_operands_apart():
    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.einsum("ij,jk->ik", [x, x])

    (node,) = [node for node in torch.fx.symbolic_trace(Model()).graph.nodes if node.op == "call_function"]
    assert node.target is torch.functional.einsum
    assert len(node.args) == 3


def test_modules_as_functions_of_their_parameters():
    from mindtorch_v2._functorch.names import combine_state_for_ensemble, make_functional, make_functional_with_buffers

    models = [torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).eval() for _ in range(2)]
    with pytest.warns(FutureWarning, match="torch.func.stack_module_state"):
        function, params, buffers = combine_state_for_ensemble(models)
    x = torch.ones(4, 3)
    together = torch.func.vmap(function, (0, 0, None))(params, buffers, x)
    for model, out in zip(models, together, strict=True):
        torch.testing.assert_close(model(x), out)
    with pytest.warns(FutureWarning, match="functional_call"):
        function, params, buffers = make_functional_with_buffers(models[0])
    torch.testing.assert_close(function(params, buffers, x), models[0](x))
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="has buffers"):
        make_functional(models[0])
    with pytest.warns(FutureWarning):
        function, params = make_functional(models[0][0], disable_autograd_tracking=True)
    assert not any(each.requires_grad for each in params)
    torch.testing.assert_close(function(params, x), models[0][0](x))


def test_calls_that_wait_for_cuda():
    """megatron imports them; without a GPU nothing is called, as in PyTorch, and `_lazy_init` says why."""
    seen = []
    torch.cuda._lazy_call(lambda: seen.append(1), seed_all=True)
    assert seen == ([1] if torch.cuda.is_available() else [])
    if not torch.cuda.is_available():
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            torch.cuda._lazy_init()


def test_the_folder_of_an_extension(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    folder = torch.utils.cpp_extension._get_build_directory("mine", False)
    assert folder == str(tmp_path / "mine") and (tmp_path / "mine").is_dir()
