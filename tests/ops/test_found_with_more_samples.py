"""Calls in which more samples of PyTorch's operator database showed a difference, against PyTorch's answers."""

import importlib
import warnings
from types import ModuleType
from typing import Any

import pytest
from agreement import agree, same, same_error

pytestmark = pytest.mark.filterwarnings(
    "ignore:Sparse:UserWarning", "ignore:.torch.jit.script:DeprecationWarning", "ignore:There is a performance drop"
)


def _names(torch: ModuleType) -> dict[str, Any]:
    y = torch.linspace(-1.7, 2.1, 360).reshape(3, 4, 5, 6)
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "vmap": torch.func.vmap,
        "x": torch.linspace(-1.7, 2.1, 9).reshape(3, 3),
        "p": torch.linspace(0.05, 0.95, 12, dtype=torch.float64).reshape(3, 4).t(),
        "y": y.contiguous(memory_format=torch.channels_last),
        "v": torch.linspace(-1.7, 2.1, 720).reshape(2, 3, 4, 5, 6).contiguous(memory_format=torch.channels_last_3d),
        "i": torch.tensor([2, 0]),
        "seeded": lambda call: (torch.manual_seed(0), call())[1],
    }


def _run(text: str) -> Any:
    return lambda torch: eval(text, _names(torch))


# ---- out= ----


@pytest.mark.parametrize(
    "text",
    [
        "torch.addbmm(x, x[None], x[None], out={})",
        "torch.multinomial(x.abs(), 2, out={}.long())",
        "torch.narrow_copy(x, 1, 0, 2, out={})",
        "torch.ops.aten.log_sigmoid.out(x, out={})",
        "torch.bernoulli(x.sigmoid(), out={})",
        "torch.baddbmm(x, x[None], x[None], out={})",
        "torch.index_select(x, 0, i, out={})",
    ],
)
def test_whether_an_out_of_another_size_warns(text: str) -> None:
    def program(torch: ModuleType) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = _run(text.format("torch.zeros(7)"))(torch)
        return list(result.shape), ["was resized" in str(each.message) for each in caught]

    same(program)


@pytest.mark.parametrize(
    "text",
    [
        "torch.masked_select(x, x > 0, out=x)",
        "torch.masked_select(x, x > 0, out=torch.zeros(1).expand(3))",
        "torch.masked_select((b := torch.tensor([True, True, False])), b.clone(), out=b)",
        "torch.take(x, i, out=x[0, :2])",
        "torch.take(torch.arange(4), i, out=i)",
        "torch.take(x, i, out=torch.zeros(1).expand(2))",
        "torch.gather(x, 0, torch.zeros(1, 3, dtype=torch.int64), out=x[:1])",
        "torch.gather((a := torch.arange(3)), 0, a[1:], out=a[:1])",
        "torch.narrow_copy(torch.ones(10, 5, 20), 3, 0, 0)",
        "torch.narrow_copy(torch.ones(10, 5, 20), -4, 0, 0)",
        "torch.narrow_copy(torch.ones(10), 0, 0, -1)",
        "torch.narrow_copy(torch.ones(10), 0, 0, 11)",
        "torch.narrow_copy(torch.tensor(1.0), 0, 0, 1)",
        "F.avg_pool3d(torch.ones(0, 1, 49, 50), 2, 50, -1)",
        "torch.baddbmm(x, x[None], x[None]).baddbmm_(x[None, :1], x[None])",
        "torch.gather(torch.arange(4), 0, torch.tensor([0, 1, 1]), out=torch.zeros(1, dtype=torch.int64).expand(3))",
        "torch.diff(x, n=0, out=torch.empty(0, dtype=torch.float64))",
        "torch.diff(x, out=torch.empty(0, dtype=torch.int64))",
        "torch.linalg.matrix_power(x, 2, out=torch.empty(0, dtype=torch.float64))",
        "torch.linalg.matrix_power(x, 6, out=torch.empty(0, dtype=torch.float64))",
        "torch.linalg.matrix_power(torch.eye(3), -2, out=torch.empty(0, dtype=torch.float64))",
        "torch.multinomial(torch.tensor([1.0, -1, 1]), 2)",
        "torch.multinomial(torch.tensor([1.0, float('inf'), 1]), 2)",
        "torch.multinomial(torch.tensor([1.0, -1, 1]), 2, replacement=True)",
        "torch.multinomial(torch.tensor([1.0, float('inf'), 1]), 2, replacement=True)",
        "torch.multinomial(torch.tensor([1.0, float('nan'), 1]), 2, replacement=True)",
        "torch.multinomial(torch.zeros(3), 2, replacement=True)",
        "torch.multinomial(torch.ones(3), 2, replacement=True, out=torch.empty(2))",
        "F.avg_pool3d(torch.ones(1, 1, 4), 2)",
        "F.avg_pool3d(torch.tensor(1.0), 2)",
        "F.avg_pool2d(torch.tensor(1.0), 2)",
        "F.avg_pool2d(torch.ones(2, 2), 2)",
        "torch.max_pool1d(torch.ones(0, 10), 1)",
        "torch.max_pool1d(torch.ones(1, 10, 0), 1)",
        "torch.max_pool1d(torch.ones(1, 0, 10), 1)",
        "torch.max_pool1d(torch.ones(2, 3, 5), 2, 1, 0, 0)",
        "torch.max_pool1d(torch.ones(2, 3, 5), 2, 1, -1)",
        "torch.max_pool1d(torch.ones(2, 3, 5), 2, 0)",
        "torch.max_pool1d(torch.ones(2, 3, 5), 9, 1)",
        "torch.max_pool1d(torch.ones(2, 3), 5)",
        "torch.max_pool1d(torch.ones(2, 3), 8, 2, ceil_mode=True)",
        "F.max_pool1d(torch.ones(1, 10, 0), 1, return_indices=True)",
        "torch.topk(torch.ones(3).to(torch.uint16), 1)",
        "torch.mode(torch.ones(3).to(torch.uint32))",
        "torch.median(torch.ones(3).to(torch.uint16))",
        "torch.kthvalue(torch.ones(3).to(torch.uint64), 1)",
        "torch.unique(torch.ones(2, 2, dtype=torch.complex64), dim=0)",
        "torch.linalg.vander(torch.ones(3, 1))",
        "torch.repeat_interleave(torch.ones(4, dtype=torch.int64, device='meta'))",
    ],
)
def test_refused(text: str) -> None:
    same_error(_run(text))


# ---- numbers ----


@pytest.mark.parametrize(
    "text",
    [
        # of unsigned numbers
        *(
            f"torch.{call}"
            for dtype in ("uint16", "uint32", "uint64")
            for given in (f"torch.tensor([[3, 1, 3], [3, 1, 3], [2, 60000, 0]]).to(torch.{dtype})",)
            for call in (
                f"unique({given}, return_inverse=True, return_counts=True)",
                f"unique({given}, dim=0)",
                f"unique({given}, dim=1, return_inverse=True)",
                f"unique_consecutive({given})",
                f"unique_consecutive({given}, dim=0)",
                f"sort({given}, stable=True)",
                f"sort({given}, 0, descending=True, stable=True)",
            )
        ),
        "torch.unique(torch.tensor([[1, 2], [2**63 + 5, 0], [2**62, 3]], dtype=torch.uint64), dim=0)",
        "torch.sort(torch.tensor([1, 2**63 + 5, 2**62], dtype=torch.uint64))",
        # powers into another dtype
        *(f"torch.linalg.matrix_power(x, {n}, out=torch.empty(0, dtype=torch.float64))" for n in (0, 1, 4, 8)),
        "torch.gather(torch.arange(4), 0, i, out=i), i",
        "torch.ones(1).addbmm_(x[None], x[None]), torch.ones(3).addbmm_(x[None], x[None], beta=2)",
        "torch.hash_tensor(y, 2, keepdim=True), torch.hash_tensor(y, 0)",
        "torch.diff(x, out=torch.empty(0, dtype=torch.float64))",
        "torch.diff(torch.arange(4), n=2, out=torch.empty(0))",
        "torch.diff(x, n=0, out=torch.empty(0))",
        # sums of short numbers stay short
        "torch.tensordot(torch.ones(1, 1, 1).short(), torch.ones(2, 1, 2).short(), dims=[[0, 1], [2, 0]])",
        "torch.tensordot(torch.ones(2, 1, 2).byte(), torch.ones(1, 1, 1).byte(), dims=[[2, 0], [0, 1]])",
        "torch.linalg.vander(torch.tensor(3.0), N=3), torch.linalg.vander(torch.arange(1.0, 4), N=2)",
        "torch.linalg.solve(torch.eye(2).expand(3, 2, 2) * 2, torch.arange(6.0).reshape(3, 2))",
        "torch.linalg.solve(torch.eye(2) * 2, torch.arange(2.0))",
    ],
)
def test_numbers(text: str) -> None:
    agree(_run(text), factor=8)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("text", ["causal=True", "mask", "dropped"])
def test_attention_in_half_precision_by_separate_operators(text: str, dtype: str) -> None:
    """Three dimensions, which the kernel in blocks does not take: products and softmax in single precision."""

    def program(torch: ModuleType) -> Any:
        q, k, v = (
            (torch.arange(count * 8.0).mul(1.7).sin() * 8).reshape(2, -1, 8).to(getattr(torch, dtype))
            for count in (6, 12, 12)
        )
        attend = torch.nn.functional.scaled_dot_product_attention
        if text == "mask":
            return attend(q, k, v, attn_mask=torch.linspace(-1, 1, 18).reshape(3, 6).to(q.dtype))
        if text == "dropped":
            kept = torch.ones(2, 3, 6, dtype=torch.bool).tril()
            return torch._scaled_dot_product_attention_math(q, k, v, None, 0.5, False, kept)
        return attend(q, k, v, is_causal=True)

    agree(program)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize(("dims", "mode"), [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")])  # fmt: skip
def test_slopes_of_sampling_at_the_borders(dims: int, mode: str, padding: str, corners: bool) -> None:
    def program(torch: ModuleType) -> Any:
        image = torch.arange(5.0**dims, dtype=torch.float64).mul(1.7).sin().reshape(1, 1, *[5] * dims)
        along = torch.tensor(
            [-3.0, -2, -1.8, -1.75, -1.2, -1, -0.8, -0.5, 0, 0.25, 0.5, 0.8, 1, 1.2, 1.5, 2, 3], dtype=torch.float64
        )
        grid = torch.full((1, *[1] * (dims - 1), len(along), dims), 0.1, dtype=torch.float64)
        grid[..., 0] = along
        grid.requires_grad_()
        read = torch.nn.functional.grid_sample(image, grid, mode=mode, padding_mode=padding, align_corners=corners)
        return read.detach(), torch.autograd.grad(read.sum(), grid)[0]

    same(program, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        "torch.bernoulli(p)",
        "torch.bernoulli(p, 0.4)",
        "p.clone().bernoulli_(p)",
        "torch.bernoulli(p, out=torch.empty(3, 4, dtype=torch.float64).t())",
        "torch.normal(p, 2.0)",
        "torch.normal(2.0, p)",
        "torch.normal(p, p)",
        "torch.poisson(p * 5)",
        "torch._standard_gamma(p + 1)",
        "torch._sample_dirichlet(p + 1)",
        "torch.multinomial(p, 2)",
        "torch.multinomial(p[::2], 2)",
        "torch.multinomial(p, 1)",
        "torch.multinomial(p, 3, replacement=True)",
    ],
)
def test_draws_for_memory_in_another_order(text: str) -> None:
    agree(_run(f"seeded(lambda: {text})"), factor=64)


# ---- the order of results in memory ----


@pytest.mark.parametrize(
    "text",
    [
        *(f"torch.stack([y, y], {dim})" for dim in range(5)),
        "torch.stack([y, y.contiguous()])",
        "torch.stack([y[:, :1], y[:, :1]], 1)",
        "torch.stack([y[:, :1, :, :1].clone(), y[:, 1:2, :, :1].clone()], 2)",
        "torch.stack([y[:0], y[:0]], 1)",
        *(f"F.glu(y[:, :, :4], {dim})" for dim in (1, 2, 3)),
        "F.glu(p, 0)",
        "F.channel_shuffle(y, 2), F.channel_shuffle(y.contiguous(), 2), F.channel_shuffle(v[:, :2], 2)",
        "F.pixel_shuffle(y, 2), F.pixel_unshuffle(y[:, :, :4], 2), F.pixel_shuffle(y.contiguous(), 2)",
        *(f"F.{kind}_pool3d({given}, 2)" for kind in ("avg", "adaptive_avg", "adaptive_max") for given in ("y", "v")),
        *(f"F.{kind}_pool2d(y, 2)" for kind in ("avg", "adaptive_avg", "adaptive_max", "max")),
        *(f"F.pad({given}, [1] * {n}, mode='{mode}')" for mode in ("reflect", "replicate") for given, n in (("y", 4), ("y", 6), ("v", 6))),
        *(f"F.pad({given}, [1] * {n}, mode='circular')" for given, n in (("y", 4), ("v", 6))),
        *(f"torch.{name}({given}, 0)" for name in ("tril", "triu") for given in ("y", "p")),
        *(f"torch.{name}({given}, 1)" for name in ("softmax", "log_softmax", "_safe_softmax") for given in ("y", "p")),
        *(f"torch.roll({given}, 1, {dims})" for given in ("y", "p", "y.transpose(0, 1)") for dims in ("0", "[]")),
        *(
            f"torch.{name}(y, {dim}{extra})"
            for name in ("sum", "mean", "amax", "any", "std", "argmax", "nansum", "logsumexp", "count_nonzero")
            for dim in (0, 2)
            for extra in ("", ", keepdim=True")
            if name != "count_nonzero" or not extra
        ),
        "torch.linalg.vector_norm(y, 2, 2), torch.aminmax(y, dim=2), torch.var_mean(y, 0), torch.prod(y, 3)",
    ],
)  # fmt: skip
def test_the_order_of_results_in_memory(text: str) -> None:
    agree(_run(text), factor=16)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("batch", "groups", "kernel"), [(1, 1, 3), (2, 1, 3), (1, 3, 3), (1, 1, 4)])
def test_the_order_of_transposed_convolutions_in_memory(dtype: str, batch: int, groups: int, kernel: int) -> None:
    def program(torch: ModuleType) -> Any:
        last = {"memory_format": torch.channels_last_3d}
        image = torch.ones(batch, 3, 4, 4, 4, dtype=getattr(torch, dtype))
        weight = torch.ones(3, 3 // groups, kernel, kernel, kernel, dtype=image.dtype)
        return [
            torch.nn.functional.conv_transpose3d(a, b, groups=groups).stride()
            for a in (image, image.contiguous(**last))
            for b in (weight, weight.contiguous(**last))
        ]

    same(program)


def test_attention_of_heads_in_columns() -> None:
    def program(torch: ModuleType) -> Any:
        q = torch.linspace(-1, 1, 192).reshape(2, 3, 4, 8)
        turned = q.mT.contiguous().mT
        attend = torch.nn.functional.scaled_dot_product_attention
        return [attend(*each).stride() for each in ((q, q, q), (turned, q, q), (q, turned, q), (q, q, turned))]

    same(program)


# ---- derivatives ----


def _twice(torch: ModuleType, function: Any, *inputs: Any) -> Any:
    """First and second gradients; None for none."""
    leaves = [each.clone().requires_grad_() for each in inputs]
    results = function(*leaves)
    results = [each for each in ([results] if hasattr(results, "dtype") else results) if each.requires_grad]
    weights = [torch.ones_like(each).requires_grad_() for each in results]
    first = torch.autograd.grad(results, leaves, weights, create_graph=True, allow_unused=True)
    kept = [each for each in first if each is not None and each.requires_grad]
    if not kept:
        return [each.detach() for each in first], []
    second = torch.autograd.grad(kept, [*leaves, *weights], [torch.ones_like(each) for each in kept], allow_unused=True)
    zero = [None if each is None or not bool((each != 0).any()) else each for each in second]
    return [each.detach() for each in first], zero


@pytest.mark.parametrize(
    "text",
    [
        "torch.linalg.det, torch.zeros(0, 0, dtype=d)",
        "torch.linalg.det, torch.full((1, 1), 2.0 + 1j)",
        "torch.linalg.det, torch.full((2, 1, 1), 2.0, dtype=d)",
        "torch.linalg.det, torch.tensor([[2.0, 1], [1, 5]], dtype=d)",
        "lambda x: torch.linalg.vander(x, N=2), torch.tensor(-4.8 + 2j)",
        "lambda x: torch.linalg.vander(x, N=4), torch.tensor([2.0, 3], dtype=d)",
        "lambda x: torch.cumprod(x, 0), torch.full((1, 3), 2.0 + 1j)",
        "torch.linalg.det, torch.zeros(0, 1, 1, dtype=d)",
        "lambda x: torch.linalg.vector_norm(x), torch.zeros(2, dtype=d)",
        "lambda x: torch.linalg.vector_norm(x), torch.tensor([0.0, 3], dtype=d)",
        "lambda a, b: torch.linalg.lstsq(a, b), torch.tensor([[2.0, 1], [1, 5], [3, 3]], dtype=d), torch.ones(3, 1, dtype=d)",
        "lambda a, b: torch.linalg.lstsq(a, b, driver='gelsd'), torch.tensor([[2.0, 1], [1, 5], [3, 3]], dtype=d), torch.ones(3, 1, dtype=d)",
        *(
            f"lambda a, t, c: torch.ormqr(a, t, c, {left}, {turned}), torch.linspace(-1, 1, {rows * 5}, dtype=d).reshape({rows}, 5), "
            f"torch.full(({min(rows, 5)},), 0.7, dtype=d), torch.ones({shape}, dtype=d)"
            for rows in (2, 5, 7)
            for left, shape in ((True, f"{rows}, 3"), (False, f"3, {rows}"))
            for turned in (True, False)
        ),
    ],
)
def test_second_gradients(text: str) -> None:
    def program(torch: ModuleType) -> Any:
        function, *inputs = eval(text, {"torch": torch, "d": torch.float64})
        return _twice(torch, function, *inputs)

    same(program, rtol=1e-6, atol=1e-9)


def test_tangent_of_a_norm_at_zero() -> None:
    def program(torch: ModuleType) -> Any:
        zero = torch.zeros(2, dtype=torch.float64)
        return torch.func.jvp(torch.linalg.vector_norm, (zero,), (torch.ones_like(zero),))

    same(program)


# ---- without numbers ----


@pytest.mark.parametrize(
    "text",
    [
        "torch.repeat_interleave(torch.ones(4, 1, device='meta'), torch.ones(4, dtype=torch.int64, device='meta'), dim=0, output_size=6)",
        "torch.ones(10, device='meta').as_strided([20, 2], [1, 2], 5)",
        "F.rrelu(torch.ones(3, device='meta'), training=True)",
    ],
)
def test_sizes_alone(text: str) -> None:
    def program(torch: ModuleType) -> Any:
        result = _run(text)(torch)
        results = [result] if hasattr(result, "dtype") else result
        return [(str(each.device), list(each.shape), list(each.stride())) for each in results]

    same(program)


def test_fake_tensors() -> None:
    def program(torch: ModuleType) -> Any:
        fakes = importlib.import_module(f"{torch.__name__}._subclasses.fake_tensor")
        with fakes.FakeTensorMode() as mode:
            x = mode.from_tensor(torch.ones(3, 2))
            counts = mode.from_tensor(torch.ones(3, dtype=torch.int64))
            repeated = torch.repeat_interleave(x, counts, dim=0, output_size=5)
            return [list(each.shape) for each in (repeated, torch.nn.functional.rrelu(x, training=True))]

    same(program)


# ---- vmap ----


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize(
    "text",
    [
        "vmap(torch.argwhere)(torch.tensor([[1, 0.0, 2], [1, 2, 0]]))",
        "vmap(lambda a, b: torch.cat([a, b], 1))(torch.ones(2, 0), torch.ones(2, 3, 3))",
        "vmap(lambda a, b: torch.cat([a, b], 1), in_dims=(None, -1))(torch.ones(0), torch.ones(3, 3, 2))",
        "vmap(lambda a, b: torch.cat([a, b]))(torch.ones(2, 0), torch.ones(2, 0))",
        "vmap(lambda a, b: torch.gather(a, 0, b))(torch.arange(2.0), torch.zeros(2, 1, dtype=torch.int64))",
        "vmap(lambda a, b: torch.gather(a, 0, b))(torch.arange(2.0), torch.zeros(2, dtype=torch.int64))",
        "vmap(lambda a: a.resize_(2, 3))(torch.arange(12.0).reshape(2, 6))",
        "vmap(lambda a: a.resize_(3))(torch.arange(12.0).reshape(2, 6))",
        "torch.view_as_real(vmap(lambda a: a.chalf(memory_format=torch.channels_last))(torch.ones(2, 2, 3, 2, 3))).float()",
        "torch.view_as_real(vmap(lambda a: a.chalf())(torch.ones(2, 2, 3))).float()",
        *(
            f"seeded(lambda: vmap(lambda a: {call}, in_dims={dim}, randomness='different')({given}))"
            for call in ("F.dropout(a)", "F.dropout2d(a)", "F.alpha_dropout(a, training=True)", "torch.normal(a, 1.0)", "torch.bernoulli(a / 40)",
                         "F.feature_alpha_dropout(a, training=True)", "torch.normal(1.0, a)", "torch.multinomial(a[..., 0] + 1, 2)")
            for dim, given in ((0, "torch.arange(36.0).reshape(2, 3, 6, 1)"), (-1, "torch.arange(36.0).reshape(3, 6, 1, 2)"))
        ),
        "seeded(lambda: vmap(lambda a: torch.multinomial(a, 2, True), randomness='different')(torch.ones(3, 4)))",
    ],
)  # fmt: skip
def test_vmap(text: str) -> None:
    agree(_run(text), layout=False, factor=16)


@pytest.mark.parametrize(
    "text",
    [
        "vmap(lambda a: a.resize_(3), in_dims=1)(torch.arange(12.0).reshape(6, 2))",
        "vmap(lambda a: a.resize_(2, 3, 1, 1, memory_format=torch.channels_last))(torch.arange(12.0).reshape(2, 6))",
        "vmap(lambda a: torch.multinomial(a, 2), randomness='different')(torch.ones(2, 2, 2, 2))",
    ],
)
def test_refused_under_vmap(text: str) -> None:
    agree(_run(text))


# ---- sparse tensors in a functionalized function ----


def test_functionalized_sparse() -> None:
    def program(torch: ModuleType) -> Any:
        dense = torch.tensor([[0.0, 2, 0], [1, 0, 3]])

        def function(s: Any, d: Any) -> Any:
            d.add_(1)
            made = d.to_sparse()
            return torch.sparse.mm(s, d.t()), (made * 2).to_dense(), s, made

        given = dense.clone()
        product, doubled, same_one, made = torch.func.functionalize(function)(dense.to_sparse(), given)
        return product, doubled, same_one.to_dense(), made.to_dense(), str(made.layout), given

    same(program)


def test_functionalized_compressed() -> None:
    def program(torch: ModuleType) -> Any:
        dense = torch.tensor([[0.0, 2, 0], [1, 0, 3]])

        def function(s: Any, a: Any, b: Any) -> Any:
            return torch.sparse.sampled_addmm(s, a, b).to_dense(), torch.sparse.mm(s, b.t(), "amax")

        return torch.func.functionalize(function)(dense.to_sparse_csr(), torch.ones(2, 2), torch.ones(2, 3))

    same(program)


def test_second_gradients_of_attention_with_dropout() -> None:
    def program(torch: ModuleType) -> Any:
        q, k, v = (
            torch.arange(count * 4.0, dtype=torch.float64).mul(1.7).sin().reshape(1, 2, -1, 4) for count in (6, 8, 8)
        )

        def attend(*given: Any) -> Any:
            torch.manual_seed(0)
            return torch.nn.functional.scaled_dot_product_attention(*given, dropout_p=0.5, is_causal=True)

        return _twice(torch, attend, q, k, v)

    same(program, rtol=1e-7, atol=1e-9)
