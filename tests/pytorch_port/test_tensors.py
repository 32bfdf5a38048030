"""Creation, printing, NumPy exchange, comparison, and the errors of binding arguments."""

import copy
import math
import subprocess
import sys

import numpy
import pytest

import mindtorch_v2 as torch


def test_creation() -> None:
    assert torch.tensor([[1, 2], [3, 4]]).dtype == torch.int64
    assert torch.tensor([1, 2.5]).dtype == torch.float32
    assert torch.tensor([True, False]).dtype == torch.bool
    assert torch.tensor([1, 2j]).dtype == torch.complex64
    assert tuple(torch.tensor([]).shape) == (0,)
    assert torch.arange(5).dtype == torch.int64
    assert torch.arange(1, 2, 0.25).tolist() == [1, 1.25, 1.5, 1.75]
    assert torch.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert torch.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert torch.logspace(0, 2, 3).tolist() == [1, 10, 100]
    assert torch.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert torch.full((2,), 7).dtype == torch.int64
    assert torch.full((2,), 7.0).dtype == torch.float32
    assert torch.zeros(2, 3).shape == torch.zeros((2, 3)).shape == torch.zeros(torch.Size([2, 3])).shape
    assert torch.ones_like(torch.zeros(2, dtype=torch.int8)).dtype == torch.int8
    assert torch.zeros(2).new_tensor([1]).dtype == torch.float32
    assert torch.zeros(2, dtype=torch.float64).new_ones(3).dtype == torch.float64
    assert torch.empty_strided((2, 2), (1, 2)).stride() == (1, 2)
    assert torch.tril(torch.ones(2, 2)).tolist() == [[1, 0], [1, 1]]
    assert torch.triu(torch.ones(2, 2), 1).tolist() == [[0, 1], [0, 0]]
    assert torch.diag(torch.tensor([1, 2])).tolist() == [[1, 0], [0, 2]]
    assert [t.tolist() for t in torch.meshgrid(torch.arange(2), torch.arange(2), indexing="ij")] == [
        [[0, 0], [1, 1]],
        [[0, 1], [0, 1]],
    ]
    assert torch.complex(torch.ones(1), torch.zeros(1)).dtype == torch.complex64


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (
            lambda: torch.tensor([[1, 2], [3]]),
            ValueError,
            "expected sequence of length 2 at dim 1",
        ),
        (lambda: torch.tensor("a"), TypeError, "new\\(\\): invalid data type 'str'"),
        (lambda: torch.zeros(-1), RuntimeError, "(?i)negative"),
        (lambda: torch.arange(0, 1, 0), RuntimeError, "step must be nonzero"),
        (
            lambda: torch.arange(0, 1, -1),
            RuntimeError,
            "upper bound and lower bound inconsistent with step sign",
        ),
        (lambda: torch.add(1), TypeError, "add"),
        (lambda: torch.zeros(2).sum(dimm=1), TypeError, r"sum\(\)"),
        (
            lambda: torch.relu([1.0]),
            TypeError,
            r"relu\(\): argument 'input' \(position 1\) must be Tensor, not list",
        ),
        (lambda: torch.zeros(2).view("a"), TypeError, "view"),
        (lambda: torch.zeros(2).to("nowhere"), RuntimeError, "Expected one of cpu"),
        (
            lambda: torch.zeros(3).item(),
            RuntimeError,
            "Tensor with 3 elements cannot be converted to Scalar",
        ),
        (
            lambda: bool(torch.zeros(2)),
            RuntimeError,
            "Boolean value of Tensor with more than one value is ambiguous",
        ),
        (
            lambda: torch.zeros(2, 3) @ torch.zeros(2, 3),
            RuntimeError,
            r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)",
        ),
        (
            lambda: torch.zeros(2, dtype=torch.int64).normal_(),
            (RuntimeError, NotImplementedError),
            "Long",
        ),
        (lambda: torch.zeros(1, device="meta").item(), RuntimeError, "meta"),
        (
            lambda: torch.zeros(2) + torch.zeros(2, device="meta"),
            RuntimeError,
            "device",
        ),
    ],
)
def test_errors(act: object, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        act()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: torch.tensor(3), "tensor(3)"),
        (lambda: torch.tensor(3.0), "tensor(3.)"),
        (lambda: torch.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (lambda: torch.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (lambda: torch.tensor([1e-8, 1.0]), "tensor([1.0000e-08, 1.0000e+00])"),
        (
            lambda: torch.tensor([[1, 20], [300, 4]]),
            "tensor([[  1,  20],\n        [300,   4]])",
        ),
        (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
        (lambda: torch.tensor([1], dtype=torch.int8), "tensor([1], dtype=torch.int8)"),
        (
            lambda: torch.tensor([0.5], dtype=torch.float64),
            "tensor([0.5000], dtype=torch.float64)",
        ),
        (lambda: torch.empty(0), "tensor([])"),
        (lambda: torch.empty(0, 2), "tensor([], size=(0, 2))"),
        (lambda: torch.tensor([math.inf, math.nan, -1.0]), "tensor([inf, nan, -1.])"),
        (lambda: torch.tensor([1 + 2j]), "tensor([1.+2.j])"),
        (
            lambda: torch.empty(2, device="meta"),
            "tensor(..., device='meta', size=(2,))",
        ),
        (
            lambda: torch.arange(2000),
            "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])",
        ),
        (
            lambda: torch.tensor([1.0], requires_grad=True),
            "tensor([1.], requires_grad=True)",
        ),
        (lambda: torch.Size([1, 2]), "torch.Size([1, 2])"),
        (lambda: torch.float32, "torch.float32"),
        (lambda: torch.device("cpu"), "device(type='cpu')"),
        (
            lambda: torch.nn.Parameter(torch.ones(1)),
            "Parameter containing:\ntensor([1.], requires_grad=True)",
        ),
    ],
)
def test_repr(make: object, text: str) -> None:
    assert repr(make()) == text


def test_numpy_shares_memory() -> None:
    array = numpy.arange(6.0).reshape(2, 3)
    x = torch.from_numpy(array)
    x[0, 0] = 100
    assert array[0, 0] == 100
    assert x.dtype == torch.float64
    back = x.t().numpy()
    assert back.strides == (8, 24)
    back[0, 1] = -1
    assert x[1, 0].item() == -1
    assert numpy.asarray(torch.ones(2)).tolist() == [1, 1]
    assert torch.as_tensor(array).data_ptr() == x.data_ptr()
    assert torch.tensor(array).data_ptr() != x.data_ptr()
    assert (torch.ones(2).numpy() + 1).tolist() == [2, 2]
    with pytest.raises(TypeError):
        torch.from_numpy(numpy.array(["a"]))
    with pytest.raises(TypeError, match="BFloat16"):
        torch.ones(1, dtype=torch.bfloat16).numpy()


def test_dlpack() -> None:
    x = torch.arange(4.0)
    y = torch.from_dlpack(x)
    y[0] = 9
    assert x[0].item() == 9
    assert numpy.from_dlpack(x).tolist() == [9, 1, 2, 3]


def test_comparison() -> None:
    x = torch.tensor([1.0, math.nan])
    assert torch.equal(torch.ones(2), torch.tensor([1.0, 1.0]))
    assert not torch.equal(torch.ones(2), torch.ones(3))
    assert torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    assert torch.isclose(x, x, equal_nan=True).all()
    assert (x == x).tolist() == [True, False]
    assert (torch.tensor([1, 2]) != 2).tolist() == [True, False]
    assert (3 > torch.tensor([1, 5])).tolist() == [True, False]
    assert (torch.tensor([True]) & torch.tensor([False])).tolist() == [False]
    assert (~torch.tensor([True, False])).tolist() == [False, True]
    assert (torch.tensor([5]) ^ 3).tolist() == [6]
    assert (torch.tensor([1]) << 3).tolist() == [8]
    assert (-torch.tensor([1])).tolist() == [-1]
    assert abs(torch.tensor([-1])).tolist() == [1]
    assert (10 - torch.tensor([1])).tolist() == [9]
    assert (10 / torch.tensor([4])).tolist() == [2.5]
    assert (7 // torch.tensor([2])).tolist() == [3]
    assert (2 ** torch.tensor([3.0])).tolist() == [8]
    assert (torch.ones(2, 2) @ torch.ones(2)).tolist() == [2, 2]
    assert hash(x) == id(x)
    assert 1.0 in x
    assert f"{torch.tensor(1.5):.2f}" == "1.50"


def test_attributes_and_copies() -> None:
    x = torch.zeros(2, 3, dtype=torch.float16)
    assert (x.ndim, x.numel(), x.element_size(), x.itemsize, x.nbytes) == (
        2,
        6,
        2,
        2,
        12,
    )
    assert x.shape == (2, 3)
    assert isinstance(x.shape, torch.Size)
    assert x.size(-1) == 3
    assert x.stride(0) == 3
    assert x.device == torch.device("cpu")
    assert x.is_floating_point()
    assert not x.is_cuda
    assert x.T.shape == (3, 2)
    y = copy.deepcopy(x)
    assert y.data_ptr() != x.data_ptr()
    assert copy.copy(x).data_ptr() == x.data_ptr()
    z = x.clone()
    z.note = "kept"
    assert copy.deepcopy(z).note == "kept"
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(torch.ones(1, requires_grad=True) * 2)


def test_meta_tensors_compute_shapes() -> None:
    a, b = torch.empty(2, 3, device="meta"), torch.empty(3, 4, device="meta")
    c = (a @ b).relu().sum(0, keepdim=True)
    assert c.is_meta
    assert tuple(c.shape) == (1, 4)
    assert torch.nn.Linear(4, 5, device="meta")(c).shape == (1, 5)


def test_subclass_keeps_its_type() -> None:
    class Tagged(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Tagged)
    assert type(x + 1) is Tagged
    assert type(torch.sum(x)) is Tagged
    assert isinstance(x, torch.Tensor)


def test_torch_function() -> None:
    class Logged:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args)

    assert torch.add(Logged(), 1) == ("add", 2)
    assert torch.nn.functional.relu(Logged()) == ("relu", 1)


def test_linear_algebra() -> None:
    a = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    factor = torch.linalg.cholesky(a)
    torch.testing.assert_close(factor @ factor.mT, a)
    torch.testing.assert_close(torch.linalg.solve(a, a), torch.eye(2))
    torch.testing.assert_close(torch.linalg.inv(a) @ a, torch.eye(2))
    assert torch.linalg.det(a).item() == pytest.approx(11)
    values, vectors = torch.linalg.eigh(a)
    torch.testing.assert_close(vectors @ torch.diag(values) @ vectors.mT, a)
    u, s, vh = torch.linalg.svd(a)
    torch.testing.assert_close(u @ torch.diag(s) @ vh, a)
    q, r = torch.linalg.qr(a)
    torch.testing.assert_close(q @ r, a)
    assert torch.einsum("ij,kj->ik", a, a).tolist() == [[17, 7], [7, 10]]
    assert torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4])).tolist() == [
        [3, 4],
        [6, 8],
    ]
    assert torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).item() == 11
    assert torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten().tolist() == [
        3,
        3,
    ]
    assert torch.addmm(torch.ones(2), a, a, beta=2, alpha=0).tolist() == [
        [2, 2],
        [2, 2],
    ]
    assert torch.tensordot(a, a, dims=2).item() == 27
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.inv(torch.zeros(2, 2))


def test_memory_statistics_of_a_fresh_process() -> None:
    code = (
        "import mindtorch_v2 as t; start = t.cpu.memory_stats(); x = t.ones(1024); "
        "print(start['allocated_bytes.current'], t.cpu.memory_allocated() >= 4096, "
        "t.cpu.max_memory_allocated() >= t.cpu.memory_allocated(), t.cpu.memory_reserved() >= 4096)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["0", "True", "True", "True"]


def test_arithmetic_functions_take_a_number_for_their_first_tensor() -> None:
    for got, value, dtype in [
        (torch.add(5, 2), 7, torch.int64),
        (torch.add(1, 2, alpha=3), 7, torch.int64),
        (torch.sub(5.0, 2), 3.0, torch.float32),
        (torch.mul(True, 2), 2, torch.int64),
        (torch.div(5, 2), 2.5, torch.float32),
        (torch.div(5, 2, rounding_mode="trunc"), 2, torch.int64),
        (torch.floor_divide(5, torch.tensor(2)), 2, torch.int64),
        (torch.mul(1j, 2), 2j, torch.complex64),
    ]:
        assert got.item() == value and got.dtype is dtype and got.shape == ()
    with pytest.raises(TypeError, match=r"exp\(\): argument 'input' \(position 1\) must be Tensor, not int"):
        torch.exp(5)
