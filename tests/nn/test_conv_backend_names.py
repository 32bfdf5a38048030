"""`torch._C._select_conv_backend`: the name by PyTorch's rule; its answers, recorded where it has no NNPACK to name."""

import pytest
from agreement import same, same_error

import mindtorch_v2 as torch

# PyTorch's, of a setting for Intel's graphics that its flags() sets too.
pytestmark = pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN:UserWarning")

FLOAT = [  # input, weight, then settings that are not the usual ones
    ((1, 3, 8, 8), (4, 3, 3, 3), {}),
    ((2, 3, 8, 8), (4, 3, 3, 3), {}),
    ((1, 3, 8, 8), (4, 3, 4, 4), {}),
    ((1, 3, 8, 8), (4, 3, 4, 3), {}),
    ((1, 5, 64, 64), (4, 5, 3, 3), {}),
    ((1, 5, 64, 65), (4, 5, 3, 3), {}),
    ((1, 4, 8, 8), (4, 2, 3, 3), {"groups": 2}),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"dilation": 2}),
    ((2, 3, 8, 8), (4, 3, 3, 3), {"dilation": 2}),
    ((1, 3, 8), (4, 3, 3), {}),
    ((2, 3, 8), (4, 3, 3), {}),
    ((1, 3, 8), (4, 3, 5), {}),
    ((1, 3, 8000), (4, 3, 3), {}),
    ((1, 3, 8, 8, 8), (4, 3, 3, 3, 3), {}),
    ((1, 3, 8, 8, 8), (4, 3, 3, 4, 4), {}),
    ((1, 3, 8, 8, 8), (4, 3, 4, 4, 3), {}),
    ((1, 3, 28, 28, 28), (4, 3, 3, 3, 3), {}),
    ((1, 3, 85, 85, 1), (4, 3, 3, 3, 1), {}),
    ((1, 3, 8, 8), (3, 4, 3, 3), {"transposed": True}),
    ((2, 3, 8, 8), (3, 4, 3, 3), {"transposed": True, "output_padding": 1, "dilation": 2}),
    ((1, 3, 8, 8, 8), (3, 4, 3, 3, 3), {"transposed": True}),
    ((0, 3, 8, 8), (4, 3, 3, 3), {}),
    ((2, 0, 8, 8), (4, 0, 3, 3), {}),
    ((0, 3, 8), (3, 4, 3), {"transposed": True}),
]
WRONG = [((2, 5, 8, 8), (4, 3, 3, 3)), ((2, 3, 2, 2), (4, 3, 3, 3)), ((2, 3, 0, 8), (4, 3, 3, 3))]


def _name(torch, shape, weight, dtype="float32", transposed=False, dilation=1, output_padding=0, groups=1):
    n = len(shape) - 2
    x, w = (torch.zeros(s, dtype=getattr(torch, dtype)) for s in (shape, weight))
    chosen = torch._C._select_conv_backend(
        x, w, None, (1,) * n, (0,) * n, (dilation,) * n, transposed, (output_padding,) * n, groups
    )
    return [int(getattr(chosen, "value", chosen)), str(chosen).rpartition(".")[2]]


@pytest.mark.parametrize("case", range(len(FLOAT)))
@pytest.mark.parametrize("enabled", [True, False])
def test_of_float(case, enabled):
    shape, weight, settings = FLOAT[case]

    def name(torch):
        with torch.backends.mkldnn.flags(enabled=enabled):
            return _name(torch, shape, weight, **settings)

    same(name)


@pytest.mark.parametrize("dtype", ["float64", "float16", "complex64"])
def test_of_other_dtypes(dtype):
    same(lambda torch: _name(torch, (2, 3, 8, 8), (4, 3, 3, 3), dtype))


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_arguments_that_no_convolution_takes(case):
    same_error(lambda torch: _name(torch, *WRONG[case]))


def test_of_transposed_on_onednn():
    """PyTorch has the number but no name for it; its gradient and result are the transposed ones' all the same."""
    assert _name(torch, (2, 3, 8, 8), (3, 4, 3, 3), transposed=True) == [9, "MkldnnTranspose"]
    same(lambda torch: _name(torch, (2, 3, 8, 8), (3, 4, 3, 3), transposed=True)[0])


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_of_one_element_are_for_several_threads(threads):
    def name(torch):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            return [_name(torch, (2, 3, *[5] * n), (4, 3, *[1] * n)) for n in (1, 2, 3)]
        finally:
            torch.set_num_threads(before)

    same(name)


def test_of_other_devices():
    with pytest.raises(NotImplementedError, match="expected a strided CPU tensor"):
        torch._C._select_conv_backend(
            torch.zeros(2, 3, 8, 8, device="meta"),
            torch.zeros(4, 3, 3, 3),
            None,
            (1, 1),
            (0, 0),
            (1, 1),
            False,
            (0, 0),
            1,
        )
