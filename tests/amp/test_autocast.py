"""Autocast: the dtype of results against PyTorch, operator by operator; nesting, cache, gradients, custom functions."""

import threading

import pytest
from agreement import same

import mindtorch_v2

torch = mindtorch_v2

CASES = {
    "mm": lambda lib, a: a @ a,
    "torch.mm": lambda lib, a: lib.mm(a, a),
    "bmm": lambda lib, a: lib.bmm(a[None], a[None]),
    "addmm": lambda lib, a: lib.addmm(a, a, a),
    "baddbmm": lambda lib, a: lib.baddbmm(a[None], a[None], a[None]),
    "linear": lambda lib, a: lib.nn.functional.linear(a, a),
    "linear bias": lambda lib, a: lib.nn.functional.linear(a, a, a[0]),
    "conv1d": lambda lib, a: lib.nn.functional.conv1d(a[None], a[None]),
    "conv2d": lambda lib, a: lib.nn.functional.conv2d(a[None, None], a[None, None]),
    "attention": lambda lib, a: lib.nn.functional.scaled_dot_product_attention(a[None], a[None], a[None]),
    "add": lambda lib, a: a + a,
    "mixed": lambda lib, a: (a @ a) @ a,
    "mixed add": lambda lib, a: (a @ a) + a,
    "softmax": lambda lib, a: (a @ a).softmax(-1),
    "layer_norm": lambda lib, a: lib.nn.functional.layer_norm(a @ a, (4,)),
    "gelu": lambda lib, a: lib.nn.functional.gelu(a @ a),
    "exp": lambda lib, a: (a @ a).exp(),
    "sum": lambda lib, a: (a @ a).sum(),
    "prod": lambda lib, a: (a @ a).prod(),
    "mse_loss": lambda lib, a: lib.nn.functional.mse_loss(a @ a, a @ a),
    "l1_loss": lambda lib, a: lib.nn.functional.l1_loss(a @ a, a @ a),
    "cross_entropy": lambda lib, a: lib.nn.functional.cross_entropy(a @ a, lib.tensor([0, 1, 2, 3])),
    "nll_loss": lambda lib, a: lib.nn.functional.nll_loss(a @ a, lib.tensor([0, 1, 2, 3])),
    "bce": lambda lib, a: lib.nn.functional.binary_cross_entropy_with_logits(a @ a, a),
    "cat": lambda lib, a: lib.cat([a @ a, a]),
    "cat low": lambda lib, a: lib.cat([a @ a, a @ a]),
    "stack": lambda lib, a: lib.stack([a @ a, a]),
    "double": lambda lib, a: a.double() @ a.double(),
    "int": lambda lib, a: lib.ones(2, 2, dtype=lib.int64) @ lib.ones(2, 2, dtype=lib.int64),
    "prelu": lambda lib, a: lib.nn.functional.prelu(a, a[0]),
    "einsum": lambda lib, a: lib.einsum("ij,jk->ik", a, a),
    "outer": lambda lib, a: lib.outer(a[0], a[0]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_result_dtypes(case, dtype):
    def program(lib):
        a = lib.ones(4, 4, requires_grad=True)
        with lib.autocast("cpu", dtype=getattr(lib, dtype)):
            return CASES[case](lib, a).dtype

    same(program)


def test_values_and_gradients():
    def program(lib):
        lib.manual_seed(0)
        model = lib.nn.Sequential(lib.nn.Linear(8, 16), lib.nn.ReLU(), lib.nn.Linear(16, 4))
        x = lib.randn(5, 8)
        with lib.autocast("cpu"):
            loss = lib.nn.functional.cross_entropy(model(x), lib.tensor([0, 1, 2, 3, 0]))
        assert loss.dtype == lib.float32
        loss.backward()
        assert all(p.grad.dtype == lib.float32 for p in model.parameters())
        return [loss.item()] + [p.grad.float().sum().item() for p in model.parameters()]

    same(program, 3e-2, 3e-3)


def test_state():
    assert not torch.is_autocast_enabled("cpu")
    assert torch.get_autocast_dtype("cpu") == torch.bfloat16
    with torch.autocast("cpu", dtype=torch.float16):
        assert torch.is_autocast_enabled("cpu")
        assert torch.get_autocast_dtype("cpu") == torch.float16
        with torch.autocast("cpu", enabled=False):
            assert not torch.is_autocast_enabled("cpu")
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
        assert torch.is_autocast_enabled("cpu")
    assert not torch.is_autocast_enabled("cpu")
    assert torch.get_autocast_dtype("cpu") == torch.bfloat16
    with pytest.raises(RuntimeError), torch.autocast("cpu"):
        raise RuntimeError
    assert not torch.is_autocast_enabled("cpu")


def test_decorator():
    @torch.autocast("cpu")
    def run(a):
        return a @ a

    assert run(torch.ones(2, 2)).dtype == torch.bfloat16
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


def test_casts_of_parameters_are_kept_for_the_block():
    w = torch.nn.Parameter(torch.ones(2, 2))
    cache = mindtorch_v2._operators.autocast._state.cache
    with torch.autocast("cpu"):
        torch.mm(w, w)
        assert len(cache) == 1
        with torch.autocast("cpu"):
            torch.mm(w, w)
        assert len(cache) == 1
    assert not cache
    with torch.autocast("cpu", cache_enabled=False):
        torch.mm(w, w)
        assert not cache


def test_unsupported():
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported. Disabling autocast"):
        with torch.autocast("cpu", dtype=torch.float64):
            assert not torch.is_autocast_enabled("cpu")
    with pytest.warns(UserWarning, match="CUDA is not available"):
        torch.autocast("cuda")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(3)
    with pytest.raises(RuntimeError):
        torch.autocast("meta")


def test_custom_functions():
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append((grad @ b.t()).dtype)
            return (grad @ b.t()).float(), (a.t() @ grad).float()

    class InFloat32(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, a):
            seen.append(((a @ a).dtype, a.dtype))
            return a.clone()

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad

    seen = []
    a = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        out = Product.apply(a, a)
        InFloat32.apply(a.bfloat16())
    out.float().sum().backward()
    assert seen == [(torch.float32, torch.float32), torch.bfloat16]


def test_thread_has_its_own_state():

    seen = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(torch.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    assert seen == [False]


def test_casts_of_parameters_are_kept_until_the_outermost_block_ends():
    from mindtorch_v2._operators import autocast

    layer = torch.nn.Linear(2, 2)
    with torch.autocast("cpu", torch.bfloat16):
        with torch.autocast("cpu", torch.bfloat16):
            layer(torch.ones(1, 2))
        assert autocast._state.cache
    assert not autocast._state.cache
    with torch.autocast("cpu", torch.bfloat16):
        layer(torch.ones(1, 2))
    assert not autocast._state.cache


def test_names_of_devices():
    """A text that is no device's is refused; a device of PyTorch's that is not here only has no autocast."""
    assert torch.amp.is_autocast_available("cpu:0")
    assert not torch.amp.is_autocast_available("hpu")
    for ask in (torch.amp.is_autocast_available, torch.autocast):
        with pytest.raises(RuntimeError, match="Invalid device string: 'not a device'"):
            ask("not a device")
