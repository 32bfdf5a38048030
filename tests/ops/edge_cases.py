"""Programs at the edges of what operators take, whose answers PyTorch gave (`edge_cases.json`)."""

import numpy


def _class_on(base, members):
    return type("Derived", (base,), members)


CASES = {
    "an empty tensor of huge sizes": lambda torch: list(torch.empty([2**40, 4, 0]).stride()),
    "roll without dimensions": lambda torch: torch.roll(torch.arange(4), 1, None).tolist(),
    "roll without dimensions, by name": lambda torch: torch.arange(4).view(2, 2).roll(3, dims=None).tolist(),
    "max_pool2d without a stride": lambda torch: list(torch.max_pool2d(torch.ones(1, 5, 5), 2, None).shape),
    "eye into bytes": lambda torch: torch.eye(2, out=torch.empty(0, dtype=torch.uint8)).tolist(),
    "eye into truth values": lambda torch: torch.eye(2, 3, out=torch.empty(0, dtype=torch.bool)).tolist(),
    "arange of large steps": lambda torch: torch.arange(0, 100 * 1449629115440469, 1449629115440469).numel(),
    "arange downwards in large steps": lambda torch: torch.arange(2**62, 0, -(2**60) + 1).tolist(),
    "arange that ends on a step": lambda torch: [torch.arange(0, 6, 3).tolist(), torch.arange(6, 0, -3).tolist()],
    "cat of nothing along no dimension": lambda torch: torch.cat([torch.empty(0), torch.empty(0)], 7).tolist(),
    "view_as_real_copy": lambda torch: torch.view_as_real_copy(torch.tensor([1 + 2j])).tolist(),
    "view_as_complex_copy": lambda torch: torch.view_as_complex_copy(torch.tensor([[1.0, 2.0]])).real.tolist(),
    "copies do not share": lambda torch: (
        (x := torch.tensor([1 + 2j])),
        torch.view_as_real_copy(x).zero_(),
        torch.view_as_complex_copy(torch.view_as_real(x)).zero_(),
        x.imag.tolist(),
    )[-1],
    "positions of nothing": lambda torch: list(torch.empty(10, 0)[torch.tensor([11]), :].shape),
    "no positions of nothing": lambda torch: list(torch.empty(0, 2)[torch.empty(0, dtype=torch.long)].shape),
    "thnn_conv2d": lambda torch: torch._C._nn.thnn_conv2d(
        torch.arange(12.0).view(1, 1, 3, 4), torch.ones(1, 1, 2, 2), [2, 2], torch.ones(1), 2, [1, 0]
    ).tolist(),
    "a storage's subclass": lambda torch: len(_class_on(torch._C.StorageBase, {})()),
    "a value of another dtype under a mask": lambda torch: [
        torch.arange(2).index_put_((torch.tensor([True, False]),), torch.tensor(value)).tolist()
        for value in (1.5, [2.5], [[3.5]], True)
    ],
    "a value of another dtype under a mask of columns": lambda torch: (
        (x := torch.zeros(2, 2)),
        x.__setitem__((slice(None), torch.tensor([True, False])), torch.tensor(7)),
        x.tolist(),
    )[-1],
    "packed numbers": lambda torch: torch._foreach_addcdiv(
        [torch.ones(1)] * 2, [torch.ones(1)] * 2, [torch.ones(1)] * 2, torch.tensor([3.0, 4.0])
    )[1].tolist(),
    "all smoothing of probabilities": lambda torch: torch.nn.functional.cross_entropy(
        torch.tensor([[1.0, 2.0]]), torch.tensor([[0.5, 0.25]]), label_smoothing=1.0
    ).item(),
    "less than no smoothing of probabilities": lambda torch: torch.nn.functional.cross_entropy(
        torch.tensor([[1.0, 2.0]]), torch.tensor([[0.5, 0.25]]), label_smoothing=-0.5
    ).item(),
    "unravel_index of one size": lambda torch: torch.unravel_index(torch.tensor([1]), 3)[0].tolist(),
}

REFUSED = {
    "strides too large": lambda torch: torch.empty([0, 4, 2**61]),
    "strides too large for resize_": lambda torch: torch.empty(0).resize_([0, 4, 2**61]),
    "storage too large, but empty": lambda torch: torch.empty([2**62, 2**62, 0]),
    "storage too large": lambda torch: torch.empty([2, 4, 2**61, 4]),
    "words in a list": lambda torch: torch.tensor(["a"]),
    "words after numbers": lambda torch: torch.tensor([0, "torch"]),
    "words after numbers, as_tensor": lambda torch: torch.as_tensor([[0], ["torch"]]),
    "vander of fewer than no columns": lambda torch: torch.vander(torch.arange(3), N=-1),
    "complex of nothing": lambda torch: complex(torch.empty(0)),
    "complex of two": lambda torch: complex(torch.empty(2)),
    "TensorBase itself": lambda torch: torch._C.TensorBase(),
    "a class on TensorBase": lambda torch: _class_on(torch._C.TensorBase, {}),
    "StorageBase itself": lambda torch: torch._C.StorageBase(),
    "a number of NumPy, not copied": lambda torch: torch.asarray(numpy.float64(0.5), copy=False),
    "sizes on another device": lambda torch: torch.Tensor(3, device="cuda"),
    "unravel_index of a float": lambda torch: torch.unravel_index(torch.tensor([1]), 3.0),
    "unravel_index of floats": lambda torch: torch.unravel_index(torch.tensor([1]), (2, 3.5)),
    "positions where nothing is": lambda torch: torch.empty(0, 2)[[0, 1]],
    "positions where nothing is, second": lambda torch: torch.empty(10, 0)[torch.tensor([0, 1]), torch.tensor([0])],
    "positions beyond": lambda torch: torch.empty(10, 2)[torch.tensor([11]), :],
    "tensor_split by floats": lambda torch: torch.arange(4).tensor_split(torch.tensor([1.0])),
    "values of another shape and dtype": lambda torch: torch.arange(4).__setitem__(
        torch.tensor([True, False, True, True]), torch.tensor([1.0, 2])
    ),
    "values of another dtype": lambda torch: torch.arange(4).index_put_(
        (torch.tensor([0, 1]),), torch.tensor([1.0, 2])
    ),
    "a complex value under a mask": lambda torch: torch.arange(2).index_put_(
        (torch.tensor([True, False]),), torch.tensor(1j)
    ),
    "a value of another dtype under a mask, added": lambda torch: torch.arange(2).index_put_(
        (torch.tensor([True, False]),), torch.tensor(1.0), accumulate=True
    ),
    "a value of another dtype at positions": lambda torch: torch.arange(2).index_put_(
        (torch.tensor([1]),), torch.tensor(1.0)
    ),
    "too much smoothing of probabilities": lambda torch: torch.nn.functional.cross_entropy(
        torch.ones(2, 2), torch.ones(2, 2), label_smoothing=1.2
    ),
    "no second list": lambda torch: torch._foreach_add([torch.ones(1)], []),
    "no second list, in place": lambda torch: torch._foreach_clamp_max_([torch.ones(1)], []),
    "a longer second list": lambda torch: torch._foreach_mul([torch.ones(1)], [torch.ones(1)] * 2),
    "no first list": lambda torch: torch._foreach_add([], [torch.ones(1)]),
    "more numbers than tensors": lambda torch: torch._foreach_mul([torch.ones(1)], [1.0, 2.0]),
    "no weights": lambda torch: torch._foreach_lerp([torch.ones(1)], [torch.ones(1)], []),
    "no ends and no weights": lambda torch: torch._foreach_lerp([torch.ones(1)], [], []),
    "packed numbers without a dimension": lambda torch: torch._foreach_addcdiv(
        *[[torch.ones(1)]] * 3, torch.tensor(1.0)
    ),
    "packed numbers of two dimensions": lambda torch: torch._foreach_addcmul_(
        *[[torch.ones(1)]] * 3, torch.tensor([[1.0]])
    ),
    "more packed numbers than tensors": lambda torch: torch._foreach_addcmul(
        *[[torch.ones(1)]] * 3, torch.tensor([1.0, 2.0])
    ),
    "thnn_conv2d without a kernel": lambda torch: torch._C._nn.thnn_conv2d(
        torch.rand([1, 1, 1, 1]), torch.rand([1, 1]), [], padding=[1, 1], stride=[1, 1]
    ),
    "thnn_conv2d without a stride": lambda torch: torch._C._nn.thnn_conv2d(
        torch.rand([1, 1, 1, 1]), torch.rand([1, 1]), [1, 1], padding=[1, 1], stride=[]
    ),
    "thnn_conv2d of one picture": lambda torch: torch._C._nn.thnn_conv2d(
        torch.ones(1, 3, 4), torch.ones(1, 1, 2, 2), [2, 2]
    ),
    "thnn_conv2d without padding": lambda torch: torch._C._nn.thnn_conv2d(
        torch.rand([1, 1, 1, 1]), torch.rand([1, 1]), [1, 1], padding=[], stride=[1, 1]
    ),
}
