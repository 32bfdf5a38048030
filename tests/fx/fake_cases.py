"""The programs behind `fake_cases.json`: what fake tensors are, say and refuse."""

from collections.abc import Callable
from typing import Any

from fx_cases import caught

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
    unset_fake_temporarily,
)

CASES: dict[str, Callable[[], Any]] = {}


def case(program: Callable) -> Callable:
    CASES[program.__name__] = program
    return program


def facts(t: Any) -> list:
    return [type(t).__name__, list(t.shape), list(t.stride()), str(t.dtype), str(t.device), t.requires_grad, repr(t)]


def fake(*shape: int, **options: Any) -> Any:
    return FakeTensorMode().from_tensor(torch.empty(*shape, **options))


@case
def representation():
    mode = FakeTensorMode()
    with mode:
        made = [
            torch.empty(2, 3),
            torch.ones(2, dtype=torch.int64),
            torch.zeros(2, 3, requires_grad=True),
            torch.rand(()),
            torch.empty(2, device="meta"),
            torch.arange(3),
            torch.ones(2, 3).t(),
            torch.randn(2, 3, dtype=torch.bfloat16),
        ]
        grown = made[2].exp()
    return [facts(t) for t in made], facts(grown), isinstance(made[0], torch.Tensor), made[0].is_meta


@case
def from_tensors():
    mode = FakeTensorMode()
    x = torch.ones(2, 3)
    p = nn.Parameter(torch.ones(2))
    leaf = torch.ones(2, requires_grad=True)
    a, b = mode.from_tensor(x), mode.from_tensor(x)
    q = mode.from_tensor(p)
    strided = mode.from_tensor(torch.ones(4, 6)[::2, 1::3])
    other = FakeTensorMode().from_tensor(x)
    return (
        a is b,
        other is a,
        facts(a),
        facts(q),
        isinstance(q, nn.Parameter),
        facts(mode.from_tensor(leaf)),
        mode.from_tensor(leaf).is_leaf,
        facts(strided),
        strided.storage_offset(),
        a.fake_mode is mode,
        a.device.type,
    )


@case
def operators():
    mode = FakeTensorMode()
    x, y = mode.from_tensor(torch.ones(2, 3)), mode.from_tensor(torch.ones(3, 4))
    with mode:
        values = [
            x @ y,
            x + x,
            torch.cat([x, x], 1),
            x.sum(),
            x.sum(0, keepdim=True),
            x.max(1).values,
            x.max(1).indices,
            x[0],
            x[:, 1:],
            x.view(3, 2),
            x.t(),
            x.transpose(0, 1).contiguous(),
            x.to(torch.float16),
            x > x,
            torch.softmax(x, -1),
            nn.functional.conv2d(torch.ones(1, 2, 8, 8), torch.ones(4, 2, 3, 3), padding=1),
            nn.functional.layer_norm(x, (3,)),
            nn.functional.embedding(torch.zeros(2, 5, dtype=torch.int64), y),
            torch.where(x > x, x, x),
            x.clone(),
            x.detach(),
            x.expand(4, 2, 3),
            torch.zeros_like(x),
            x.new_ones(5),
            x.type(torch.float64),
            nn.functional.cross_entropy(x, torch.zeros(2, dtype=torch.int64)),
            nn.functional.max_pool2d(torch.ones(1, 2, 8, 8), 2),
            x.index_select(0, torch.zeros(5, dtype=torch.int64)),
            torch.sort(x)[1],
        ]
    outside = x * x
    return [facts(v)[:6] for v in values], facts(outside)


@case
def writing():
    mode = FakeTensorMode()
    x = mode.from_tensor(torch.ones(2, 3))
    with mode:
        same = x.add_(x)
        x[0] = 1
        y = torch.empty(0)
        torch.add(x, x, out=y)
        view = x.view(6)
        view.mul_(x.view(6))
        z = torch.ones(2, 3)
        z.t_()
        z.unsqueeze_(0)
        w = torch.ones(4)
        w.resize_(2, 2)
    return same is x, list(y.shape), view._base is x, x._version, list(z.shape), list(z.stride()), list(w.shape)


@case
def data_is_refused():
    mode = FakeTensorMode()
    x = mode.from_tensor(torch.ones(2, 3))
    said = []
    with mode:
        for ask in (
            lambda: x.sum().item(),
            lambda: bool(x.sum()),
            lambda: x.nonzero(),
            lambda: x[x > x],
            lambda: torch.unique(x),
            lambda: torch.equal(x, x),
            lambda: float(x[0, 0]),
            lambda: x.masked_select(x > x),
        ):
            said.append(caught(ask))
    return said


@case
def constants_are_known():
    with FakeTensorMode():
        t = torch.tensor(3)
        u = torch.tensor([1.0, 2.0])
        known = t.item(), (t + t).item(), bool(t), facts(t)
        return known, facts(u), caught(lambda: u.sum().item())


@case
def mixing():
    mode, other = FakeTensorMode(), FakeTensorMode()
    real = torch.ones(2)
    x, y = mode.from_tensor(real), other.from_tensor(real)
    allowing = FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        inside = caught(lambda: real + real)
        mixed = caught(lambda: torch.add(x, real))
        scaled = caught(lambda: torch.cat([x, real]))
    z = allowing.from_tensor(real)
    with allowing:
        fine = facts(real + z), facts(torch.sin(real))
    said = caught(lambda: x + y)
    return inside, mixed, scaled, fine, said[: said.index("x.fake_mode")]


@case
def devices():
    mode = FakeTensorMode()
    with mode:
        x = torch.ones(2)
        m = torch.ones(2, device="meta")
        moved = x.to("meta")
        return facts(moved)[:5], caught(lambda: x + m), facts(torch.ones((), device="cpu") + m)[:5]


@case
def gradients():
    mode = FakeTensorMode()
    model = nn.Linear(3, 2)
    with mode:
        weight = mode.from_tensor(model.weight)
        x = torch.ones(4, 3)
        loss = nn.functional.relu(x @ weight.t()).sum()
        loss.backward()
    return facts(loss)[:6], type(loss.grad_fn).__name__, facts(weight.grad), weight.grad is not None


@case
def models():
    with FakeTensorMode():
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))
        out = model(torch.ones(2, 3, 8, 8))
        attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
        y = attention(torch.ones(2, 5, 8))
    return (
        facts(out)[:6],
        facts(y)[:3],
        all(isinstance(p, FakeTensor) for p in model.parameters()),
        sum(p.numel() for p in model.parameters()),
    )


@case
def unset():
    with FakeTensorMode():
        with unset_fake_temporarily():
            real = type(torch.ones(2)).__name__
        return real, type(torch.ones(2)).__name__


@case
def custom_operators():
    lib = torch.library.Library("fake_cases", "FRAGMENT")
    lib.define("with_fake(Tensor x, int n) -> Tensor")
    lib.impl("with_fake", lambda x, n: torch.cat([x] * n), "CPU")
    torch.library.register_fake(
        "fake_cases::with_fake", lambda x, n: x.new_empty(x.shape[0] * n, *x.shape[1:]), lib=lib
    )
    lib.define("without(Tensor x) -> Tensor")
    lib.impl("without", lambda x: x + 1, "CPU")
    x = fake(2, 3)
    made = facts(torch.ops.fake_cases.with_fake(x, 3))
    error = caught(lambda: torch.ops.fake_cases.without(x))
    return made[:6], error.split(":")[0], "fake_cases.without.default" in error or "fake_cases::without" in error


@case
def classes_of_errors():
    kinds = (DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException)
    made = DataDependentOutputException(torch.ops.aten.equal.default)
    return [[issubclass(kind, RuntimeError) for kind in kinds], str(made), str(made.func)]
