"""Sequences and images read at positions, grouped products and optimizer steps beside the CPU's."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2._operators.table import aten


def _assert_close(ours: Any, theirs: Any, room: float = 1e-5) -> None:
    torch.testing.assert_close(
        ours.detach().cpu(), theirs.detach(), rtol=room, atol=room * max(1.0, float(theirs.abs().max()))
    )


def _on_both(run: Callable[[str], list[Any]], room: float = 1e-5) -> None:
    ours, theirs = run("cuda"), run("cpu")
    assert all(t.device.type == "cuda" for t in ours)
    for mine, wanted in zip(ours, theirs, strict=True):
        _assert_close(mine, wanted, room)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
def test_grid_sample(mode: str, padding: str, corners: bool) -> None:
    draw = torch.Generator().manual_seed(0)
    image, grid = torch.randn(2, 3, 5, 4, generator=draw), torch.randn(2, 6, 7, 2, generator=draw) * 1.2
    grid[0, 0, 1], grid[0, 0, 2, 0], grid[1, 0, 0] = 1e20, 0.0, -1.0

    def run(device: str) -> list[Any]:
        i, g = (t.to(device).requires_grad_() for t in (image, grid))
        out = F.grid_sample(i, g, mode, padding, corners)
        weight = torch.arange(float(out.numel()), device=device).view(out.shape)
        return [
            out,
            *torch.autograd.grad((out * weight).sum(), (i, g)),
            *torch.autograd.grad((F.grid_sample(i, g.detach(), mode, padding, corners)).sum(), i),
        ]

    _on_both(run)
    outside = torch.full((1, 1, 1, 2), float("nan"), device="cuda")
    assert F.grid_sample(image[:1].cuda(), outside, "bilinear", "zeros", corners).cpu().tolist() == [[[[0.0]]] * 3]
    one = torch.ones(1, 1, 1, 1)
    _assert_close(
        F.grid_sample(one.cuda(), grid[:1].cuda(), mode, padding, corners),
        F.grid_sample(one, grid[:1], mode, padding, corners),
    )


@pytest.mark.parametrize(("lengths", "flat", "zero"), list(itertools.product((False, True), repeat=3)))
def test_ctc_loss(lengths: bool, flat: bool, zero: bool) -> None:
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(12, 5, 6, generator=draw).log_softmax(-1)
    labels = torch.tensor([[1, 2, 2, 5], [3, 3, 1, 0], [4, 4, 4, 4], [1, 2, 3, 4], [1, 1, 1, 1]])
    frames, sizes = [12, 9, 5, 3, 0], [4, 3, 0, 4, 0]  # the fourth has more labels than frames

    def run(device: str) -> list[Any]:
        given = torch.cat([row[:n] for row, n in zip(labels, sizes, strict=True)]) if flat else labels
        p = rows.to(device).requires_grad_()
        a, b = (torch.tensor(frames), torch.tensor(sizes)) if lengths else (frames, sizes)
        loss = F.ctc_loss(p, given.to(device), a, b, zero_infinity=zero, reduction="none")
        kept = loss[:3] if not zero else loss
        (grad,) = torch.autograd.grad((kept * torch.arange(1.0, 1 + len(kept), device=device)).sum(), p)
        return [torch.nan_to_num(loss, posinf=9e9), torch.nan_to_num(grad)]

    _on_both(run)
    again = run("cuda")
    assert all(torch.equal(one, other) for one, other in zip(again, run("cuda"), strict=True))


def test_what_ctc_loss_refuses() -> None:
    rows = torch.zeros(5, 2, 4, device="cuda")
    labels = torch.ones(2, 3, dtype=torch.int64, device="cuda")
    for args, kind, text in (
        ((labels * 9, [5, 5], [3, 3]), IndexError, "Target 9 is out of bounds"),
        ((labels, [5], [3, 3]), RuntimeError, "input_lengths must be of size batch_size"),
        ((labels, [5, 6], [3, 3]), RuntimeError, "Expected input_lengths to have value at most 5, but got value 6"),
        ((labels, [5, 5], [3]), RuntimeError, "target_lengths must be of size batch_size"),
        ((labels, [5, 5], [3, 4]), RuntimeError, "at dimension 1, but got size 3"),
        ((labels, [5, 5], [3, -1]), RuntimeError, "at least 0, but got value -1"),
        ((labels, [5, 5], [3, 7]), RuntimeError, "at most 6, but got value 7"),
        (
            (labels.flatten(), [5, 5], [3, 2]),
            RuntimeError,
            "Expected tensor to have size 5 at dimension 0, but got size 6",
        ),
    ):
        with pytest.raises(kind, match=text):
            F.ctc_loss(rows, *args)
    F.ctc_loss(rows, labels * 0, [5, 5], [2, 2], blank=1)  # 0 is a class
    for place in ((0, 2), (1, 0), (1, 2)):
        one = labels.clone()
        one[place] = 4
        for given in (one, one.flatten()):
            with pytest.raises(IndexError, match="Target 4 is out of bounds"):
                F.ctc_loss(rows, given, [5, 5], [3, 3])
    with pytest.raises(RuntimeError, match="blank must be in label range"):
        F.ctc_loss(rows, labels, [5, 5], [3, 3], blank=4)
    unread = labels.clone()
    unread[1, 2] = 9  # beyond the length
    F.ctc_loss(rows, unread, [5, 5], [3, 2])


@pytest.mark.parametrize("both_ways", [False, True])
def test_lstm(both_ways: bool) -> None:
    def run(device: str) -> list[Any]:
        torch.manual_seed(0)
        layer, x = torch.nn.LSTM(4, 5, 2, bidirectional=both_ways).to(device), torch.randn(6, 3, 4)
        x = x.to(device).requires_grad_()
        out, (h, c) = layer(x)
        (out.square().sum() + (h * 2).sum() + c.sin().sum()).backward()
        only, (_, cell) = layer(x.detach()[:1])
        return [out, h, c, x.grad, *(p.grad for p in layer.parameters()), only, cell]

    _on_both(run)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_scan_of_an_lstm(reverse: bool, used: tuple[int, ...]) -> None:
    def run(device: str) -> list[Any]:
        draw = torch.Generator().manual_seed(0)
        shapes = ((4, 3, 20), (3, 5), (3, 5), (20, 5))
        given = [torch.randn(shape, generator=draw).to(device).requires_grad_() for shape in shapes]
        found = aten._lstm_scan(*given, reverse)
        loss = sum((found[place].square() * (place + 1)).sum() for place in used)
        return [*found, *torch.autograd.grad(loss, given)]

    _on_both(run)


def test_grid_sample_at_many_positions() -> None:
    draw = torch.Generator().manual_seed(0)
    image, grid = torch.randn(2, 2, 5, 4, generator=draw), torch.rand(2, 25, 30, 2, generator=draw) * 2 - 1

    def run(device: str) -> list[Any]:
        i, g = (t.to(device).requires_grad_() for t in (image, grid))
        out = F.grid_sample(i, g, align_corners=False)
        return [out, *torch.autograd.grad(out.square().sum(), (i, g))]

    def of_grid(device: str) -> list[Any]:
        g = grid.to(device).requires_grad_()
        return [*torch.autograd.grad(F.grid_sample(image.to(device), g, align_corners=False).square().sum(), g)]

    _on_both(run)
    _on_both(of_grid)
    there, none = image.cuda().requires_grad_(), grid[:, :0].cuda()
    out = F.grid_sample(there, none, align_corners=False)
    assert out.shape == (2, 2, 0, 30)
    assert not torch.autograd.grad(out.sum(), there)[0].any()
    for mode, padding, text in ((3, 0, "interpolation_mode must be 0"), (0, 3, "padding_mode must be 0")):
        with pytest.raises(RuntimeError, match=text):
            aten.grid_sampler_2d(image.cuda(), grid.cuda(), mode, padding, False)


def test_grouped_products() -> None:
    draw = torch.Generator().manual_seed(0)
    ends = [4, 8, 16]
    for a, b, offsets in (
        ((10, 16), (3, 16, 8), [3, 7, 10]),
        ((10, 16), (3, 16, 68), [3, 3, 10]),
        ((3, 4, 16), (3, 16, 8), None),
        ((8, 16), (16, 8), ends),
        ((3, 4, 8), (8, 16), ends),
        ((3, 4, 8), (3, 8, 6), None),
    ):
        left, right = torch.randn(a, generator=draw), torch.randn(b, generator=draw)
        if b[-1] == 6:
            right = torch.randn(3, 6, 8, generator=draw).transpose(1, 2)
        places = None if offsets is None else torch.tensor(offsets, dtype=torch.int32)
        ours = torch._grouped_mm(left.cuda(), right.cuda(), None if places is None else places.cuda())
        theirs = torch._grouped_mm(left, right, places)
        assert ours.stride() == theirs.stride()
        _assert_close(ours, theirs)
    left, right = torch.zeros(8, 16, device="cuda"), torch.zeros(3, 16, 8, device="cuda")
    whole = torch.tensor([3, 7, 8], dtype=torch.int32, device="cuda")
    for args, text in (
        ((left, right), "Have to provide offsets"),
        ((left, right, whole + 1), "stay within the matrix"),
        ((left, right, whole.flip(0)), "must grow"),
        ((left, right, whole.to(torch.int64)), "int32"),
        ((left, right, whole[:, None]), "offs has to be 1D"),
        ((left, right[:2], whole), "matrix batch sizes have to match"),
        ((left[:, :8], right, whole), "contraction dimension"),
        ((torch.zeros(8, 18, device="cuda")[:, :16], right, whole), "multiple of 16 bytes"),
        ((torch.zeros(8, 32, device="cuda")[:, ::2], right, whole), "Invalid strides"),
        ((left, right.double(), whole), "same dtype"),
        ((left[0], right, whole), "2d or 3d"),
        ((left, right, whole, right[0, 0]), "Bias not supported"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch._grouped_mm(*args)


def test_weights_of_eight_bits() -> None:
    draw = torch.Generator().manual_seed(0)
    x, scales = torch.randn(3, 32, generator=draw), torch.rand(16, generator=draw)
    weight = torch.randint(-128, 127, (16, 32), dtype=torch.int8, generator=draw)
    _on_both(lambda device: [torch._weight_int8pack_mm(x.to(device), weight.to(device), scales.to(device))], 1e-4)


@pytest.mark.parametrize("rate", ["number", "tensor"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("scaled", [None, 2.0])
@pytest.mark.parametrize("found", [None, 0.0, 1.0])
def test_fused_steps(rate: str, maximize: bool, scaled: float | None, found: float | None) -> None:
    def run(device: str) -> list[Any]:
        draw, kept = torch.Generator().manual_seed(0), []
        lr = 0.1 if rate == "number" else torch.tensor(0.1, device=device)
        options: dict[str, Any] = {
            "lr": lr,
            "maximize": maximize,
            "weight_decay": 0.1,
            "grad_scale": None if scaled is None else torch.tensor(scaled, device=device),
            "found_inf": None if found is None else torch.tensor(found, device=device),
        }
        for momentum, nesterov, first in (
            (0.0, False, False),
            (0.9, False, True),
            (0.9, True, False),
            (0.9, False, False),
        ):
            p, g, b = (torch.randn(7, 5, generator=draw).to(device) for _ in range(3))
            buffers = [b] if momentum else []
            torch._fused_sgd_(
                [p], [g], buffers, momentum=momentum, dampening=0.2, nesterov=nesterov, is_first_step=first, **options
            )
            kept += [p, g, b]
        p, g, s = (torch.randn(7, 5, generator=draw).abs().to(device) for _ in range(3))
        steps = [torch.tensor(3.0, device=device)]
        torch._fused_adagrad_([p], [g], [s], steps, lr_decay=0.1, eps=1e-3, **options)
        return [*kept, p, g, s]

    _on_both(run, 1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.9},
        {"centered": True},
        {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "maximize": True},
    ],
)
def test_rmsprop(options: dict[str, Any]) -> None:
    def run(device: str) -> list[Any]:
        weight = torch.randn(7, 5, generator=torch.Generator().manual_seed(0)).to(device).requires_grad_()
        optimizer = torch.optim.RMSprop([weight], lr=0.1, **options)
        for _ in range(4):
            optimizer.zero_grad()
            (weight.sin() * torch.arange(35.0, device=device).view(7, 5)).sum().backward()
            optimizer.step()
        return [weight]

    _on_both(run, 1e-6)


def test_numbers_that_results_of_integers_take() -> None:
    a, b = torch.arange(8).view(2, 2, 2), torch.tensor([5, 7])
    for beta, alpha in ((0.6, 0.2), (1.7, 2.9), (0, 1)):
        _on_both(
            lambda device, options={"beta": beta, "alpha": alpha}: [
                getattr(torch, name)(b.to(device), *(t.to(device) for t in given), **options)
                for name, given in (
                    ("addmm", (a[0], a[1])),
                    ("addmv", (a[0], b)),
                    ("addbmm", (a, a)),
                    ("baddbmm", (a, a)),
                )
            ]
        )


def test_of_nothing() -> None:
    for function in (torch.std_mean, torch.var_mean):
        assert all(torch.isnan(t).all() for t in function(torch.zeros(0, device="cuda"), unbiased=False))
    a, b = torch.zeros(2, 3, 0).cuda().requires_grad_(), torch.zeros(0, 4).cuda().requires_grad_()
    made = a @ b
    assert made.cpu().tolist() == [[[0.0] * 4] * 3] * 2
    for grad, x in zip(torch.autograd.grad(made.sum(), (a, b)), (a, b), strict=True):
        assert grad.shape == x.shape


def test_rrelu_draws_on_the_device() -> None:
    x = torch.tensor([2.0, -1.0, -1.0], device="cuda")
    slopes = (-F.rrelu(x, 0.25, 0.5, training=True)).cpu()
    assert slopes[0] == -2.0
    assert 0.25 <= float(slopes[1:].min()) <= float(slopes[1:].max()) <= 0.5
    assert slopes[1] != slopes[2]


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("maximize", [False, True])
def test_fused_rmsprop(centered: bool, momentum: float, maximize: bool) -> None:
    def run(device: str) -> list[Any]:
        draw = torch.Generator().manual_seed(0)
        p, g, s, a, b = (torch.randn(7, 5, generator=draw).to(device) for _ in range(5))
        s = s.abs() + 20
        options = {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1, "momentum": momentum}
        aten._fused_rmsprop_(
            [p],
            [g],
            [s],
            [a] if centered else [],
            [b] if momentum else [],
            **options,
            centered=centered,
            maximize=maximize,
        )
        return [p, g, s, a, b]

    _on_both(run, 1e-6)


def test_what_fused_rmsprop_refuses() -> None:
    tensors = [[torch.ones(2, device="cuda")] for _ in range(3)]
    options = {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.0, "maximize": False}
    with pytest.raises(RuntimeError, match="the centered form needs grad_avgs"):
        aten._fused_rmsprop_(*tensors, [], [], momentum=0.0, centered=True, **options)
    with pytest.raises(RuntimeError, match="momentum needs momentum_buffers"):
        aten._fused_rmsprop_(*tensors, [], [], momentum=0.5, centered=False, **options)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_fused_adam(kind: Any, amsgrad: bool, maximize: bool) -> None:
    def run(device: str) -> list[Any]:
        weight = torch.randn(7, 5, generator=torch.Generator().manual_seed(0)).to(device).requires_grad_()
        optimizer = kind([weight], lr=0.1, weight_decay=0.1, amsgrad=amsgrad, maximize=maximize, fused=True)
        for _ in range(4):
            optimizer.zero_grad()
            (weight.sin() * torch.arange(35.0, device=device).view(7, 5)).sum().backward()
            optimizer.step()
        return [weight, *(v for v in optimizer.state[weight].values() if v.dim())]

    _on_both(run)


@pytest.mark.parametrize("found", [0.0, 1.0])
def test_fused_adam_with_scaled_gradients(found: float) -> None:
    def run(device: str) -> list[Any]:
        draw = torch.Generator().manual_seed(0)
        tensors = [torch.randn(7, 5, generator=draw).abs().to(device) for _ in range(4)]
        told = {"grad_scale": torch.tensor(2.0, device=device), "found_inf": torch.tensor(found, device=device)}
        torch._fused_adamw_(
            *([t] for t in tensors), [], [torch.tensor(3.0, device=device)], lr=torch.tensor(0.1, device=device), beta1=0.9,
            beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False, **told,
        )  # fmt: skip
        return tensors

    _on_both(run)


def test_steps_from_one_number_to_another() -> None:
    for dtype in (torch.float32, torch.float64, torch.int64, torch.bfloat16):
        _on_both(lambda device, d=dtype: [torch.linspace(-3, 9, n, dtype=d, device=device) for n in (0, 1, 2, 13)][1:])
        _on_both(lambda device, d=dtype: [torch.linspace(1, 1, 5, dtype=d, device=device)])


def test_gradient_of_dropout() -> None:
    draw = torch.Generator().manual_seed(0)
    grad, mask = torch.randn(5, 7, generator=draw), torch.rand(5, 7, generator=draw) > 0.5
    _on_both(lambda device: [aten.native_dropout_backward(grad.to(device), mask.to(device), 2.0)])
