"""Matrix products against PyTorch: every way a shape can take through the kernels, strides, batches, gradients, errors."""

import numpy
import pytest
from agreement import same, same_error

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


def _same(program, dtype="float32", scale=1.0):
    same(program, _TOLERANCE[dtype], _TOLERANCE[dtype] * scale)


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

    def program(library):
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
        return library.mm(place(a, kinds[0]), place(b, kinds[1]))

    _same(program, dtype, scale=k**0.5)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_integer_products(dtype):
    def program(library):
        kind = getattr(library, dtype)
        return library.arange(12, dtype=kind).reshape(3, 4) @ library.arange(20, dtype=kind).reshape(4, 5)

    same(program)


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

    def program(library):
        a = library.from_numpy(_array(*first)).requires_grad_()
        b = library.from_numpy(_array(*second, seed=1)).requires_grad_()
        y = library.matmul(a, b)
        weight = library.from_numpy(numpy.array(_array(*y.shape, seed=2)))
        ga, gb = library.autograd.grad((y * weight).sum(), (a, b), create_graph=True)
        # Gradients of a function of the gradients: the second derivatives.
        seconds = library.autograd.grad((ga * ga).sum() + (gb * gb).sum(), (a, b), allow_unused=True)
        return (y, ga, gb, *[s for s in seconds if s is not None])

    _same(program, "float64")


def test_matmul_of_permuted_heads():

    def program(library):
        q = library.from_numpy(_array(2, 5, 3, 4)).transpose(1, 2)
        k = library.from_numpy(_array(2, 6, 3, 4, seed=1)).permute(0, 2, 3, 1)
        return q @ k

    _same(program, "float64")


@pytest.mark.parametrize("bias", [None, (5,), (1,)])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_linear(shape, bias):

    def program(library):
        tensors = [
            library.from_numpy(_array(*s, seed=i)).requires_grad_() for i, s in enumerate([shape, (5, 4), bias]) if s
        ]
        y = library.nn.functional.linear(*tensors)
        grads = library.autograd.grad((y * y).sum(), tensors, create_graph=True)
        seconds = library.autograd.grad(sum((g * g).sum() for g in grads), tensors)
        return (y, *grads, *seconds)

    _same(program, "float64", scale=100)


@pytest.mark.parametrize("name", ["addmm", "baddbmm", "addbmm", "addmv"])
@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (0, 1), (0.5, 2)])
def test_adding_products(name, beta, alpha):
    shapes = {
        "addmm": ((3, 5), (3, 4), (4, 5)),
        "baddbmm": ((2, 3, 5), (2, 3, 4), (2, 4, 5)),
        "addbmm": ((3, 5), (2, 3, 4), (2, 4, 5)),
        "addmv": ((3,), (3, 4), (4,)),
    }[name]

    def program(library):
        tensors = [library.from_numpy(_array(*s, seed=i)) for i, s in enumerate(shapes)]
        if beta == 0:
            tensors[0].fill_(float("nan"))  # beta 0 ignores what is there
        y = getattr(library, name)(*tensors, beta=beta, alpha=alpha)
        in_place = tensors[0].clone()
        getattr(in_place, name + "_")(*tensors[1:], beta=beta, alpha=alpha)
        return (y, in_place)

    _same(program, "float64")


def test_grouped_products():

    def program(library):
        a = library.from_numpy(_array(6, 16)).bfloat16().requires_grad_()
        b = library.from_numpy(_array(2, 16, 8, seed=1)).bfloat16().requires_grad_()
        offsets = library.tensor([2, 6], dtype=library.int32)
        y = library._grouped_mm(a, b, offsets)
        return (y, *library.autograd.grad(y.float().sum(), (a, b)))

    _same(program, "bfloat16", scale=4)


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
    same_error(call)


def test_a_product_from_the_right():
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    assert torch.Tensor.__rmatmul__(x, y).tolist() == [[3.0, 4.0], [0.0, 0.0]]
