"""Containers made of iterators, and complex layers. Compared with PyTorch 2.13."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def _parameters(count=3):
    return (nn.Parameter(torch.full((1,), float(n))) for n in range(count))


def _linears(count=3):
    return (nn.Linear(1, 1) for _ in range(count))


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.ParameterList(_parameters()),
        lambda: nn.ParameterList().extend(map(nn.Parameter, [torch.ones(1)] * 3)),
        lambda: nn.ParameterList().__iadd__(_parameters()),
        lambda: nn.ParameterDict((str(n), p) for n, p in enumerate(_parameters())),
        lambda: nn.ParameterDict(zip("abc", _parameters(), strict=True)),
        lambda: nn.ModuleList(_linears()),
        lambda: nn.ModuleList().extend(_linears()),
        lambda: nn.ModuleDict(zip("abc", _linears(), strict=True)),
        lambda: nn.Sequential().extend(_linears()),
    ],
)
def test_iterators_are_taken(make):
    made = make()
    assert len(made) == 3
    assert len(list(made.parameters())) in (3, 6)


def test_a_list_that_is_extended_by_itself():
    parameters = nn.ParameterList(_parameters())
    parameters.extend(parameters)
    assert [p.item() for p in parameters] == [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]


@pytest.mark.parametrize("wrong", [3, torch.ones(3)], ids=["int", "Tensor"])
def test_what_is_no_list_of_parameters(wrong):
    with pytest.raises(
        TypeError, match=r"ParameterList\.extend should be called with an iterable, but got (int|Tensor)"
    ):
        nn.ParameterList().extend(wrong)


def test_a_complex_layer():
    torch.manual_seed(0)
    layer = nn.Linear(2, 3, dtype=torch.cfloat)
    expected = [[-0.0053 + 0.3793j, -0.5820 - 0.5204j], [-0.2723 + 0.1896j, -0.0140 + 0.5607j]]
    expected.append([-0.0628 + 0.1871j, -0.2137 - 0.1390j])
    torch.testing.assert_close(layer.weight.detach(), torch.tensor(expected), atol=6e-5, rtol=0)
    torch.testing.assert_close(
        layer.bias.detach(), torch.tensor([-0.6755 - 0.4683j, -0.2915 + 0.0262j, 0.2795 + 0.4243j]), atol=6e-5, rtol=0
    )


@pytest.mark.parametrize(
    ("layer", "arguments", "sums"),
    [
        (nn.Bilinear, (2, 3, 4), [12.9512, 2.0779]),
        (nn.Conv2d, (2, 3, 2), [6.4756, 0.7235]),
        (nn.ConvTranspose1d, (2, 3, 2), [3.399, 0.8849]),
        (nn.LSTM, (2, 3), [10.5746, 16.0168, 4.718, 5.3614]),
        (nn.GRUCell, (2, 3), [7.7392, 12.2649, 4.5137, 3.3462]),
        (nn.MultiheadAttention, (4, 2), [22.2147, 0.0, 5.7206, 0.0]),
    ],
)
def test_complex_parameters_are_drawn_as_pytorch_draws_them(layer, arguments, sums):
    torch.manual_seed(0)
    made = layer(*arguments, dtype=torch.cfloat)
    assert [p.detach().abs().sum().item() for p in made.parameters()] == pytest.approx(sums, abs=1e-4)


_GLOBAL = [
    ("register_module_forward_hook", "_global_forward_hooks"),
    ("register_module_forward_pre_hook", "_global_forward_pre_hooks"),
    ("register_module_full_backward_hook", "_global_backward_hooks"),
    ("register_module_full_backward_pre_hook", "_global_backward_pre_hooks"),
    ("register_module_module_registration_hook", "_global_module_registration_hooks"),
    ("register_module_parameter_registration_hook", "_global_parameter_registration_hooks"),
    ("register_module_buffer_registration_hook", "_global_buffer_registration_hooks"),
]


@pytest.mark.parametrize(("register", "hooks"), _GLOBAL)
@pytest.mark.parametrize("how", ["clear", "assign"])
def test_global_hooks_cleared_by_hand(register, hooks, how):
    place = nn.modules.module
    calls = []
    getattr(place, register)(lambda *args: calls.append(1))

    def use():
        calls.clear()
        layer = nn.Sequential(nn.Linear(1, 1))
        layer.register_buffer("b", torch.ones(1))
        layer(torch.ones(1, 1, requires_grad=True)).sum().backward()
        return bool(calls)

    assert use()
    if how == "clear":
        getattr(place, hooks).clear()
    else:
        setattr(place, hooks, type(getattr(place, hooks))())
    assert not use()
    handle = getattr(place, register)(lambda *args: calls.append(1))
    assert use()
    handle.remove()
    assert not use()


def test_the_kind_of_global_backward_hooks_is_forgotten_by_hand():
    place = nn.modules.module
    place._global_is_full_backward_hook = None
    place.register_module_full_backward_hook(lambda *args: None).remove()
    assert place._global_is_full_backward_hook is True
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        place.register_module_backward_hook(lambda *args: None)
    place._global_is_full_backward_hook = None
    place.register_module_backward_hook(lambda *args: None).remove()
    assert place._global_is_full_backward_hook is False
    place._global_is_full_backward_hook = None
