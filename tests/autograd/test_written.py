"""Retained gradients and hooks of tensors that are written to afterwards. Values are those of PyTorch 2.13."""

import mindtorch_v2 as torch
from mindtorch_v2.autograd import forward_ad


def _y():
    x = torch.ones(2, requires_grad=True)
    return x, x * 1


def test_the_retained_gradient_is_that_of_the_last_value():
    x, y = _y()
    y.retain_grad()
    y.mul_(2)
    y.sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0, 2.0], [1.0, 1.0])


def test_a_write_through_a_view_counts_once():
    x, y = _y()
    y.retain_grad()
    y[0].mul_(2)
    y[1].mul_(3)
    y.sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0, 3.0], [1.0, 1.0])


def test_a_view_that_was_written_to_is_not_part_of_the_sum():
    x, y = _y()
    y.retain_grad()
    view = y[0]
    view.retain_grad()
    view.mul_(2)
    y.sum().backward()
    assert (x.grad.tolist(), y.grad.tolist(), view.grad) == ([2.0, 1.0], [1.0, 1.0], None)


def test_a_view_keeps_retaining_when_its_base_is_written_to():
    x, y = _y()
    view = y[0]
    view.retain_grad()
    y.mul_(2)
    (y.sum() + view).backward()
    assert (x.grad.tolist(), view.grad.item()) == ([4.0, 2.0], 1.0)


def test_hooks_stay_with_the_value_that_they_were_put_on():
    x, y = _y()
    y.mul_(2)
    seen = []
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y[0].mul_(5)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    y.sum().backward()
    assert seen == [("after", [1.0, 1.0]), ("before", [5.0, 1.0])]
    assert x.grad.tolist() == [10.0, 2.0]


def test_a_hook_that_replaces_the_gradient_of_the_former_value():
    x, y = _y()
    y.register_hook(lambda g: g * 10)
    y[0].mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 10.0]


def test_hooks_begin_anew_after_a_write():
    _, y = _y()
    y.register_hook(lambda g: g)
    assert len(y._backward_hooks) == 1
    y.mul_(2)
    assert y._backward_hooks is None


def test_a_tangent_written_to_a_view_reaches_its_base():
    with forward_ad.dual_level():
        base = torch.zeros(3, 4)
        view = base[1:, ::2]
        view.copy_(forward_ad.make_dual(torch.ones(2, 2), torch.arange(4.0).view(2, 2)))
        assert forward_ad.unpack_dual(view).tangent.tolist() == [[0.0, 1.0], [2.0, 3.0]]
        whole = forward_ad.unpack_dual(base).tangent
        assert whole.tolist() == [[0.0] * 4, [0.0, 0.0, 1.0, 0.0], [2.0, 0.0, 3.0, 0.0]]
        part = torch.zeros(12)[2:].view(5, 2).t()
        part.copy_(forward_ad.make_dual(torch.ones(2, 5), torch.arange(10.0).view(2, 5)))
        assert forward_ad.unpack_dual(part._base).tangent.tolist() == [0, 0, 0, 5, 1, 6, 2, 7, 3, 8, 4, 9]
