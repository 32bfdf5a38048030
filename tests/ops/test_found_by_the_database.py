"""Calls in which PyTorch's operator database showed a difference (docs/operator-database.md), against PyTorch's answers."""

import pytest
from agreement import agree, same, same_error

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")

# An `out=` of another dtype than the result's: which are refused, and with what.
_OUTS = {
    "torch.addmm(x, x, x, out={})": "float64",
    "torch.softmax(x, 0, out={})": "float64",
    "torch.index_add(x, 0, i, x[:2], out={})": "float64",
    "torch.scatter(x, 0, i[None], 1.0, out={})": "complex64",
    "torch.take(x, i, out={})": "float64",
    "torch.where(x > 0, x, x, out={})": "float64",
    "torch.abs(x, out={})": "float64",
    "torch.ceil(x, out={})": "int64",
    "torch.clamp(x, 0, out={})": "float64",
    "torch.amax(x, 0, out={})": "float64",
    "torch.any(x, 0, out={})": "float32",
    "torch.signbit(x, out={})": "int64",
    "torch.nan_to_num(x, out={})": "float64",
    "torch.bmm(x[None], x[None], out={})": "float64",
    "torch.dot(x[0], x[0], out={})": "float64",
    "torch.linalg.vector_norm(x, out={})": "float64",
    "torch.linalg.norm(x, out={})": "float64",
    "torch.linalg.det(x, out={})": "float64",
    "torch.linalg.multi_dot([x, x, x], out={})": "float64",
    "torch.tensordot(x, x, out={})": "float64",
    "torch.cummax(x, 0, out=({}, torch.empty(0, dtype=torch.int64)))": "float64",
    "torch.sort(x, 0, out=({}, torch.empty(0, dtype=torch.int64)))": "float64",
    "torch.max(x, 0, out=({}, torch.empty(0, dtype=torch.int64)))": "float64",
    "torch.linalg.qr(x, out=({}, torch.empty(0)))": "float64",
    "torch.ops.aten.softplus.out(x, out={})": "float64",
    "torch.ops.aten.clone.out(x, out={})": "float64",
    "torch.unbind_copy(x, out=[{}, torch.empty(0), torch.empty(0)])": "float64",
}
_TAKEN = [
    "torch.add(x, 2, out=torch.empty(3, 3, dtype=torch.float64))",
    "torch.mul(x, 2, out=torch.empty(3, 3, dtype=torch.complex64))",
    "torch.div(x, 2, rounding_mode='floor', out=torch.empty(3, 3, dtype=torch.float64))",
    "torch.abs(x.to(torch.complex64), out=torch.empty(3, 3, dtype=torch.float64))",
    "torch.sum(x, 0, out=torch.empty(3, dtype=torch.float64))",
    "torch.cumsum(x * 10, 0, out=torch.empty(3, 3, dtype=torch.int64))",
    "torch.cat([x, x], out=torch.empty(6, 3, dtype=torch.float64))",
    "torch.eq(x, x, out=torch.empty(3, 3))",
]


def _names(torch):
    x = torch.linspace(-1.7, 2.1, 9).reshape(3, 3)
    return {"torch": torch, "x": x, "i": torch.tensor([2, 0])}


def _run(text):
    return lambda torch: eval(text, _names(torch))


@pytest.mark.parametrize("text", _OUTS)
def test_an_out_of_another_dtype_is_refused(text):
    same_error(_run(text.format(f"torch.empty(0, dtype=torch.{_OUTS[text]})")))


@pytest.mark.parametrize("text", _TAKEN)
def test_an_out_of_another_dtype_is_cast_into(text):
    agree(_run(text))


@pytest.mark.parametrize(
    "text",
    [
        "torch.kl_div(x, x.abs())",
        "torch.cosine_embedding_loss(x, x * x, torch.tensor([1, -1, 1]))",
        "torch.hinge_embedding_loss(x, x.sign())",
        "torch.margin_ranking_loss(x, x * x, x.sign())",
        "torch.triplet_margin_loss(x, x * x, x.abs())",
        "torch.binary_cross_entropy_with_logits(x, x.sigmoid())",
        "torch._C._nn.mse_loss(x, x * x)",
        "torch._C._nn.nll_loss(x, torch.tensor([0, 2, 1]))",
        "torch.ops.aten.kl_div(x, x.abs())",
        "torch.ops.aten.mse_loss(x, x * x)",
        "torch.nn.functional.mse_loss(x, x * x)",
        "torch.ctc_loss(x[:, None].log_softmax(2), torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1]))",
    ],
)
def test_functions_of_torch_do_not_reduce_unless_they_are_told_to(text):
    agree(_run(text), factor=4)


_TIED = "torch.arange({}).mul(7).remainder({}).to(torch.{})"


@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "int64"])
@pytest.mark.parametrize("size", [9, 40, 700])
@pytest.mark.parametrize(
    "call",
    ["kthvalue(x, 5)", "topk(x, 3)", "topk(x, 8, largest=False)", "topk(x, 7, sorted=False)", "mode(x)", "sort(x, stable=True)"],
)  # fmt: skip
def test_which_of_equal_elements(call, size, dtype):
    agree(lambda torch: eval(f"torch.{call}", {"torch": torch, "x": eval(_TIED.format(size, 11, dtype))}))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "float16", "bfloat16"])
@pytest.mark.parametrize("descending", [False, True])
def test_the_order_of_equal_elements_in_a_sort_that_is_not_stable(dtype, descending):
    agree(lambda torch: torch.sort(eval(_TIED.format(500, 13, dtype)), descending=descending))


_COMPLEX = {
    "logaddexp": "torch.logaddexp(z, z.flip(0) * 3)",
    "logsumexp": "torch.logsumexp(z, 0)",
    "logcumsumexp": "torch.logcumsumexp(z, 1)",
    "sinc": "torch.sinc(z)",
    "rms_norm": "torch.nn.functional.rms_norm(z, [3], z[0])",
}


@pytest.mark.parametrize("text", _COMPLEX.values(), ids=_COMPLEX)
def test_of_complex_numbers(text):
    def program(torch):
        x = _names(torch)["x"].double()
        z = torch.complex(x, x.flip(1) * 0.3).requires_grad_()
        y = eval(text, {"torch": torch, "z": z})
        weights = torch.complex(torch.arange(y.numel()) / 2 + 1.0, torch.ones(y.numel())).to(y.dtype).reshape(y.shape)
        return [y.detach(), torch.autograd.grad(y, z, weights)[0]]

    same(program, rtol=1e-10, atol=1e-10)


def test_halves_of_complex_numbers():
    def program(torch):
        x = _names(torch)["x"]
        z = torch.complex(x.half(), -x.half())
        added = torch.zeros(3, 3, dtype=torch.complex32).index_add(0, torch.tensor([1, 1, 0]), z, alpha=2)
        return [torch.view_as_real(each).float() for each in (z, added)]

    same(program, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_quotients_of_16_bits_are_rounded_before_they_are_truncated(dtype):
    def program(torch):
        x = torch.linspace(-90, 90, 257).to(getattr(torch, dtype))
        y = torch.linspace(0.3, 2, 257).to(getattr(torch, dtype))
        return [torch.div(x, y, rounding_mode="trunc"), torch.div(x, 1.7, rounding_mode="trunc")]

    agree(program)


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_trigamma_at_poles(dtype):
    same(lambda torch: torch.polygamma(1, torch.arange(-6, 3).to(getattr(torch, dtype))), rtol=1e-6)


def test_gradients_of_all_results():
    def program(torch):
        x = torch.linspace(-2, 3, 24, dtype=torch.float64).reshape(2, 4, 3).requires_grad_()
        w = torch.linspace(0.5, 1.5, 4, dtype=torch.float64).requires_grad_()
        normed = torch.native_group_norm(x, w, w * 2, 2, 4, 3, 2, 1e-5)
        grads = torch.autograd.grad(sum((each * each).sum() for each in normed), [x, w])
        mean, var = torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
        batch = torch._native_batch_norm_legit(x, w, w * 2, mean, var, True, 0.1, 1e-5)
        return [*grads, *torch.autograd.grad((batch[0] ** 2).sum(), [x, w]), mean, var]

    same(program, rtol=1e-9, atol=1e-9)


def test_a_gradient_of_pooling_has_zeros_for_what_was_pooled():
    def program(torch):
        x = torch.linspace(-2, 3, 16).reshape(1, 1, 4, 4).requires_grad_()
        y, at = torch.ops.aten.max_pool2d_with_indices(x.detach(), [2, 2])
        back = torch.ops.aten.max_pool2d_with_indices_backward(y, x, [2, 2], [2, 2], [0, 0], [1, 1], False, at)
        return [back.detach(), torch.autograd.grad(back.sum(), x)[0]]

    agree(program)


@pytest.mark.parametrize(
    "text",
    [
        "torch.addr(x > 0, x[0] > 0, x[1] > 0, beta=True, alpha=True)",
        "torch.masked.var(x.to(torch.complex64), 0, mask=x > -1).dtype",
        "torch.masked.cumsum((x * 9).to(torch.int16), 0, mask=x > -1)",
        "torch.ops.aten.native_dropout_backward((x * 9).to(torch.int64), (x > 0)[:1], 2.0)",
        "torch.linalg.ldl_solve(torch.empty(0, 0), torch.empty(0, dtype=torch.int32), torch.empty(0, 2)).shape",
        "torch.nn.functional.multi_margin_loss(x[0, 0], torch.tensor(0))",
        "torch.nn.functional.soft_margin_loss(x, x.sign())",
        "torch.mode(x > 0)",
        "torch.gather(x, 0, torch.empty(0, dtype=torch.uint8))",
        "torch.nonzero(torch.complex(x, x - x).to(torch.complex32))",
        "torch.view_as_real(torch.complex(x, x).to(torch.complex32).index_fill(0, i, 1j)).float()",
        "torch.view_as_real(torch.complex(x, x).to(torch.complex32).index_put((i,), "
        "torch.ones(2, 3, dtype=torch.complex32), accumulate=True)).float()",
        "torch.nn.functional.max_unpool2d(y := torch.ones(2, 3, 2, 2).contiguous(memory_format=torch.channels_last), "
        "torch.arange(4).reshape(2, 2).expand(2, 3, 2, 2) * (y > 0), 2)",
        "torch.hash_tensor(torch._neg_view(x))",
        "(torch.manual_seed(0), torch.empty(20, dtype=torch.complex64).normal_(1, 2))[1]",
        "(torch.manual_seed(0), torch.randn(20, out=torch.empty(20, 2)[:, 0]))[1]",
        "(torch.manual_seed(0), torch.normal(x, x.abs(), out=torch.empty(3, 3, 2)[..., 0]))[1]",
        "[each.shape for each in torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5, "
        "out=(torch.empty(0), torch.empty(0), torch.empty(0)))]",
        "(a := [torch.empty(0) for _ in range(3)], torch.unbind_copy(x, out=a))[0]",
        "(a := [torch.empty(0) for _ in range(2)], torch.split_with_sizes_copy(x, [1, 2], out=a))[0]",
    ],
)
def test_forms_and_dtypes(text):
    agree(_run(text), factor=4)


def _forward(torch):
    from importlib import import_module

    forward_ad = import_module(torch.__name__ + ".autograd.forward_ad")
    x = _names(torch)["x"].double()
    with forward_ad.dual_level():
        y = torch.nn.functional.linear(x, forward_ad.make_dual(x, x.exp()))
        return forward_ad.unpack_dual(y).tangent.clone()


def test_a_tangent_of_linear_without_a_bias():
    agree(_forward)


_REFUSED = """
    torch.gradient(x, spacing=[0.1], dim=(1, 0))
    torch.gradient(x, spacing=[0.1, 1, 1])
    torch.arange(0, 64, 0.5, out=torch.empty(0, dtype=torch.int64))
    torch.nn.functional.adaptive_max_pool1d(x[None], -1)
    torch.nn.functional.adaptive_max_pool2d(x[None], (1, 2, 3))
    torch.nn.functional.max_pool3d(torch.ones(1, 0, 1, 2, 10), 1)
    torch.vsplit(x[0], 3)
    torch.ormqr(torch.ones(4, 3), torch.ones(5), torch.ones(4, 2))
    torch.movedim(torch.ones(1, 1, 1, 1, 1), (0, 4, -5), (0, 1, 2))
    x.narrow(0, torch.tensor(True), 1)
    torch.nn.functional.multi_margin_loss(x[:0, 0], torch.tensor([0]))
    torch.nn.functional.multi_margin_loss(x, torch.zeros(3, 4, dtype=torch.int64))
    torch.nn.functional.multi_margin_loss(x, x[0])
    torch.nn.functional.multi_margin_loss(x, torch.tensor([0, 1, 2]), weight=torch.ones(5))
    torch.index_add(x, 0, torch.tensor([0, 1]), torch.ones(2))
    torch.amax(torch.ones([1] * 65), dim=-1)
    torch._chunk_cat([torch.ones(3, 4, 5), torch.ones(3, 2, 5)], 2, 2)
    torch.nn.functional.linear_cross_entropy(x, torch.ones(3), torch.tensor([0, 1, 2]))
    torch.nn.functional.linear_cross_entropy(x, torch.ones(2, 4), torch.tensor([0, 1, 0]))
    torch.nn.functional.linear_cross_entropy(x, torch.ones(2, 3), torch.tensor([0, 1, 0]), linear_bias=torch.ones(3))
    torch.nn.functional.max_pool1d(x[None], 2, padding=4)
    torch.nn.functional.max_pool1d(x[None], 2, padding=4, return_indices=True)
    torch.nn.functional.max_pool1d(x[None], 5, stride=1)
    torch.complex(x.double(), x.double(), out=torch.empty(0, dtype=torch.complex64))
    torch.polar(x.half(), x.half())
    torch.gather(x, 0, torch.zeros(1, 1, dtype=torch.int16))
"""


@pytest.mark.parametrize("text", [line.strip() for line in _REFUSED.splitlines() if line.strip()])
def test_refusals(text):
    same_error(_run(text))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_second_gradients_of_grid_sample(mode, padding, align):
    def program(torch):
        image = torch.linspace(-2, 3, 40, dtype=torch.float64).reshape(1, 2, 4, 5).sin().requires_grad_()
        grid = torch.linspace(-1.2, 1.2, 18, dtype=torch.float64).reshape(1, 3, 3, 2).requires_grad_()
        y = torch.nn.functional.grid_sample(image, grid, mode=mode, padding_mode=padding, align_corners=align)
        first = torch.autograd.grad(
            y, [image, grid], torch.linspace(1, 2, 18, dtype=y.dtype).reshape(y.shape), create_graph=True
        )
        total = sum((each * each).sum() for each in first if each.requires_grad)
        return [*(each.detach() for each in first), *torch.autograd.grad(total, [image, grid], allow_unused=True)[:1]]

    same(program, rtol=1e-9, atol=1e-9)


def test_the_tangent_of_a_place_that_is_written_twice():
    def program(torch):
        from importlib import import_module

        forward_ad = import_module(torch.__name__ + ".autograd.forward_ad")
        x = _names(torch)["x"]
        with forward_ad.dual_level():
            y = torch.zeros(3, 3).scatter(1, torch.tensor([[0, 0, 2]] * 3), forward_ad.make_dual(x, x * 2))
            return forward_ad.unpack_dual(y).tangent.clone()

    agree(program)


@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_draws_of_slices_along_any_dimension(name, dim):
    def program(torch):
        torch.manual_seed(0)
        return torch.func.vmap(getattr(torch, name), in_dims=dim, randomness="different")(torch.zeros(3, 4, 5))

    agree(program, layout=False)


def test_ranges_between_tensors_without_numbers():
    def program(torch):
        ends = torch.tensor([0.0, 1.0]), torch.tensor([2.0, 5.0])
        mapped = [torch.func.vmap(lambda a, b, f=f: f(a, b, 5))(*ends) for f in (torch.linspace, torch.logspace)]
        return [*mapped, list(torch.linspace(torch.empty((), device="meta"), 3, 5).shape)]

    same(program, rtol=1e-6)


def test_an_exponential_of_matrices_without_numbers():
    agree(lambda torch: list(torch.matrix_exp(torch.empty(2, 3, 3, device="meta")).shape))
