"""Counts of operations and the modules they are put down to, against those of PyTorch 2.13."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula, sdpa_flop_count
from mindtorch_v2.utils.module_tracker import ModuleTracker

pytestmark = pytest.mark.no_torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.up = torch.nn.ConvTranspose2d(4, 6, 2, stride=2)
        self.body = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 5, bias=False))
        self.att = torch.nn.MultiheadAttention(6, 2, batch_first=True)

    def forward(self, x):
        x = self.up(self.conv(x)).flatten(2).transpose(1, 2)
        x = x + self.att(x, x, x, need_weights=True)[0]
        return self.body(x)


NET = {
    "Net": {"aten.convolution": 13056, "aten.mm": 168960, "aten.bmm": 589824, "aten.addmm": 9216,
            "aten.convolution_backward": 19200},
    "Net.conv": {"aten.convolution": 6912, "aten.convolution_backward": 6912},
    "Net.up": {"aten.convolution": 6144, "aten.convolution_backward": 12288},
    "Net.att": {"aten.mm": 101376, "aten.bmm": 589824, "aten.addmm": 9216},
    "Net.body": {"aten.mm": 67584},
    "Net.body.0": {"aten.mm": 36864},
    "Net.body.2": {"aten.mm": 30720},
}  # fmt: skip
NET["Global"] = NET["Net"]


def counted(run, **options):
    with FlopCounterMode(display=False, **options) as counter:
        run()
    return {name: {str(k): n for k, n in ops.items()} for name, ops in counter.get_flop_counts().items()}


def test_modules_forward_and_backward():
    assert counted(lambda: Net()(torch.randn(2, 3, 4, 4)).sum().backward()) == NET


def ones(*shape, grad=False):
    return torch.ones(shape, requires_grad=grad)


def backward_of(left, right):
    (left @ right).sum().backward()


def test_products_fold_as_in_pytorch():
    a, b = ones(2, 5, 3, grad=True), ones(2, 3, 4, grad=True)

    def run():
        backward_of(a, b)
        backward_of(a, b[0])
        backward_of(a, b[0].detach())
        backward_of(a, b[0, :, 0])
        a.detach().transpose(0, 1) @ b[0].detach()
        backward_of(a[0, 0], b)
        (b[0].T @ a.mT).sum()

    assert counted(run) == {"Global": {"aten.bmm": 960, "aten.mm": 1440}}


def test_linear_counts_as_what_it_is_in_pytorch():
    row, turned = ones(3, grad=True), ones(5, 2, 3).transpose(0, 1)

    def run():
        torch.addmm(ones(4), ones(2, 3), ones(3, 4))
        torch.baddbmm(ones(4), ones(5, 2, 3), ones(5, 3, 4))
        backward_of(row, ones(3, 4))
        torch.nn.Linear(3, 4)(row).sum().backward()
        torch.dot(row, row)
        torch.nn.Linear(3, 4)(turned)
        torch.nn.Linear(3, 4, bias=False)(turned)

    assert counted(run) == {
        "Global": {"aten.addmm": 72, "aten.baddbmm": 240, "aten.mm": 576},
        "Linear": {"aten.addmm": 24, "aten.mm": 528},
    }


def test_groups_and_strides_of_convolutions():
    def run():
        torch.nn.Conv1d(4, 8, 3, groups=2, stride=2)(ones(2, 4, 9, grad=True)).sum().backward()
        torch.nn.ConvTranspose1d(4, 8, 3, groups=2, stride=2)(ones(2, 4, 9, grad=True)).sum().backward()

    assert counted(run) == {
        "Global": {"aten.convolution": 2496, "aten.convolution_backward": 7488},
        "Conv1d": {"aten.convolution": 768, "aten.convolution_backward": 2304},
        "ConvTranspose1d": {"aten.convolution": 1728, "aten.convolution_backward": 5184},
    }


def test_attention_counts_where_a_formula_is_given():
    q = ones(2, 4, 5, 8)
    attend = torch.nn.functional.scaled_dot_product_attention
    assert counted(lambda: attend(q, q, q)) == {}  # the CPU's operator has no formula in PyTorch
    fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    mapping = {fused: lambda q, k, v, *args, out_shape=None, **kwargs: sdpa_flop_count(q, k, v)}
    assert counted(lambda: attend(q, q, q), custom_mapping=mapping) == {"Global": {str(fused): 6400}}


def test_table():
    with FlopCounterMode(display=False) as counter:
        torch.nn.Linear(300, 400)(ones(20, 300))
        torch.mm(ones(2000, 300), ones(300, 400))
    assert counter.get_table().splitlines() == [
        "Module              FLOP    % Total",
        "--------------  --------  ---------",
        "Global          484.800M    100.00%",
        " - aten.addmm     4.800M      0.99%",
        " - aten.mm      480.000M     99.01%",
        " Linear           4.800M      0.99%",
        "  - aten.addmm    4.800M      0.99%",
    ]


def test_table_is_printed(capsys):
    with FlopCounterMode():
        torch.mm(ones(2, 3), ones(3, 4))
    assert capsys.readouterr().out.splitlines() == [
        "Module        FLOP    % Total",
        "----------  ------  ---------",
        "Global          48    100.00%",
        " - aten.mm      48    100.00%",
    ]


def test_formulas_of_users():
    library = torch.library.Library("flops_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    packet = torch.ops.flops_test.twice
    try:
        register_flop_formula(packet)(lambda shape, out_shape: shape[0] * out_shape[1])
        assert counted(lambda: packet(ones(3, 5))) == {"Global": {"flops_test.twice": 15}}
        with pytest.raises(RuntimeError, match=r"duplicate registrations for flops_test\.twice"):
            register_flop_formula(packet)
            register_flop_formula(packet)(len)
    finally:
        flop_registry.pop(packet, None)
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(3)(len)


def test_tracker_says_who_runs_and_which_way():
    seen = []

    class Watched(torch.nn.Module):
        def forward(self, x):
            seen.append((tracker.is_bw, sorted(tracker.parents)))
            y = x * 2
            y.register_hook(lambda grad: seen.append((tracker.is_bw, sorted(tracker.parents))))
            return y * 3

    with ModuleTracker() as tracker:
        model = torch.nn.Sequential(torch.nn.Identity(), Watched())
        model(torch.ones(2, requires_grad=True) * 1).sum().backward()
        assert tracker.parents == {"Global"}
    inside = ["Global", "Sequential", "Sequential.1"]
    assert seen == [(False, inside), (True, inside)]
