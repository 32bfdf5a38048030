"""The same numbers for any number of threads, in each run and after a fork; operators that cannot promise it are refused on demand.

docs/determinism.md says which operators differ with the number of threads.
"""

import os
import pickle
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional

N = 120_000


def inputs():
    generator = torch.Generator().manual_seed(7)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    return {
        "x": normal(N), "rows": normal(700, 300), "image": normal(2, 8, 24, 24), "filter": normal(8, 8, 3, 3), "scale": normal(300),
        "table": normal(50, 64), "places": torch.randint(0, 50, (N,), generator=generator), "weight": normal(300, 40),
    }  # fmt: skip


def gradient(result, of):
    return torch.autograd.grad(result.sin().sum(), of)[0]


CASES = {
    "sum": lambda x, **_: x.sum(),
    "sum of columns": lambda rows, **_: rows.sum(0),
    "mean": lambda x, **_: x.mean(),
    "prod": lambda x, **_: (x * 0.01 + 1).prod(),
    "std": lambda x, **_: x.std(),
    "norm": lambda x, **_: x.norm(),
    "logsumexp": lambda x, **_: x.logsumexp(0),
    "dot": lambda x, **_: x @ x,
    "product": lambda rows, weight, **_: rows @ weight,
    "gradient of a product": lambda rows, weight, **_: gradient(rows @ weight.requires_grad_(), weight),
    "product of long sums": lambda x, **_: x[:100_000].view(20, 5000) @ x[:60_000].view(5000, 12),
    "product of many columns": lambda rows, **_: rows.t() @ rows[:, :7] @ rows[:7, :300],
    "layer of few rows": lambda rows, x, **_: functional.linear(rows[:40], x.view(400, 300)),
    "product of bfloat16": lambda rows, **_: (rows.bfloat16() @ rows.t().bfloat16()).float(),
    "convolution": lambda image, filter, **_: functional.conv2d(image, filter),
    "softmax": lambda rows, **_: rows.softmax(1),
    "softmax of columns": lambda rows, **_: rows.softmax(0),
    "layer_norm": lambda rows, **_: functional.layer_norm(rows, (300,)),
    "gradients of layer_norm": lambda rows, scale, **_: gradient(
        functional.layer_norm(rows, (300,), scale.requires_grad_(), scale), scale
    ),
    "batch_norm": lambda image, **_: functional.batch_norm(image, None, None, training=True),
    "cumsum": lambda x, **_: x.cumsum(0),
    "index_add": lambda x, places, **_: torch.zeros(50).index_add_(0, places, x),
    "scatter_add": lambda x, places, **_: torch.zeros(50).scatter_add_(0, places, x),
    "index_put": lambda x, places, **_: torch.zeros(50).index_put_((places,), x, accumulate=True),
    "gradient of embedding": lambda table, places, **_: gradient(
        functional.embedding(places, table.requires_grad_()), table
    ),
    "bincount": lambda x, places, **_: torch.bincount(places, x),
    "cross_entropy": lambda rows, **_: functional.cross_entropy(rows, torch.arange(700) % 300),
    "attention": lambda image, **_: functional.scaled_dot_product_attention(image, image, image),
    "fft": lambda x, **_: torch.view_as_real(torch.fft.fft(x)),
    "sort": lambda x, **_: x.sort().values,
    "median": lambda x, **_: x.median(),
    "exp": lambda x, **_: x.exp(),
    "gelu": lambda x, **_: functional.gelu(x),
    "interpolate": lambda image, **_: functional.interpolate(image, scale_factor=2, mode="bilinear"),
    "rand": lambda x, **_: torch.rand(N),
    "randn": lambda x, **_: torch.randn(N),
    "dropout": lambda x, **_: functional.dropout(x),
}


def compute(case):
    torch.manual_seed(3)
    return CASES[case](**inputs()).detach().tolist()


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("case", CASES)
def test_any_number_of_threads(case, threads):
    threads(1)
    expected = compute(case)
    for count in (2, 4, 8):
        threads(count)
        assert compute(case) == expected, f"{count} threads"
    assert compute(case) == expected, "once more"


def test_after_a_fork():
    chosen = ("sum", "dot", "product", "gradients of layer_norm", "randn")
    expected = {case: compute(case) for case in chosen}
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with open(writing, "wb") as end:
            pickle.dump({case: compute(case) for case in chosen}, end)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as end:
        numbers = pickle.load(end)
    for case in chosen:
        assert numbers[case] == expected[case], case
    assert os.waitpid(child, 0)[1] == 0


TEXT = (
    "{} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. You can turn off "
    "determinism just for this operation, or you can use the 'warn_only=True' option, if that's acceptable for your "
    "application. You can also file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding "
    "deterministic support for this operation."
)
WARNING = (
    "{} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True, warn_only=True)'. "
    "You can file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support "
    "for this operation."
)


def unpool(dims):
    x = (
        torch.arange(64.0).reshape(1, 4, 4, 4)
        if dims == 3
        else torch.arange(16.0).reshape((1, 16) if dims == 1 else (1, 4, 4))
    )
    pool, back = (getattr(functional, f"max_{word}pool{dims}d") for word in ("", "un"))
    return back(*pool(x, 2, return_indices=True), 2)


REFUSED = {
    "put_": lambda: torch.zeros(5).put_(torch.tensor([1, 1]), torch.ones(2)),
    "put": lambda: torch.put(torch.zeros(5), torch.tensor([1, 1]), torch.ones(2)),
    "max_unpool1d": lambda: unpool(1),
    "max_unpool2d": lambda: unpool(2),
    "max_unpool3d": lambda: unpool(3),
}
NAMED = {"put": "put_", "max_unpool3d": "max_unpooling3d_forward_out"}  # else "max_unpooling2d_forward_out"


@pytest.fixture
def deterministic():
    yield torch.use_deterministic_algorithms
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_deterministic_is_refused(case, deterministic):
    name = NAMED.get(case, "put_" if case == "put_" else "max_unpooling2d_forward_out")
    REFUSED[case]()
    deterministic(True)
    with pytest.raises(RuntimeError) as raised:
        REFUSED[case]()
    assert str(raised.value) == TEXT.format(name)
    deterministic(True, warn_only=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        REFUSED[case]()
    assert [str(each.message).partition(" (Triggered")[0] for each in seen] == [WARNING.format(name)]
    deterministic(False)
    REFUSED[case]()


def test_what_adds_is_not_refused(deterministic):
    deterministic(True)
    assert torch.zeros(2).put_(torch.tensor([1, 1]), torch.ones(2), accumulate=True).tolist() == [0, 2]
    assert torch.zeros(2).index_put_((torch.tensor([1, 1]),), torch.ones(2)).tolist() == [0, 1]
