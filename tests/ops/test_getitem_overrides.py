"""Subclasses and modes see subscripts as Tensor.__getitem__ and Tensor.__setitem__."""

import mindtorch_v2 as torch

_SEEN = []


class _Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        _SEEN.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_subclass_sees_subscripts():
    x = torch.arange(6.0).view(2, 3).as_subclass(_Logged)
    _SEEN.clear()
    row = x[1]
    x[0] = 7.0
    assert _SEEN == [torch.Tensor.__getitem__, torch.Tensor.__setitem__]
    assert type(row) is _Logged
    assert row.tolist() == [3.0, 4.0, 5.0]


def test_index_of_a_subclass():
    index = torch.tensor([1, 0]).as_subclass(_Logged)
    _SEEN.clear()
    result = torch.arange(4.0)[index]
    assert _SEEN[0] is torch.Tensor.__getitem__
    assert result.tolist() == [1.0, 0.0]
