"""Matrix products against PyTorch: every way a shape can take through the kernels, strides, batches, gradients, errors."""

import numpy
import pytest
from reference import pytorch

import mindtorch_v2 as torch

_TOLERANCE = {
    "float32": 2e-5,
    "float64": 1e-12,
    "complex64": 2e-5,
    "complex128": 1e-12,
    "bfloat16": 4e-2,
    "float16": 1e-2,
}


def _array(*shape, seed=0, dtype="float32"):
    generator = numpy.random.default_rng([seed, *shape])
    x = generator.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * generator.standard_normal(shape)
    return x


def _both(x, dtype="float32"):
    theirs = pytorch()
    return (
        torch.from_numpy(numpy.array(x)).to(getattr(torch, dtype)),
        theirs.from_numpy(numpy.array(x)).to(getattr(theirs, dtype)),
    )


def _numbers(x):
    x = x.detach()
    library = pytorch() if isinstance(x, pytorch().Tensor) else torch
    return x.to(library.complex128 if x.is_complex() else library.float64).numpy()


def _same(ours, theirs, dtype="float32", scale=1.0):
    assert tuple(ours.shape) == tuple(theirs.shape)
    numpy.testing.assert_allclose(
        _numbers(ours), _numbers(theirs), rtol=_TOLERANCE[dtype], atol=_TOLERANCE[dtype] * scale
    )


@pytest.mark.parametrize("dtype", sorted(_TOLERANCE))
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (1, 1, 1),
        (1, 70, 33),
        (3, 17, 5),
        (4, 64, 64),
        (5, 5, 5),
        (40, 33, 65),
        (1, 768, 100),
        (100, 1, 50),
        (20, 30, 1),
    ],
)
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt", "gaps"])
def test_mm(m, n, k, layout, dtype):
    a, b = _array(m, k, dtype=dtype), _array(k, n, seed=1, dtype=dtype)
    results = []
    for library in (torch, pytorch()):

        def place(x, kind):
            t = library.from_numpy(numpy.array(x)).to(getattr(library, dtype))
            if kind == "t":
                return t.t().contiguous().t()
            if kind == "g":
                wide = library.zeros(t.shape[0] * 2, t.shape[1] * 3, dtype=t.dtype)
                wide[::2, ::3] = t
                return wide[::2, ::3]
            return t

        kinds = "gg" if layout == "gaps" else layout
        results.append(library.mm(place(a, kinds[0]), place(b, kinds[1])))
    _same(*results, dtype, scale=k**0.5)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_integer_products(dtype):
    a = numpy.arange(12).reshape(3, 4)
    b = numpy.arange(20).reshape(4, 5)
    ours, theirs = _both(a, dtype)[0] @ _both(b, dtype)[0], _both(a, dtype)[1] @ _both(b, dtype)[1]
    assert ours.tolist() == theirs.tolist()


_MATMUL = [
    ((4,), (4,)),
    ((3, 4), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 5)),
    ((2, 6, 3, 4), (4, 5)),
    ((2, 0, 4), (4, 5)),
    ((2, 3, 0), (0, 5)),
    ((1, 1, 1), (1, 1)),
]


@pytest.mark.parametrize(("first", "second"), _MATMUL)
def test_matmul_and_its_gradients(first, second):
    results = []
    for library in (torch, pytorch()):
        a = library.from_numpy(_array(*first)).requires_grad_()
        b = library.from_numpy(_array(*second, seed=1)).requires_grad_()
        y = library.matmul(a, b)
        weight = library.from_numpy(numpy.array(_array(*y.shape, seed=2)))
        ga, gb = library.autograd.grad((y * weight).sum(), (a, b), create_graph=True)
        # Gradients of a function of the gradients: the second derivatives.
        seconds = library.autograd.grad((ga * ga).sum() + (gb * gb).sum(), (a, b), allow_unused=True)
        results.append((y, ga, gb, *[s for s in seconds if s is not None]))
    assert len(results[0]) == len(results[1])
    for ours, theirs in zip(*results, strict=True):
        _same(ours, theirs, "float64")


def test_matmul_of_permuted_heads():
    results = []
    for library in (torch, pytorch()):
        q = library.from_numpy(_array(2, 5, 3, 4)).transpose(1, 2)
        k = library.from_numpy(_array(2, 6, 3, 4, seed=1)).permute(0, 2, 3, 1)
        results.append(q @ k)
    _same(*results, "float64")


@pytest.mark.parametrize("bias", [None, (5,), (1,)])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_linear(shape, bias):
    results = []
    for library in (torch, pytorch()):
        tensors = [
            library.from_numpy(_array(*s, seed=i)).requires_grad_() for i, s in enumerate([shape, (5, 4), bias]) if s
        ]
        y = library.nn.functional.linear(*tensors)
        grads = library.autograd.grad((y * y).sum(), tensors, create_graph=True)
        seconds = library.autograd.grad(sum((g * g).sum() for g in grads), tensors)
        results.append((y, *grads, *seconds))
    for ours, theirs in zip(*results, strict=True):
        _same(ours, theirs, "float64", scale=100)


@pytest.mark.parametrize("name", ["addmm", "baddbmm", "addbmm", "addmv"])
@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (0, 1), (0.5, 2)])
def test_adding_products(name, beta, alpha):
    shapes = {
        "addmm": ((3, 5), (3, 4), (4, 5)),
        "baddbmm": ((2, 3, 5), (2, 3, 4), (2, 4, 5)),
        "addbmm": ((3, 5), (2, 3, 4), (2, 4, 5)),
        "addmv": ((3,), (3, 4), (4,)),
    }[name]
    results = []
    for library in (torch, pytorch()):
        tensors = [library.from_numpy(_array(*s, seed=i)) for i, s in enumerate(shapes)]
        if beta == 0:
            tensors[0].fill_(float("nan"))  # beta 0 ignores what is there
        y = getattr(library, name)(*tensors, beta=beta, alpha=alpha)
        in_place = tensors[0].clone()
        getattr(in_place, name + "_")(*tensors[1:], beta=beta, alpha=alpha)
        results.append((y, in_place))
    for ours, theirs in zip(*results, strict=True):
        _same(ours, theirs, "float64")


def test_grouped_products():
    results = []
    for library in (torch, pytorch()):
        a = library.from_numpy(_array(6, 16)).bfloat16().requires_grad_()
        b = library.from_numpy(_array(2, 16, 8, seed=1)).bfloat16().requires_grad_()
        offsets = library.tensor([2, 6], dtype=library.int32)
        y = library._grouped_mm(a, b, offsets)
        results.append((y, *library.autograd.grad(y.float().sum(), (a, b))))
    for ours, theirs in zip(*results, strict=True):
        _same(ours, theirs, "bfloat16", scale=4)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.mm(t.ones(2, 3), t.ones(4, 5)),
        lambda t: t.mm(t.ones(2), t.ones(4, 5)),
        lambda t: t.mm(t.ones(2, 4), t.ones(4, 3).double()),
        lambda t: t.mm(t.ones(2, 2).bool(), t.ones(2, 2).bool()),
        lambda t: t.bmm(t.ones(2, 3, 4), t.ones(3, 4, 4)),
        lambda t: t.bmm(t.ones(2, 3), t.ones(3, 4, 4)),
        lambda t: t.mv(t.ones(2, 3), t.ones(4)),
        lambda t: t.dot(t.ones(2), t.ones(3)),
        lambda t: t.dot(t.ones(2), t.ones(2).double()),
        lambda t: t.addmm(t.ones(2), t.ones(2, 3), t.ones(3, 4)),
        lambda t: t.addmm(t.ones(4), t.ones(2), t.ones(3, 4)),
        lambda t: t.matmul(t.ones(()), t.ones(4)),
        lambda t: t.matmul(t.ones(2, 3, 4), t.ones(5, 6)),
        lambda t: t.matmul(t.ones(3), t.ones(4, 5)),
        lambda t: t.nn.functional.linear(t.ones(2, 3), t.ones(4, 5)),
        lambda t: t.nn.functional.linear(t.ones(2, 3), t.ones(4, 3), t.ones(5)),
        lambda t: t.outer(t.ones(2, 2), t.ones(3)),
    ],
)
def test_errors_are_pytorchs(call):
    with pytest.raises(Exception) as theirs:
        call(pytorch())
    with pytest.raises(type(theirs.value)) as ours:
        call(torch)
    assert str(ours.value) == str(theirs.value)


def _whole_numbers(rows, cols, by):
    return [[(i * by + j * (by + 4)) % 7 - 3 for j in range(cols)] for i in range(rows)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize(
    "rows, terms, vectors", [(1, 1, 1), (5, 3, 1), (37, 19, 1), (9, 70, 3), (34, 33, 2), (7, 65, 4)]
)
@pytest.mark.parametrize("columns_adjacent", [False, True])
def test_matrix_times_few_vectors_is_exact_in_whole_numbers(dtype, rows, terms, vectors, columns_adjacent):
    matrix, other = _whole_numbers(rows, terms, 3), _whole_numbers(vectors, terms, 5)
    expected = [[sum(a * b for a, b in zip(row, x, strict=True)) for row in matrix] for x in other]
    m = torch.tensor(matrix, dtype=getattr(torch, dtype))
    if columns_adjacent:
        m = m.t().contiguous().t()
    x = torch.tensor(other, dtype=m.dtype)
    assert torch.nn.functional.linear(x, m).tolist() == expected
    gaps = torch.zeros(terms, 3, dtype=m.dtype)
    gaps[:, 1] = x[0]
    assert (m @ gaps[:, 1]).tolist() == expected[0]
    start = torch.arange(rows, dtype=m.dtype) % 5
    assert torch.addmv(start, m, x[0], beta=2, alpha=-1).tolist() == [
        2 * (i % 5) - v for i, v in enumerate(expected[0])
    ]
    assert torch.nn.functional.linear(x, m, start).tolist() == [
        [v + i % 5 for i, v in enumerate(row)] for row in expected
    ]


def test_tall_transposed_matrix_times_vector_is_exact_in_whole_numbers():
    matrix, vector = _whole_numbers(41, 3300, 3), _whole_numbers(1, 41, 5)[0]
    expected = [sum(matrix[i][j] * vector[i] for i in range(41)) for j in range(3300)]
    assert (
        torch.tensor(matrix, dtype=torch.float32).t() @ torch.tensor(vector, dtype=torch.float32)
    ).tolist() == expected


@pytest.mark.parametrize("n", [7, 16, 20, 33, 40, 49])
@pytest.mark.parametrize("turn", ["neither", "left", "right"])
def test_many_small_products_are_exact_in_whole_numbers(n, turn):
    left, right = _whole_numbers(n, n, 3), _whole_numbers(n, n, 5)
    expected = [[sum(left[i][q] * right[q][j] for q in range(n)) for j in range(n)] for i in range(n)]
    a, b = (torch.tensor([x, x], dtype=torch.float32) for x in (left, right))
    if turn == "left":
        a = a.mT.contiguous().mT
    if turn == "right":
        b = b.mT.contiguous().mT
    assert torch.bmm(a, b).tolist() == [expected, expected]
    assert torch.mm(a[0], b[1]).tolist() == expected
