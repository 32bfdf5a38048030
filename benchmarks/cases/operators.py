"""A sweep over the operators: every one in several dtypes, memory layouts and sizes, forward and backward.

Run by `benchmarks/sweep.py`, which lists what is slowest against the reference first; `run.py` leaves these out.
A name is `operator, dtype, layout` and, for steps that include the gradient, `, backward`.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.registry import Case, add

GROUP = "sweep"
DTYPES = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16"}
_LAYOUTS = ("contiguous", "transposed", "broadcast", "small")
_ROWS, _COLUMNS = 1024, 768
_SMALL = (16, 32)
Operator = Callable[[ModuleType, Any, Any], Any]

# Names of functions in torch, then in torch.nn.functional; the numbers they are given lie between the bounds.
_UNARY = {
    (
        -5.0,
        5.0,
    ): "sin cos tan atan sinh cosh tanh asinh exp exp2 expm1 neg abs sign floor ceil trunc round frac sigmoid erf erfc"
    " sinc i0 isnan isfinite deg2rad square nan_to_num relu clone softmax log_softmax cumsum0 cummax logcumsumexp",
    (-0.99, 0.99): "asin acos atanh erfinv",
    (0.01, 0.99): "logit log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma cumprod special.ndtri special.entr"
    " special.erfcx special.i1 special.i0e special.log_ndtr",
    (1.01, 5.0): "acosh polygamma1",
}
_FUNCTIONAL = (
    "gelu silu elu selu celu hardtanh hardswish hardsigmoid softplus softsign mish leaky_relu relu6 logsigmoid tanhshrink"
    " softshrink hardshrink glu normalize"
)
_BINARY = (
    "add sub mul div pow fmod remainder atan2 hypot maximum minimum fmax fmin logaddexp copysign floor_divide eq lt xlogy"
    " nextafter heaviside float_power lerp"
)
_NOT_DIFFERENTIABLE = set(
    "sign floor ceil trunc round isnan isfinite eq lt floor_divide nextafter heaviside argmax argmin argsort any all"
    " count_nonzero unique unique_consecutive bincount histc searchsorted bucketize isin nonzero multinomial bernoulli_"
    " uniform_ normal_ exponential_ randperm add_ to_float32 special.erfcx special.log_ndtr".split()
)


def _functional(name: str, *more: Any, **options: Any) -> Operator:
    return lambda torch, x, y: getattr(torch.nn.functional, name)(x, *more, **options)


def _pooled(name: str, dims: int, *more: Any) -> Operator:
    """On `x` seen as 4 or 8 images (or signals) of some channels."""
    shape = {1: (8, 96, 1024), 2: (4, 48, 64, 64), 3: (2, 24, 16, 32, 32)}[dims]
    return lambda torch, x, y: getattr(torch.nn.functional, name)(x.reshape(shape), *more)


def _images(f: Callable[[ModuleType, Any], Any]) -> Operator:
    return lambda torch, x, y: f(torch, x.reshape(4, 48, 64, 64))


def _indices(torch: ModuleType, x: Any, limit: int) -> Any:
    """As many whole numbers below `limit` as `x` has rows, always the same."""
    return torch.arange(x.shape[0]) * 7919 % limit


def _grid(torch: ModuleType, mode: str) -> Callable[[ModuleType, Any], Any]:
    def sample(torch: ModuleType, images: Any) -> Any:
        theta = torch.tensor([[[0.9, 0.1, 0.0], [-0.1, 0.9, 0.0]]] * 4, dtype=images.dtype)
        grid = torch.nn.functional.affine_grid(theta, (4, 48, 64, 64), align_corners=False)
        return torch.nn.functional.grid_sample(images, grid, mode=mode, align_corners=False)

    return sample


_OTHERS: dict[str, Operator] = {
    "pow 2.5": lambda torch, x, y: y**2.5,
    "pow 3": lambda torch, x, y: x**3,
    "mul number": lambda torch, x, y: x * 2.0,
    "add_": lambda torch, x, y: x.add_(y),
    "addcmul": lambda torch, x, y: torch.addcmul(x, x, y, value=2.0),
    "addcdiv": lambda torch, x, y: torch.addcdiv(x, x, y, value=2.0),
    "clamp": lambda torch, x, y: x.clamp(-1, 1),
    "where": lambda torch, x, y: torch.where(x > 0, x, y),
    "masked_fill": lambda torch, x, y: x.masked_fill(x > 0, 0.5),
    "masked_select": lambda torch, x, y: x[x > 0],
    "dropout": _functional("dropout", 0.1),
    "to_float32": lambda torch, x, y: x.to(torch.float32),
    "sum": lambda torch, x, y: x.sum(),
    "sum rows": lambda torch, x, y: x.sum(0),
    "sum columns": lambda torch, x, y: x.sum(-1),
    "mean columns": lambda torch, x, y: x.mean(-1),
    "prod columns": lambda torch, x, y: y.prod(-1),
    "amax columns": lambda torch, x, y: x.amax(-1),
    "max columns": lambda torch, x, y: x.max(-1)[0],
    "max rows": lambda torch, x, y: x.max(0)[0],
    "max": lambda torch, x, y: x.max(),
    "argmax": lambda torch, x, y: x.argmax(-1),
    "var": lambda torch, x, y: x.var(),
    "std columns": lambda torch, x, y: x.std(-1),
    "norm": lambda torch, x, y: x.norm(),
    "norm 1 columns": lambda torch, x, y: x.norm(1, -1),
    "norm 2 columns": lambda torch, x, y: x.norm(2, -1),
    "norm 3": lambda torch, x, y: x.norm(3),
    "logsumexp": lambda torch, x, y: x.logsumexp(-1),
    "any": lambda torch, x, y: x.any(-1),
    "all": lambda torch, x, y: x.all(),
    "count_nonzero": lambda torch, x, y: x.count_nonzero(-1),
    "median": lambda torch, x, y: x.median(-1)[0],
    "kthvalue": lambda torch, x, y: x.kthvalue(10, -1)[0],
    "quantile": lambda torch, x, y: x[:64].float().quantile(0.3, -1),
    "softmax rows": lambda torch, x, y: x.softmax(0),
    "cumsum": lambda torch, x, y: x.cumsum(-1),
    "cumprod rows": lambda torch, x, y: y.cumprod(0),
    "cummin rows": lambda torch, x, y: x.cummin(0)[0],
    "cummax columns": lambda torch, x, y: x.cummax(-1)[0],
    "diff": lambda torch, x, y: x.diff(),
    "trapezoid": lambda torch, x, y: torch.trapezoid(x),
    "layer_norm": lambda torch, x, y: torch.nn.functional.layer_norm(x, x.shape[-1:], y[0], y[1]),
    "rms_norm": lambda torch, x, y: torch.nn.functional.rms_norm(x, x.shape[-1:], y[0]),
    "group_norm": lambda torch, x, y: torch.nn.functional.group_norm(x.reshape(8, 96, 1024), 8),
    "batch_norm": lambda torch, x, y: torch.nn.functional.batch_norm(x.reshape(8, 96, 1024), None, None, training=True),
    "instance_norm": lambda torch, x, y: torch.nn.functional.instance_norm(x.reshape(8, 96, 1024)),
    "local_response_norm": _images(lambda torch, x: torch.nn.functional.local_response_norm(x, 5)),
    "cat": lambda torch, x, y: torch.cat((x, y)),
    "cat columns": lambda torch, x, y: torch.cat((x, y), 1),
    "stack": lambda torch, x, y: torch.stack((x, y)),
    "repeat": lambda torch, x, y: x.repeat(2, 2),
    "repeat_interleave": lambda torch, x, y: x.repeat_interleave(2, 0),
    "transpose copy": lambda torch, x, y: x.t().contiguous(),
    "permute copy": lambda torch, x, y: x.reshape(8, 128, 12, 64).permute(0, 2, 1, 3).contiguous(),
    "flip": lambda torch, x, y: x.flip(1),
    "roll": lambda torch, x, y: x.roll(3, 1),
    "tril": lambda torch, x, y: x.tril(),
    "diagonal": lambda torch, x, y: x.diagonal().clone(),
    "pad": _functional("pad", (1, 1, 1, 1)),
    "pad reflect": _images(lambda torch, x: torch.nn.functional.pad(x, (2, 2, 2, 2), "reflect")),
    "unfold": _images(lambda torch, x: torch.nn.functional.unfold(x, 3)),
    "index_select": lambda torch, x, y: x.index_select(0, _indices(torch, x, x.shape[0])),
    "index": lambda torch, x, y: x[_indices(torch, x, x.shape[0])],
    "index columns": lambda torch, x, y: x[:, _indices(torch, x, x.shape[1])],
    "gather": lambda torch, x, y: x.gather(0, _indices(torch, x, x.shape[0])[:, None].expand(x.shape)),
    "scatter_add": lambda torch, x, y: torch.zeros_like(x).scatter_add(
        0, _indices(torch, x, x.shape[0])[:, None].expand(x.shape), x
    ),
    "index_add": lambda torch, x, y: torch.zeros_like(x).index_add(0, _indices(torch, x, x.shape[0]), x),
    "embedding": lambda torch, x, y: torch.nn.functional.embedding(_indices(torch, x, x.shape[0]), x),
    "embedding_bag": lambda torch, x, y: torch.nn.functional.embedding_bag(
        _indices(torch, x, x.shape[0]).view(-1, 8), x, mode="sum"
    ),
    "sort": lambda torch, x, y: x.sort(-1)[0],
    "argsort": lambda torch, x, y: x.argsort(-1),
    "sort flat": lambda torch, x, y: x.reshape(-1)[:50000].sort()[0],
    "topk 1": lambda torch, x, y: x.topk(1)[0],
    "topk 10": lambda torch, x, y: x.topk(10)[0],
    "topk 50 of many": lambda torch, x, y: x.reshape(8, -1).topk(50)[0],
    "unique": lambda torch, x, y: (x[:64] * 100).int().unique(),
    "unique_consecutive": lambda torch, x, y: (x * 2).int().view(-1).unique_consecutive(),
    "bincount": lambda torch, x, y: (y * 100).long().view(-1).bincount(),
    "histc": lambda torch, x, y: x.histc(50),
    "searchsorted": lambda torch, x, y: torch.searchsorted(torch.arange(64, dtype=x.dtype) / 10, x),
    "bucketize": lambda torch, x, y: torch.bucketize(x, torch.arange(64, dtype=x.dtype) / 10),
    "isin": lambda torch, x, y: torch.isin((x * 9).int(), torch.arange(5, dtype=torch.int32)),
    "nonzero": lambda torch, x, y: (x > 0).nonzero(),
    "bernoulli_": lambda torch, x, y: x.bernoulli_(0.3),
    "uniform_": lambda torch, x, y: x.uniform_(),
    "normal_": lambda torch, x, y: x.normal_(),
    "exponential_": lambda torch, x, y: x.exponential_(),
    "multinomial": lambda torch, x, y: y[:64].multinomial(4),
    "randperm": lambda torch, x, y: torch.randperm(10000),
    "mse_loss": lambda torch, x, y: torch.nn.functional.mse_loss(x, y),
    "l1_loss": lambda torch, x, y: torch.nn.functional.l1_loss(x, y),
    "smooth_l1_loss": lambda torch, x, y: torch.nn.functional.smooth_l1_loss(x, y),
    "huber_loss": lambda torch, x, y: torch.nn.functional.huber_loss(x, y),
    "bce_with_logits": lambda torch, x, y: torch.nn.functional.binary_cross_entropy_with_logits(x, y),
    "bce": lambda torch, x, y: torch.nn.functional.binary_cross_entropy(y, y.detach()),
    "kl_div": lambda torch, x, y: torch.nn.functional.kl_div(x, y, reduction="batchmean"),
    "cross_entropy": lambda torch, x, y: torch.nn.functional.cross_entropy(x, _indices(torch, x, x.shape[1])),
    "nll_loss": lambda torch, x, y: torch.nn.functional.nll_loss(x, _indices(torch, x, x.shape[1])),
    "cosine_similarity": lambda torch, x, y: torch.nn.functional.cosine_similarity(x, y),
    "cosine_embedding_loss": lambda torch, x, y: torch.nn.functional.cosine_embedding_loss(
        x, y, torch.ones(x.shape[0], dtype=x.dtype)
    ),
    "max_pool1d": _pooled("max_pool1d", 1, 3, 2),
    "max_pool2d": _pooled("max_pool2d", 2, 3, 2, 1),
    "max_pool3d": _pooled("max_pool3d", 3, 2),
    "avg_pool1d": _pooled("avg_pool1d", 1, 3, 2),
    "avg_pool2d": _pooled("avg_pool2d", 2, 3, 2, 1),
    "avg_pool3d": _pooled("avg_pool3d", 3, 2),
    "adaptive_avg_pool2d": _pooled("adaptive_avg_pool2d", 2, 7),
    "adaptive_avg_pool2d 1": _pooled("adaptive_avg_pool2d", 2, 1),
    "adaptive_max_pool1d": _pooled("adaptive_max_pool1d", 1, 16),
    "adaptive_max_pool2d": _pooled("adaptive_max_pool2d", 2, 7),
    "lp_pool2d": lambda torch, x, y: torch.nn.functional.lp_pool2d(y.reshape(4, 48, 64, 64), 2, 3),
    "interpolate nearest": _images(lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2)),
    "interpolate bilinear": _images(
        lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
    ),
    "interpolate bicubic": _images(
        lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
    ),
    "grid_sample": _images(lambda torch, x: _grid(torch, "bilinear")(torch, x)),
    "grid_sample nearest": _images(lambda torch, x: _grid(torch, "nearest")(torch, x)),
    "pixel_shuffle": _images(lambda torch, x: torch.nn.functional.pixel_shuffle(x, 4)),
    "channel_shuffle": _images(lambda torch, x: torch.nn.functional.channel_shuffle(x, 4)),
    "prelu": lambda torch, x, y: torch.nn.functional.prelu(x.reshape(8, 96, 1024), y.reshape(-1)[:96]),
    "matmul": lambda torch, x, y: x[:, :512] @ y[:512, :256],
    "matmul vector": lambda torch, x, y: x @ y[0],
    "bmm": lambda torch, x, y: x.reshape(96, 128, 64) @ y.reshape(96, 64, 128),
    "bmm small": lambda torch, x, y: x.reshape(-1, 16, 16) @ y.reshape(-1, 16, 16),
    "outer": lambda torch, x, y: torch.outer(x[:, 0], y[0]),
    "dot": lambda torch, x, y: torch.dot(x.reshape(-1), y.reshape(-1)),
    "cdist": lambda torch, x, y: torch.cdist(x[:256], y[:256]),
    "attention": lambda torch, x, y: torch.nn.functional.scaled_dot_product_attention(
        x.reshape(8, 12, 128, 64), y.reshape(8, 12, 128, 64), x.reshape(8, 12, 128, 64)
    ),
    "conv1d": lambda torch, x, y: torch.nn.functional.conv1d(
        x.reshape(8, 96, 1024), y.reshape(-1)[: 96 * 96 * 3].reshape(96, 96, 3)
    ),
    "conv2d": lambda torch, x, y: torch.nn.functional.conv2d(
        x.reshape(4, 48, 64, 64), y.reshape(-1)[: 48 * 48 * 9].reshape(48, 48, 3, 3), padding=1
    ),
    "conv2d depthwise": lambda torch, x, y: torch.nn.functional.conv2d(
        x.reshape(4, 48, 64, 64), y.reshape(-1)[: 48 * 9].reshape(48, 1, 3, 3), padding=1, groups=48
    ),
    "conv_transpose2d": lambda torch, x, y: torch.nn.functional.conv_transpose2d(
        x.reshape(4, 48, 64, 64), y.reshape(-1)[: 48 * 48 * 4].reshape(48, 48, 2, 2), stride=2
    ),
    "fft 1024": lambda torch, x, y: torch.fft.fft(x.reshape(-1, 1024)).real,
    "rfft 1024": lambda torch, x, y: torch.fft.rfft(x.reshape(-1, 1024)).real,
    "rfft 768": lambda torch, x, y: torch.fft.rfft(x.reshape(-1, 768)).real,
    "fft 65536": lambda torch, x, y: torch.fft.fft(x.reshape(-1, 65536)).real,
    "fft2 64": lambda torch, x, y: torch.fft.fft2(x.reshape(-1, 64, 64)).real,
    "ifft 256": lambda torch, x, y: torch.fft.ifft(x.reshape(-1, 256)).real,
}
# Only what does not reshape to a fixed number of elements can run small.
_FIXED_SIZE = set(
    "group_norm batch_norm instance_norm local_response_norm pad_reflect unfold prelu bmm cdist attention conv1d conv2d"
    " conv_transpose2d randperm quantile".split()
)


def _table() -> dict[str, tuple[tuple[float, float], Operator]]:
    """Every operator by name, with the bounds of the numbers that it takes."""
    special = {
        "cumsum0": lambda torch, x, y: x.cumsum(0),
        "cummax": lambda torch, x, y: x.cummax(0)[0],
        "softmax": lambda torch, x, y: x.softmax(-1),
        "log_softmax": lambda torch, x, y: x.log_softmax(-1),
        "logcumsumexp": lambda torch, x, y: x.logcumsumexp(-1),
        "cumprod": lambda torch, x, y: x.cumprod(-1),
        "polygamma1": lambda torch, x, y: torch.polygamma(1, x),
    }
    table: dict[str, tuple[tuple[float, float], Operator]] = {}
    for bounds, names in _UNARY.items():
        for name in names.split():
            table[name] = (bounds, special.get(name) or _plain(name))
    for name in _FUNCTIONAL.split():
        table[name] = ((-5.0, 5.0), _functional(name))
    for name in _BINARY.split():
        table[name] = ((0.1, 0.9), _plain(name, binary=True))
    table["lerp"] = ((-5.0, 5.0), lambda torch, x, y: torch.lerp(x, y, 0.3))
    for name, operator in _OTHERS.items():
        table[name] = ((0.05, 0.95) if name in ("bernoulli_", "bincount") else (-5.0, 5.0), operator)
    return table


def _plain(name: str, binary: bool = False) -> Operator:
    def operator(torch: ModuleType, x: Any, y: Any) -> Any:
        module: Any = torch
        for part in name.split("."):
            module = getattr(module, part)
        return module(x, y) if binary else module(x)

    return operator


def _inputs(torch: ModuleType, bounds: tuple[float, float], dtype: str, layout: str) -> tuple[Any, Any]:
    """`x` within the bounds and `y` positive; `broadcast`: `y` is one row, seen many times."""
    rows, columns = _SMALL if layout == "small" else (_ROWS, _COLUMNS)
    kind = getattr(torch, DTYPES[dtype])
    low, high = bounds
    x, y = (torch.rand(rows, columns) * (high - low) + low).to(kind), (torch.rand(rows, columns) * 0.9 + 0.05).to(kind)
    if layout == "transposed":
        return (x.t().contiguous().t() for x in (x, y))  # type: ignore[return-value]  # (unpacked at once)
    return x, y[:1].expand(rows, columns) if layout == "broadcast" else y


def _prepare(operator: Operator, bounds: tuple[float, float], dtype: str, layout: str, backward: bool) -> Callable:
    def prepare(torch: ModuleType) -> Callable[[], Any]:
        x, y = _inputs(torch, bounds, dtype, layout)
        if not backward:
            return lambda: operator(torch, x, y)
        x.requires_grad_()
        y.requires_grad_()
        upstream = torch.ones_like(operator(torch, x, y).detach())

        def step() -> None:
            x.grad = y.grad = None
            operator(torch, x, y).backward(upstream)

        return step

    return prepare


for _name, (_bounds, _operator) in _table().items():
    for _dtype in DTYPES:
        for _layout in _LAYOUTS:
            for _backward in (False, True)[: 1 if _name in _NOT_DIFFERENTIABLE else 2]:
                _title = f"{_name}, {_dtype}, {_layout}" + (", backward" if _backward else "")
                add(Case(_title, GROUP, _prepare(_operator, _bounds, _dtype, _layout, _backward)))
