"""Programs with torch.func and forward mode; what PyTorch 2.13 answers is in `func_cases.json` (see record_cases.py)."""

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.autograd import forward_ad
from mindtorch_v2.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from mindtorch_v2.nn import functional as F

CASES: dict[str, Callable[[], Any]] = {}


def case(program: Callable) -> Callable:
    CASES[program.__name__] = program
    return program


def numbers(*shape: int, start: float = 0.1, step: float = 0.07) -> Any:
    count = 1
    for n in shape:
        count *= n
    return (torch.arange(count, dtype=torch.float64) * step + start).sin().reshape(shape)


X, W, B = numbers(3, 4), numbers(5, 4, start=1.0), numbers(5, start=2.0)

# ---- vmap: one program a family of operators; each takes a slice ----

SLICES: dict[str, Callable] = {
    "arithmetic": lambda v: (v + 1, v * v, 2 / (v + 3), v - v.sum(), -v, v**2, v.abs()),
    "functions": lambda v: (
        v.sin(),
        v.exp(),
        (v + 2).log(),
        v.tanh(),
        torch.sigmoid(v),
        F.gelu(v),
        F.relu(v),
        v.floor(),
    ),
    "comparisons": lambda v: (v > 0, v.eq(v), torch.where(v > 0, v, v * 2), torch.maximum(v, v * 0), v.clamp(0, 0.5)),
    "masks": lambda v: (v.masked_fill(v > 0, 0.5), torch.where(v > 0, 1.0, v)),
    "reductions": lambda v: (v.sum(), v.mean(), v.prod(), v.max(), v.min(), v.std(), v.var(), v.norm(), v.logsumexp(0)),
    "reductions_dim": lambda v: (
        v.sum(0),
        v.mean(-1),
        v.amax(0),
        v.argmax(),
        v.argmin(0),
        (v > 0).all(),
        (v > 0).any(0),
    ),
    "ranked": lambda v: (*v.max(0), *v.sort(descending=True), *v.topk(2), *v.median(0), *v.kthvalue(2)),
    "scans": lambda v: (v.cumsum(0), v.cumprod(0), *v.cummax(0), v.logcumsumexp(0)),
    "softmax": lambda v: (v.softmax(0), v.log_softmax(-1), F.softmin(v, 0)),
    "views": lambda v: (
        v.reshape(2, 2),
        v.view(2, 2).t(),
        v[1:3],
        v[2],
        v.unsqueeze(0),
        v[None].squeeze(0),
        v.unfold(0, 2, 1),
    ),
    "views2": lambda v: (
        v.view(2, 2).transpose(0, 1),
        v.view(2, 2).permute(1, 0),
        v.expand(3, 4),
        v.view(2, 2).diagonal(),
        v.flip(0),
    ),
    "rearranged": lambda v: (
        v.roll(1),
        v.repeat(2),
        v.repeat(2, 1),
        v.view(2, 2).tril(),
        v.diag_embed(),
        v.view(2, 2).trace(),
        v.movedim(0, 0),
    ),
    "joined": lambda v: (
        torch.cat([v, v * 2]),
        torch.stack([v, v], 1),
        *v.split(2),
        *v.unbind(0)[:2],
        torch.hstack([v, v]),
    ),
    "padded": lambda v: (F.pad(v, (1, 2)), F.pad(v, (1, 0), value=3.0)),
    "products": lambda v: (v @ v, W @ v, torch.outer(v, v), v.view(2, 2) @ v.view(2, 2), torch.einsum("i,ji->j", v, W)),
    "addmm": lambda v: (torch.addmm(v.view(2, 2), v.view(2, 2), v.view(2, 2), beta=0.5, alpha=2), F.linear(v, W, B)),
    "batched_products": lambda v: (
        torch.bmm(v.view(1, 2, 2), v.view(1, 2, 2)),
        torch.baddbmm(v.view(1, 2, 2), v.view(1, 2, 2), v.view(1, 2, 2)),
    ),
    "indexed": lambda v: (
        v[torch.tensor([0, 2])],
        v[v.argsort()],
        v.gather(0, torch.tensor([1, 1])),
        v.index_select(0, torch.tensor([3, 0])),
        v.take(torch.tensor([1])),
    ),
    "scattered": lambda v: (
        v.scatter(0, torch.tensor([1]), 9.0),
        v.scatter_add(0, torch.tensor([1, 1]), v[:2]),
        v.index_add(0, torch.tensor([0, 0]), v[:2]),
        v.index_fill(0, torch.tensor([1]), 7.0),
    ),
    "written": lambda v: (v.clone().add_(v), v.clone().mul_(2).fill_(3), v.clone().copy_(v * 2), v.clone().zero_()),
    "created": lambda v: (
        torch.zeros_like(v) + v,
        v.new_ones(2),
        torch.ones(2) * v[:2],
        v.new_zeros(2, 2),
        torch.full_like(v, 2),
    ),
    "layer_norm": lambda v: (F.layer_norm(v, (4,)), F.layer_norm(v, (4,), v + 1, v)),
    "losses": lambda v: (
        F.mse_loss(v, v * 2),
        F.l1_loss(v, v * 2),
        F.smooth_l1_loss(v, v + 2),
        F.mse_loss(v, v * 2, reduction="none"),
    ),
    "cross_entropy": lambda v: (
        F.cross_entropy(v[None], torch.tensor([1])),
        F.cross_entropy(v, torch.tensor(2)),
        F.nll_loss(v[None], torch.tensor([0])),
    ),
    "embedded": lambda v: (F.embedding(torch.tensor([1, 0]), v.view(2, 2)),),
    "linear_algebra": lambda v: (
        torch.linalg.inv(v.view(2, 2) + torch.eye(2) * 3),
        torch.linalg.det(v.view(2, 2)),
        torch.linalg.solve(v.view(2, 2) + torch.eye(2) * 3, v.view(2, 2)),
    ),
    "casts": lambda v: (v.float().double(), v.to(torch.int64), v.bool(), v.real),
    "scalars": lambda v: (
        v * v.sum().float(),
        v.float() * v.sum(),
        v.sum().float() + torch.ones(2, dtype=torch.float16),
    ),
}


def _of_slices(name: str, program: Callable) -> None:
    CASES[f"vmap {name}"] = lambda: vmap(program)(X)
    CASES[f"vmap vmap {name}"] = lambda: vmap(vmap(program))(torch.stack([X, X * 2]))
    CASES[f"vmap over dim 1 {name}"] = lambda: vmap(program, in_dims=1, out_dims=0)(X.t().contiguous())


for _name, _program in SLICES.items():
    _of_slices(_name, _program)


@case
def vmap_images() -> Any:
    x, w = numbers(2, 1, 2, 4, 4), numbers(2, 3, 2, 3, 3)
    return (
        vmap(lambda i: F.conv2d(i, w[0], padding=1))(x),
        vmap(lambda i, k: F.conv2d(i, k, numbers(3), padding=1))(x, w),
        vmap(lambda k: F.conv2d(x[0], k))(w),
        vmap(lambda i: F.max_pool2d(i, 2))(x),
        vmap(lambda i: F.avg_pool2d(i, 2))(x),
        vmap(lambda i: F.adaptive_avg_pool2d(i, 2))(x),
        vmap(lambda i: F.pad(i, (1, 1, 1, 1), mode="reflect"))(x),
        vmap(lambda i: F.interpolate(i, scale_factor=2))(x),
        vmap(lambda i: F.group_norm(i, 2))(x),
    )


@case
def vmap_in_and_out_dims() -> Any:
    return (
        vmap(torch.dot, in_dims=(0, 1))(X, X.t()),
        vmap(lambda a, b: a * b, in_dims=(0, None))(X, X[0]),
        vmap(lambda d: d["a"] + d["b"][0], in_dims=({"a": 0, "b": (1,)},))({"a": X, "b": (X.t(),)}),
        vmap(lambda v: (v, v.sum()), out_dims=(1, 0))(X),
        vmap(lambda v: v * 2, chunk_size=2)(X),
        vmap(lambda v: v)(torch.ones(0, 2)).shape,
    )


@case
def vmap_index_by_slice() -> Any:
    i = torch.tensor([[0, 1], [2, 3], [1, 1]])
    square = X.reshape(3, 2, 2)
    return (
        vmap(lambda v, k: v[k])(X, i),
        vmap(lambda v, k: v[k[0]])(X, i),
        vmap(lambda v, k: v[:, k % 2])(square, i),
        vmap(lambda k: X[k % 3])(i),
        vmap(lambda v, k: v.index_put((k,), v[:2] * 10))(X, i),
        vmap(lambda v, k: v.gather(0, k))(X, i),
        vmap(lambda v, k: v.index_select(0, k))(X, i),
        vmap(lambda v, k: v.scatter(0, k, v[:2] * 5))(X, torch.tensor([[0, 1], [2, 3], [1, 0]])),
        vmap(lambda v, k: F.embedding(k % 2, v))(square, i),
    )


@case
def vmap_writes_into_views() -> Any:
    def program(v: Any) -> Any:
        c = v.clone()
        c[0] = v[1]
        c[1:3].mul_(2)
        c[torch.tensor([3])] = 0.0
        return c

    return vmap(program)(X)


@case
def vmap_same_randomness() -> Any:
    torch.manual_seed(3)
    made = vmap(lambda v: v * 0 + torch.rand(4, dtype=torch.float64), randomness="same")(X)
    return (made[0] == made[1]).all(), (made[0] == made[2]).all()


@case
def vmap_different_randomness() -> Any:
    made = vmap(lambda v: v * 0 + torch.rand(4, dtype=torch.float64), randomness="different")(X)
    return made.shape, bool((made[0] != made[1]).all())


def _error(program: Callable) -> str:
    try:
        program()
    except Exception as error:  # noqa: BLE001  (it is recorded)
        return f"{type(error).__name__}: {error}"
    return "no error"


ERRORS: dict[str, Callable] = {
    "grad of a vector": lambda: grad(lambda x: x)(X[0]),
    "grad of an int": lambda: grad(lambda x: 3)(X[0]),
    "grad of a tuple": lambda: grad(lambda x: (x.sum(), x.sum()))(X[0]),
    "grad without aux": lambda: grad(lambda x: x.sum(), has_aux=True)(X[0]),
    "argnums too large": lambda: grad(lambda x: x.sum(), argnums=2)(X[0]),
    "argnums twice": lambda: grad(lambda x, y: x.sum(), argnums=(0, 0))(X[0], X[0]),
    "grad of an integer tensor": lambda: grad(lambda x: x.sum())(torch.ones(3, dtype=torch.int64)),
    "grad by an int": lambda: grad(lambda x: x.sum())(3),
    "grad of a complex result": lambda: grad(lambda x: (x * 1j).sum())(X[0]),
    "vjp of an int": lambda: vjp(lambda x: 3, X[0]),
    "vjp shape": lambda: vjp(lambda x: x * 2, X[0])[1](torch.ones(2)),
    "jvp primals": lambda: jvp(lambda x: x * 2, X[0], X[0]),
    "jvp tangents": lambda: jvp(lambda x: x * 2, (X[0],), (3,)),
    "jvp shape": lambda: jvp(lambda x: x * 2, (torch.ones(3),), (torch.ones(2),)),
    "jvp result": lambda: jvp(lambda x: 3, (X[0],), (X[0],)),
    "jvp strict": lambda: jvp(lambda x: torch.ones(2), (X[0],), (X[0],), strict=True),
    "jacrev integer": lambda: jacrev(lambda x: x.int())(X[0]),
    "vmap result": lambda: vmap(lambda x: 3)(X),
    "vmap out_dims None": lambda: vmap(lambda x: x, out_dims=None)(X),
    "vmap out_dims": lambda: vmap(lambda x: x, out_dims="a")(X),
    "vmap in_dims list": lambda: vmap(lambda x: x, in_dims=[0])(X),
    "vmap sizes": lambda: vmap(lambda x, y: x)(torch.ones(2), torch.ones(3)),
    "vmap nothing mapped": lambda: vmap(lambda x: x, in_dims=None)(X),
    "vmap no inputs": lambda: vmap(lambda: X)(),
    "vmap in_dim too large": lambda: vmap(lambda x: x, in_dims=3)(X),
    "vmap in_dim of a number": lambda: vmap(lambda x: x)(3),
    "vmap item": lambda: vmap(lambda x: x.sum().item())(X),
    "vmap if": lambda: vmap(lambda x: x if x.sum() > 0 else -x)(X),
    "vmap random": lambda: vmap(lambda x: x + torch.rand(4))(X),
    "vmap dropout": lambda: vmap(lambda x: F.dropout(x))(X),
    "vmap backward": lambda: vmap(lambda x: x.sum().backward())(X),
    "vmap nonzero": lambda: vmap(lambda x: x.nonzero())(X),
    "vmap numpy": lambda: vmap(lambda x: x.numpy())(X),
    "vmap in place on what is not mapped": lambda: vmap(lambda x: torch.ones(4).add_(x))(X),
    "vmap randomness": lambda: vmap(lambda x: x, randomness="no"),
    "jacrev chunk": lambda: jacrev(lambda x: x, chunk_size=0),
}
for _name, _program in ERRORS.items():
    CASES[f"error: {_name}"] = lambda _program=_program: _error(_program)

# ---- derivatives ----

SCALAR: dict[str, Callable] = {
    "square": lambda v: (v * v).sum(),
    "product": lambda v: v.sin().prod(),
    "network": lambda v: torch.tanh(F.linear(v, W, B)).pow(2).mean(),
    "softmax": lambda v: v.softmax(0)[1].log(),
    "norm": lambda v: F.layer_norm(v, (4,)).pow(3).sum() + v.norm(),
    "joined": lambda v: torch.cat([v[:2] * 2, v.flip(0)]).cumsum(0).exp().sum(),
    "written": lambda v: (lambda c: (c.mul_(v), c.sin().sum())[1])(v.clone()),
    "indexed": lambda v: (v[torch.tensor([0, 1, 1])] * v[2:].sum()).prod(),
    "chosen": lambda v: torch.where(v > 0.5, v**3, v.exp()).sum() + F.gelu(v).max(),
    "cross entropy": lambda v: F.cross_entropy(v[None] * 2, torch.tensor([1])),
    "matrix": lambda v: torch.linalg.det(v.view(2, 2) @ v.view(2, 2).t() + torch.eye(2, dtype=torch.float64)),
}
for _name, _f in SCALAR.items():
    CASES[f"grad {_name}"] = lambda f=_f: grad(f)(X[0])
    CASES[f"grad_and_value {_name}"] = lambda f=_f: grad_and_value(f)(X[0])
    CASES[f"vmap grad {_name}"] = lambda f=_f: vmap(grad(f))(X)
    CASES[f"jvp {_name}"] = lambda f=_f: jvp(f, (X[0],), (X[1],))
    CASES[f"jvp grad {_name}"] = lambda f=_f: jvp(grad(f), (X[0],), (X[1],))
    CASES[f"grad jvp {_name}"] = lambda f=_f: grad(lambda v: jvp(f, (v,), (X[1],))[1])(X[0])
    CASES[f"jvp jvp {_name}"] = lambda f=_f: jvp(lambda v: jvp(f, (v,), (X[1],))[1], (X[0],), (X[2],))
    CASES[f"grad grad {_name}"] = lambda f=_f: grad(lambda v: grad(f)(v).sum())(X[0])
    CASES[f"hessian {_name}"] = lambda f=_f: hessian(f)(X[0])
    CASES[f"jacrev jacrev {_name}"] = lambda f=_f: jacrev(jacrev(f))(X[0])
    CASES[f"jacfwd jacfwd {_name}"] = lambda f=_f: jacfwd(jacfwd(f))(X[0])
    CASES[f"vmap hessian {_name}"] = lambda f=_f: vmap(hessian(f))(X)

VECTOR: dict[str, Callable] = {
    "map": lambda v: torch.sin(W @ v),
    "two": lambda v: (v.exp(), v.sum()),
    "matrix": lambda v: torch.outer(v, v),
    "dict": lambda v: {"a": v * 2, "b": v.cos()},
}
for _name, _f in VECTOR.items():
    CASES[f"jacrev {_name}"] = lambda f=_f: jacrev(f)(X[0])
    CASES[f"jacrev in chunks {_name}"] = lambda f=_f: jacrev(f, chunk_size=2)(X[0])
    CASES[f"jacfwd {_name}"] = lambda f=_f: jacfwd(f)(X[0])
    CASES[f"vmap jacrev {_name}"] = lambda f=_f: vmap(jacrev(f))(X)
    CASES[f"vmap jacfwd {_name}"] = lambda f=_f: vmap(jacfwd(f))(X)
    CASES[f"linearize {_name}"] = lambda f=_f: (lambda made: (made[0], made[1](X[1])))(linearize(f, X[0]))


@case
def several_arguments() -> Any:
    f = lambda a, b: (a * b).sin().sum()
    return (
        grad(f, argnums=(0, 1))(X, X + 1),
        grad(f, argnums=-1)(X, X + 1),
        jacrev(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(X[0], X[1]),
        jacfwd(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(X[0], X[1]),
        hessian(lambda a, b: (a * b).prod(), argnums=(0, 1))(X[0][:2], X[1][:2]),
        grad(lambda d: (d["w"] * d["b"][0]).sum())({"w": X, "b": (X + 1,)}),
    )


@case
def aux() -> Any:
    f = lambda v: ((v * v).sum(), v + 1)
    return (
        grad(f, has_aux=True)(X[0]),
        grad_and_value(f, has_aux=True)(X[0]),
        jacrev(lambda v: (v * v, v + 1), has_aux=True)(X[0]),
        jacfwd(lambda v: (v * v, v + 1), has_aux=True)(X[0]),
        vjp(lambda v: (v * v, v + 1), X[0], has_aux=True)[2],
        jvp(lambda v: (v * v, v + 1), (X[0],), (X[1],), has_aux=True),
    )


@case
def per_sample_gradients() -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)).double()
    parameters = {k: numbers(*v.shape, start=i) for i, (k, v) in enumerate(model.named_parameters())}

    def loss(p: Any, x: Any, t: Any) -> Any:
        return F.cross_entropy(functional_call(model, p, (x[None],)), t[None])

    return vmap(grad(loss), in_dims=(None, 0, 0))(parameters, X, torch.tensor([0, 1, 1]))


@case
def per_sample_gradients_of_convolutions() -> Any:
    def loss(w: Any, x: Any) -> Any:
        return F.conv2d(x[None], w, padding=1).relu().pow(2).sum()

    return vmap(grad(loss), in_dims=(None, 0))(numbers(2, 1, 3, 3), numbers(3, 1, 4, 4))


@case
def ensemble() -> Any:
    return vmap(lambda w, x: torch.tanh(x @ w), in_dims=(0, None))(numbers(2, 4, 3), X)


@case
def outside_autograd_goes_on() -> Any:
    x = X[0].clone().requires_grad_()
    w = X[1].clone().requires_grad_()
    made = grad(lambda v: (v * v * w).sum())(x)
    made.sum().backward()
    inner = grad(grad(torch.sin))(torch.tensor(1.0, dtype=torch.float64))
    with torch.no_grad():
        off = grad(lambda v: (v * v).sum())(x)
    return made, x.grad, w.grad, inner, inner.requires_grad, off, off.requires_grad


@case
def perturbations_are_kept_apart() -> Any:
    two = torch.tensor(2.0, dtype=torch.float64)
    return (
        grad(lambda a: grad(lambda s: s**3 * a)(two) * a)(two),
        jvp(lambda a: a * jvp(lambda c: a * c, (two,), (two * 0 + 1,))[1], (two,), (two * 0 + 1,)),
        grad(lambda a: a * grad(lambda c: a + c)(two))(two),
    )


@case
def forward_mode() -> Any:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X[0], X[1])
        made = [
            x * x,
            x.exp(),
            x.softmax(0),
            W @ x,
            x.view(2, 2).t(),
            torch.cat([x, x * 2]),
            x.sum(),
            x.norm(),
            x.clone().mul_(3),
        ]
        made += [x.sort()[0], x.max(), x[1:], torch.where(x > 0.5, x, -x), F.layer_norm(x, (4,)), x.std(), x.cumprod(0)]
        base = x.clone()
        base[0].mul_(3)
        fresh = torch.zeros(4, dtype=torch.float64)
        fresh[1] = x[2]
        made += [base, fresh]
        seen = [tuple(forward_ad.unpack_dual(each)) for each in made]
        plain = forward_ad.unpack_dual(x.detach()).tangent
    return seen, plain, forward_ad.unpack_dual(x).tangent


@case
def forward_mode_of_complex_numbers() -> Any:
    z, t = torch.complex(X[0], X[1]), torch.complex(X[2], X[0])
    functions = [
        lambda v: v * v,
        torch.exp,
        torch.abs,
        torch.conj,
        torch.real,
        lambda v: (v * v.conj()).real,
        torch.angle,
    ]
    return [jvp(f, (z,), (t,))[1].resolve_conj() for f in functions]


@case
def forward_mode_errors() -> Any:
    made = [_error(lambda: forward_ad.make_dual(X, X)), _error(forward_ad.exit_dual_level)]
    with forward_ad.dual_level():
        d = forward_ad.make_dual(X[0], X[1])
        made += [
            _error(forward_ad.enter_dual_level),
            _error(lambda: forward_ad.make_dual(torch.ones(2), torch.ones(3))),
            _error(lambda: forward_ad.make_dual(torch.ones(2, dtype=torch.int64), torch.ones(2))),
            _error(lambda: forward_ad.make_dual(torch.ones(2), torch.ones(2, dtype=torch.int64))),
            _error(lambda: forward_ad.make_dual(d, X[0])),
            _error(lambda: torch.add(d, d, out=torch.ones(4, dtype=torch.float64))),
        ]
    return made
