"""The registry by the names of the design documents."""

import itertools

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dispatch import registry
from mindtorch_v2._dispatch.keys import DispatchKey, key_name
from mindtorch_v2._dispatch.registry import _dispatch_key_from_string

_numbers = itertools.count()


@pytest.fixture
def name():
    return f"test_registry::op{next(_numbers)}"


def _operator(name):
    return getattr(torch.ops.test_registry, name.partition("::")[2])


@pytest.mark.parametrize(
    ("document", "ours"),
    [
        ("AutocastGPU", "AutocastCUDA"),
        ("Batched", "FuncTorchBatched"),
        ("Tracing", "Tracer"),
        ("Backend_CPU", "CPU"),
        ("Backend_CUDA", "CUDA"),
        ("Backend_Ascend", "NPU"),
        ("CompositeExplicit", "CompositeExplicitAutograd"),
        ("Autograd", "Autograd"),
        ("AutocastCPU", "AutocastCPU"),
        ("Functionalize", "Functionalize"),
    ],
)
def test_keys_of_the_document(document, ours):
    assert key_name(document) == key_name(getattr(DispatchKey, document)) == ours
    assert getattr(DispatchKey, document) is DispatchKey[ours]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("CPU", "CPU"),
        ("NPU", "NPU"),
        ("PrivateUse1", "NPU"),
        ("Meta", "Meta"),
        ("Autograd", "Autograd"),
        ("AutogradCPU", "AutogradCPU"),
        ("AutogradNPU", "AutogradNPU"),
        ("AutogradPrivateUse1", "AutogradNPU"),
        ("CompositeImplicitAutograd", "CompositeImplicitAutograd"),
    ],
)
def test_keys_from_strings(name, key):
    assert _dispatch_key_from_string(name) is DispatchKey[key]


def test_what_is_no_key():
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Cpu"):
        _dispatch_key_from_string("Cpu")


def test_an_operator_from_schema_and_kernels(name):
    registry.register_schema(name, f"{name.partition('::')[2]}(Tensor x, int k=2) -> Tensor")
    registry.register_kernel(name, DispatchKey.CPU, lambda x, k=2: x * k)
    registry.register_kernel(name, "Meta", lambda x, k=2: torch.empty_like(x))
    assert _operator(name)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert _operator(name)(torch.ones(2), k=3).tolist() == [3.0, 3.0]
    assert _operator(name)(torch.ones(2, device="meta")).shape == (2,)


def test_a_schema_without_its_name(name):
    registry.register_schema(name, "(Tensor x) -> Tensor")
    registry.register(name, "cpu", lambda x: x + 1, meta=lambda x: torch.empty_like(x))
    assert _operator(name)(torch.zeros(1)).tolist() == [1.0]
    assert _operator(name)(torch.zeros(1, device="meta")).device.type == "meta"


def test_a_composite_runs_where_there_is_no_kernel(name):
    registry.register_schema(name, "(Tensor x, int dim) -> Tensor")

    @registry.register_composite(name)
    def softmax_composite(x, dim):
        e = (x - x.max(dim=dim, keepdim=True).values).exp()
        return e / e.sum(dim=dim, keepdim=True)

    x = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    assert _operator(name)(x, 1).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    registry.register_op(name, DispatchKey.Backend_CPU)(lambda x, dim: x)
    assert _operator(name)(x, 1).tolist() == x.tolist()


def test_a_name_without_an_overload_is_what_a_plain_call_takes():
    assert str(registry.find("add").schema).startswith("aten::add.Tensor(")
    assert str(registry.find("add.Scalar").schema).startswith("aten::add.Scalar(")


def test_bad_input(name):
    with pytest.raises(KeyError, match="no operator is called .* define it first with register_schema"):
        registry.register_kernel(name, "CPU", lambda x: x)
    with pytest.raises(ValueError, match="expected a name such as 'mylib::twice', got 'twice'"):
        registry.register_schema("twice", "(Tensor x) -> Tensor")
    with pytest.raises(TypeError, match="expected a function, got int"):
        registry.register_kernel("add", "CPU", 3)
    with pytest.raises(ValueError, match="expected a device of cpu, .*, got 'tpu'"):
        registry.register("add", "tpu", lambda x: x)
    with pytest.raises(RuntimeError, match="expected"):
        registry.register_schema(name, "Tensor x -> Tensor")


def test_handles_made_by_a_call(name):
    handle = torch.library.CustomOpHandle(
        name,
        f"{name.partition('::')[2]}(Tensor x, Tensor y, float scale=1.0) -> Tensor",
        lambda x, y, scale=1.0: x + scale * y,
    )
    handle.register_fake(lambda x, y, scale=1.0: torch.empty_like(x))
    handle.register_autograd(
        lambda ctx, grad: (grad, grad * ctx.scale, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "scale", inputs[2]),
    )
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    z = handle(x, y, scale=2.0)
    z.sum().backward()
    assert (z.tolist(), x.grad.tolist(), y.grad.tolist()) == ([3.0, 3.0], [1.0, 1.0], [2.0, 2.0])
    with pytest.raises(ValueError, match="mutates"):
        torch.library.CustomOpHandle(f"{name}_2", "(Tensor(a!) x) -> ()", lambda x: None)


def test_the_tracing_state_lets_calls_go_by_the_key_tracing():
    seen = []

    def kernel(x):
        seen.append(torch._C._get_tracing_state())
        torch._C._set_tracing_state(None)
        try:
            return torch.sin(x)
        finally:
            torch._C._set_tracing_state("mine")

    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("sin", kernel, "Tracing")
        assert torch.sin(torch.zeros(1)).tolist() == [0.0] and not seen
        torch._C._set_tracing_state("mine")
        try:
            assert torch.sin(torch.zeros(1)).tolist() == [0.0] and seen == ["mine"]
            assert torch.cos(torch.zeros(1)).tolist() == [1.0]  # no kernel: the key is skipped
        finally:
            torch._C._set_tracing_state(None)
    assert torch._C._get_tracing_state() is None
    program = torch.export.export(_PlusOne(), (torch.ones(2),))  # what else counts on the key has it again
    assert program.module()(torch.ones(2)).tolist() == [2.0, 2.0]


class _PlusOne(torch.nn.Module):
    def forward(self, x):
        return x + 1


def test_fields_of_tensors_storages_and_nodes():
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * x)[1:]
    assert (y._shape, y._stride, y._storage_offset, y._requires_grad) == ((1, 3), (3, 1), 3, True)
    assert y._storage.data_ptr() == y.untyped_storage().data_ptr()
    assert (y._storage._size, y._storage._device) == (24, torch.device("cpu"))
    node = (x * 2.0 * x).grad_fn
    assert node._needs_input_grad == (True, True)
    assert [saved.tolist() for saved in node._saved_tensors] == [[[2.0] * 3] * 2, [[1.0] * 3] * 2]
    assert [g.tolist() for g in node.backward(torch.ones(2, 3))] == [[[1.0] * 3] * 2, [[2.0] * 3] * 2]
    assert (x * 2).grad_fn._needs_input_grad[0] and (x + 1).grad_fn._saved_tensors == ()


def test_fields_of_functions():
    seen = {}

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x)
            ctx.mark_dirty(w)
            ctx.set_materialize_grads(False)
            seen.update(
                saved=ctx._to_save, dirty=ctx._dirty, none=ctx._non_differentiable, zeros=ctx._materialize_grads
            )
            return w.mul_(x)

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    class New(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x, w = torch.ones(2, requires_grad=True), torch.ones(2)
    Old.apply(x, w)
    assert seen["saved"][0] is x and seen["dirty"] == {id(w)} and seen["none"] == set() and seen["zeros"] is False
    assert not Old._new_style and New._new_style
