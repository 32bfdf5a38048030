"""torch.npu.make_graphed_callables: both passes of a callable as captured graphs."""

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def _layer() -> nn.Linear:
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[2.0, 3.0]]))
        layer.bias.fill_(1.0)
    return layer.npu()


def _row(*numbers: float, requires_grad: bool = False) -> torch.Tensor:
    return torch.tensor([list(numbers)], device="npu", requires_grad=requires_grad)


def test_a_module_replays_both_passes(report: Any) -> None:
    layer = _layer()
    assert torch.npu.make_graphed_callables(layer, (_row(0.0, 0.0, requires_grad=True),)) is layer
    assert layer.weight.grad is None
    for a, b in ((1.0, 2.0), (5.0, -1.0)):
        layer.zero_grad()
        x = _row(a, b, requires_grad=True)
        y = layer(x)
        y.square().sum().backward()
        value = 2 * a + 3 * b + 1
        assert y.item() == value and x.grad is not None and x.grad.tolist() == [[4 * value, 6 * value]]
        assert layer.weight.grad is not None and layer.weight.grad.tolist() == [[2 * value * a, 2 * value * b]]
    layer.eval()  # another state than the captured one: the module itself, in any sizes
    assert layer(torch.ones(3, 2, device="npu")).tolist() == [[6.0]] * 3


def test_callables_in_a_row_share_memory_and_return_structures() -> None:
    def loss(y: torch.Tensor, target: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": (y - target).square().sum(), "y": y * 2}

    samples = (
        (_row(0.0, 0.0),),
        (torch.zeros(1, 1, device="npu", requires_grad=True), torch.zeros(1, 1, device="npu")),
    )
    layer, graphed = torch.npu.make_graphed_callables((_layer(), loss), samples)
    out = graphed(layer(_row(1.0, 1.0)), torch.ones(1, 1, device="npu"))
    assert {name: value.item() for name, value in out.items()} == {"loss": 25.0, "y": 12.0}
    (out["loss"] + out["y"].sum()).backward()
    assert layer.weight.grad.tolist() == [[12.0, 12.0]] and layer.bias.grad.tolist() == [12.0]


def test_an_input_without_a_gradient_has_to_be_allowed() -> None:
    samples = (_row(1.0, requires_grad=True), _row(1.0, requires_grad=True))
    with pytest.raises(RuntimeError, match="allow_unused"):
        torch.npu.make_graphed_callables(lambda x, unused: x * 2, samples)
    graphed = torch.npu.make_graphed_callables(lambda x, unused: x * 2, samples, allow_unused_input=True)
    x, unused = _row(3.0, requires_grad=True), _row(1.0, requires_grad=True)
    graphed(x, unused).sum().backward()
    assert x.grad is not None and x.grad.item() == 2.0 and unused.grad is None


def test_what_cannot_be_captured_is_refused() -> None:
    make = torch.npu.make_graphed_callables
    with pytest.raises(TypeError, match="must hold tensors only, but they hold int"):
        make(lambda x: x, (1,))
    with pytest.raises(ValueError, match="2 callables have 1 tuples"):
        make((_layer(), _layer()), ((_row(1.0, 1.0),),))
    hooked = _layer()
    hooked.register_forward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match="must not have hooks"):
        make(hooked, (_row(1.0, 1.0),))
    trained = _layer()
    trained.register_buffer("moment", torch.ones(1, device="npu", requires_grad=True))
    with pytest.raises(RuntimeError, match="only parameters may be trainable"):
        make(trained, (_row(1.0, 1.0),))
    with torch.autocast("npu", dtype=torch.float16), pytest.raises(RuntimeError, match="autocast caching"):
        make(_layer(), (_row(1.0, 1.0),))
    graphed = make(lambda x: x + 1, (_row(1.0),))
    with pytest.raises(RuntimeError, match="captured with 1 tensors, but is called with 2"):
        graphed(_row(1.0), _row(1.0))


def test_a_tensor_makes_others_where_it_is() -> None:
    x = torch.ones(2, dtype=torch.float16, device="npu")
    assert [each.device for each in (x.new(3), x.new([1.0, 2.0]), x.new(), x.new(2, device="npu:0"))] == [x.device] * 4
    assert x.new([1.0, 2.0]).tolist() == [1.0, 2.0] and x.new(3, 2).shape == (3, 2) and x.new(3).dtype == x.dtype
    with pytest.raises(RuntimeError, match="expects device type: npu but device type: cpu was passed"):
        x.new(2, device="cpu")
