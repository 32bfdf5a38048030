"""New tensors from numbers, sequences, arrays and buffers, against PyTorch."""

import numpy
import pytest
from agreement import agree, agree_on_error

import mindtorch_v2 as torch

_TEXTS = [
    "torch.zeros(2, 3), torch.ones((2, 3), dtype=torch.int64), torch.full((2,), 3), torch.full((2,), 3.5), torch.full((2,), True), torch.full((2,), 1j)",
    "torch.zeros(2, 0), torch.zeros(()), torch.eye(3), torch.eye(2, 4), torch.scalar_tensor(3), torch.eye(3, dtype=torch.int64)",
    "torch.arange(5), torch.arange(2, 8), torch.arange(1, 2, 0.3), torch.arange(5.0), torch.arange(5, 0, -2), torch.arange(0, 1, 0.1, dtype=torch.float64)",
    "torch.arange(3, dtype=torch.float16), torch.arange(3, dtype=torch.bfloat16), torch.arange(2.5, dtype=torch.int32), torch.arange(0)",
    "torch.linspace(0, 1, 7), torch.linspace(-3, 10, 5, dtype=torch.float64), torch.linspace(0, 10, 5, dtype=torch.int64), torch.linspace(1, 2, 1), torch.linspace(3, 4, 0)",
    "torch.logspace(0, 2, 5), torch.logspace(-1, 1, 3, 2.0, dtype=torch.float64), torch.range(1, 3), torch.range(0, 2, 0.5)",
    "torch.linspace(torch.tensor(0.0), 1, 3), torch.tril_indices(3, 4, 1), torch.triu_indices(3, 4, -1), torch.vander(torch.tensor([1.0, 2.0, 3.0]))",
    "x.new_zeros(2), x.new_ones(2, 2, dtype=torch.int64), x.new_full((2,), 7), torch.zeros_like(x), torch.ones_like(x.t()), torch.full_like(x, 2, dtype=torch.bool)",
    "torch.empty_strided((2, 3), (1, 2)).stride(), torch.empty_like(x.t()).stride(), torch.empty(1, 2, 3, 4, memory_format=torch.channels_last).stride(), x.new_empty(3).shape",
    "torch.tensor(1), torch.tensor(1.5), torch.tensor(True), torch.tensor(1j), torch.tensor([]), torch.tensor([[]]), torch.tensor([[], []])",
    "torch.ByteTensor([b'ab', b'cd']), torch.tensor([b'ab'], dtype=torch.uint8), torch.FloatTensor([[b'ab']]), torch.tensor([bytearray(b'ab')]), torch.ByteTensor([b''])",
    "torch.tensor([1, 2.5]), torch.tensor([True, 2]), torch.tensor([1, 2j]), torch.tensor(((1, 2), [3, 4])), torch.tensor(range(3)), torch.tensor([range(2), range(2)])",
    "torch.tensor(np.float64(1)), torch.tensor(np.float32(1)), torch.tensor([np.float32(1), 2]), torch.tensor([np.int32(1)]), torch.tensor([np.bool_(True)])",
    "torch.tensor(-1, dtype=torch.uint8), torch.tensor(1.7, dtype=torch.int64), torch.tensor([2], dtype=torch.bool), torch.tensor(1, dtype=float), torch.tensor([1.1], dtype=torch.float16)",
    "torch.tensor([x[0, 0], x[0, 1]]), torch.tensor([x[0, 0], 1]), torch.tensor(a), torch.tensor(a.T), torch.tensor(a[:, ::2]), torch.tensor(a, dtype=torch.int32)",
    "torch.as_tensor(a), torch.as_tensor([1]), torch.as_tensor(x) is x, torch.as_tensor(x, dtype=torch.int32), torch.asarray(3), torch.asarray(a), torch.asarray(x) is x",
    "torch.from_numpy(a), torch.from_numpy(a.T), torch.from_numpy(a[1:, ::2]), torch.from_numpy(np.arange(3, dtype=np.uint16)), torch.from_numpy(np.array(3.0))",
    "torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.int32), torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.int32, count=1, offset=4)",
    "torch.Tensor([1, 2]), torch.Tensor(), torch.Tensor(2, 3).shape, torch.Tensor((2, 3)), torch.Tensor(torch.Size([2, 3])).shape, torch.Tensor(a)",
    "x.new_tensor([1, 2]), x.long().new_tensor([1.5]), x.new([1, 2]), x.new(2, 3).shape, x.tolist(), x[0, 0].item(), torch.zeros(2, 0).tolist()",
    "torch.tensor([1, 2], dtype=torch.bfloat16).tolist(), torch.tensor([1 + 2j]).tolist(), torch.tensor([True]).tolist(), torch.tensor(3).tolist()",
    "torch.zeros(2, 3, device='meta').shape, torch.arange(5, device='meta').shape, str(torch.ones(2, device='meta').device)",
    "torch.complex(x, x), torch.from_dlpack(a), torch.from_dlpack(x) is x, np.asarray(x).tolist(), np.array(x.t()).strides, x.numpy().dtype.name",
]
_ERRORS = [
    "torch.tensor([[1, 2], [3]])", "torch.tensor([[1, 2], 3])", "torch.tensor([1, [2, 3]])", "torch.tensor('a')", "torch.tensor(['a'])", "torch.tensor({})",
    "torch.tensor([{}])", "torch.tensor(None)", "torch.tensor(2**63)", "torch.tensor(300, dtype=torch.uint8)", "torch.tensor(float('nan'), dtype=torch.int64)",
    "torch.tensor(1j, dtype=torch.float32)", "torch.tensor([x, x])", "torch.tensor(1, 2)", "torch.tensor()", "torch.tensor(a.astype(object))", "torch.tensor(a[::-1])",
    "torch.from_numpy([1])", "torch.from_numpy(a.astype('>f4'))", "torch.from_numpy(np.array('a'))", "torch.asarray([1, 2], copy=False)",
    "torch.frombuffer(bytearray(b'abc'), dtype=torch.int32)", "torch.frombuffer(bytearray(b''), dtype=torch.int32)", "torch.frombuffer(3, dtype=torch.int32)",
    "torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.int32, count=5)", "torch.Tensor('a')", "torch.Tensor(1.5)", "x.item()", "torch.zeros(1, device='meta').item()",
    "x.clone().requires_grad_().numpy()", "torch.zeros(2, dtype=torch.bfloat16).numpy()", "torch.zeros(2, device='meta').numpy()",
    "torch.tensor([1, 2], requires_grad=True)", "torch.zeros(-1)", "torch.arange(0, 5, 0)", "torch.arange(5, 0)", "torch.from_dlpack(3)",
    "torch.tensor(b'ab')", "torch.tensor([b'ab'])", "torch.tensor(b'ab', dtype=torch.uint8)", "torch.ByteTensor([b'ab', 1])", "torch.ByteTensor([1, b'a'])",
    "torch.ByteTensor([b'ab', b'c'])", "torch.tensor([torch.ones((), device='meta')])",
    "torch.empty_strided((2,), (1, 2))", "torch.linspace(0, 1, -1)", "torch.complex(x, x.long())", "torch.eye(-1)",
]  # fmt: skip


def _names(torch):
    return {"torch": torch, "np": numpy, "x": torch.arange(6.0).view(2, 3), "a": numpy.arange(6.0).reshape(2, 3)}


@pytest.mark.parametrize("text", _TEXTS)
@pytest.mark.filterwarnings("ignore")
def test_results(text):
    agree(lambda torch: eval(text, _names(torch)))


@pytest.mark.parametrize("text", _ERRORS)
@pytest.mark.filterwarnings("ignore")
def test_errors(text):
    agree_on_error(lambda torch: eval(text, _names(torch)))


def test_memory_is_shared_with_arrays():
    import mindtorch_v2 as torch

    a = numpy.arange(4.0)
    x = torch.from_numpy(a)
    a[0] = 7
    x[1] = 8
    assert x.tolist() == [7.0, 8.0, 2.0, 3.0] and a[1] == 8
    y = torch.arange(3)
    n = y.numpy()
    n[0] = 5
    assert y[0].item() == 5
    del y
    assert n.sum() == 8
    z = torch.from_dlpack(a)
    z[2] = 9
    assert a[2] == 9
    assert torch.as_tensor(a).data_ptr() == a.ctypes.data
    assert numpy.from_dlpack(torch.arange(3)).tolist() == [0, 1, 2]


def test_warnings():
    import mindtorch_v2 as torch

    with pytest.warns(UserWarning, match="recommended to use sourceTensor"):
        torch.tensor(torch.ones(2))
    with pytest.warns(UserWarning, match="extremely slow"):
        torch.tensor([numpy.ones(2), numpy.ones(2)])


def test_large_ranges_agree():
    agree(
        lambda torch: (
            torch.arange(0, 1000, 0.37),
            torch.linspace(-5, 7, 1001),
            torch.linspace(0, 1, 997, dtype=torch.float64),
        )
    )


WINDOWS = {
    "hann": [0.0, 0.3454915, 0.9045085, 0.9045085, 0.3454915],
    "hamming": [0.08, 0.3978522, 0.9121478, 0.9121478, 0.3978522],
    "blackman": [0.0, 0.2007701, 0.8492299, 0.8492299, 0.2007701],
    "bartlett": [0.0, 0.4, 0.8, 0.8, 0.4],
    "kaiser": [5.2773e-05, 0.101719, 0.792942, 0.792942, 0.101719],
}


@pytest.mark.parametrize("name", sorted(WINDOWS))
def test_windows(name):
    window = getattr(torch, f"{name}_window")
    assert window(5).tolist() == pytest.approx(WINDOWS[name], abs=1e-5)
    symmetric = window(6, periodic=False, dtype=torch.float64)
    assert symmetric.dtype == torch.float64 and symmetric[:5].tolist() == pytest.approx(WINDOWS[name], abs=1e-5)
    assert symmetric[5].item() == pytest.approx(symmetric[0].item(), abs=1e-15)
    assert window(0).shape == (0,) and window(1).tolist() == [1.0]
    with pytest.raises(RuntimeError, match=f"{name}_window requires non-negative window_length, got window_length=-1"):
        window(-1)
    with pytest.raises(RuntimeError, match=f"{name}_window expects floating point dtypes"):
        window(4, dtype=torch.int64)


def test_windows_with_parameters():
    assert torch.hamming_window(4, True, 0.5, 0.3).tolist() == pytest.approx([0.2, 0.5, 0.8, 0.5])
    assert torch.kaiser_window(5, True, 3.0).tolist() == pytest.approx(
        [0.2049, 0.6247, 0.9522, 0.9522, 0.6247], abs=1e-4
    )
