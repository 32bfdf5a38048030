"""The forms that torch.func's functions may be called in, against PyTorch: results, their structure, or the error."""

from typing import Any

import pytest
from expressions import check, lines

import mindtorch_v2 as torch
from mindtorch_v2.func import grad, jacfwd, jacrev, jvp, vjp, vmap

NAMES: dict[str, Any] = {
    name: (lambda torch, name=name: getattr(torch.func, name))
    for name in (
        "vmap",
        "grad",
        "grad_and_value",
        "vjp",
        "jvp",
        "jacrev",
        "jacfwd",
        "hessian",
        "linearize",
        "functional_call",
        "stack_module_state",
    )
}
VMAP = lines("""
vmap(torch.dot)(x(3, 4), x(3, 4))
vmap(torch.dot, in_dims=(0, 1))(x(3, 4), x(4, 3))
vmap(torch.dot, in_dims=(-2, -1))(x(3, 4), x(4, 3))
vmap(torch.dot, in_dims=-1)(x(4, 3), x(4, 3))
vmap(torch.dot, 1)(x(4, 3), x(4, 3))
vmap(torch.dot, -3)(x(4, 3), x(4, 3))
vmap(torch.dot, 2)(x(4, 3), x(4, 3))
vmap(torch.mul, (0, None))(x(3, 4), x(4))
vmap(torch.mul, (None, 1))(x(3, 2), x(3, 4))
vmap(torch.mul, (None, -1))(x(3, 2), x(3, 4))
vmap(lambda v, n: v * n, (0, None))(x(3), 2.0)
vmap(lambda v, n: v * n, (0, 0))(x(3), 2.0)
vmap(lambda v, n: v * n, (0, "a"))(x(3), x(3))
vmap(lambda v, n: v * n, (0, 1.0))(x(3), x(3))
vmap(lambda v, *, n=1: v * n)(x(3, 2), n=3)
vmap(lambda v, n=2: v * n)(x(3))
vmap(lambda v: v, (0,))(x(3))
vmap(lambda v: v, (0, 0))(x(3))
vmap(lambda v: v, {"a": 0})(x(3))
vmap(lambda v: v, None)(x(3))
vmap(lambda v: v, (None,))(x(3))
vmap(lambda v: v)()
vmap(lambda v: v)(x())
vmap(lambda v, w: v)(x(3), x())
vmap(lambda v, w: v)(x(3), x(4))
vmap(lambda d: d["a"] * d["b"][0], ({"a": 0, "b": (1,)},))({"a": x(3), "b": (x(2, 3),)})
vmap(lambda d: d["a"] * d["b"], ({"a": 0, "b": None},))({"a": x(3, 2), "b": x(2)})
vmap(lambda d: d["a"] * d["b"], ({"a": 0},))({"a": x(3, 2), "b": x(2)})
vmap(lambda a, b: a + b[0] * b[1], (0, 1))(x(3, 2), (x(2, 3), x(2, 3)))
vmap(lambda a, b: a + b[0] * b[1], (0, (1, None)))(x(3, 2), (x(2, 3), x(2)))
vmap(lambda a, b: a + b[0] * b[1], (0, [1, 0]))(x(3, 2), [x(2, 3), x(3, 2)])
vmap(lambda v: v.outer(v), out_dims=1)(x(3, 2))
vmap(lambda v: v.outer(v), out_dims=2)(x(3, 2))
vmap(lambda v: v.outer(v), out_dims=-1)(x(3, 2))
vmap(lambda v: v.outer(v), out_dims=-2)(x(3, 2))
vmap(lambda v: v.outer(v), out_dims=-3)(x(3, 2))
vmap(lambda v: v.outer(v), 1, 1)(x(2, 3))
vmap(lambda v: v, out_dims=1)(x(3))
vmap(lambda v: v, out_dims=(0, 0))(x(3))
vmap(lambda v: (v, v.sum()), out_dims=(1, 0))(x(3, 2))
vmap(lambda v: (v, v * 2), out_dims=1)(x(3, 2))
vmap(lambda v: (v, v * 2), out_dims=(1,))(x(3, 2))
vmap(lambda v: (v, v * 2), out_dims=(0, 1, 1))(x(3, 2))
vmap(lambda v: (v, (v * 2, v * 3)), out_dims=(0, 1))(x(3, 2))
vmap(lambda v: {"a": v, "b": [v.sum()]}, out_dims={"a": 1, "b": [0]})(x(3, 2))
vmap(lambda v: {"a": v}, out_dims={"b": 1})(x(3, 2))
vmap(lambda v: [v, v], out_dims=1)(x(3, 2))
vmap(lambda v: v.outer(v), out_dims=(1,))(x(3, 2))
vmap(lambda v: (v,), out_dims=1)(x(3, 2))
vmap(lambda v: (v, 3), out_dims=(0, None))(x(3))
vmap(lambda v: (v, 3))(x(3))
vmap(lambda v: (v, None))(x(3))
vmap(lambda v: v, out_dims="a")(x(3))
vmap(lambda v: v, out_dims=None)(x(3))
vmap(lambda v, w: (v, w), (0, None), (0, None))(x(3), x(2))
vmap(lambda v: torch.ones(2))(x(3))
vmap(lambda v: v.sum())(torch.ones(0, 3)).shape
vmap(lambda v: v * 2, chunk_size=1)(x(5, 2))
vmap(lambda v: v * 2, chunk_size=2)(x(5, 2))
vmap(lambda v: v * 2, chunk_size=3)(x(5, 2))
vmap(lambda v: v * 2, chunk_size=5)(x(5, 2))
vmap(lambda v: v * 2, chunk_size=7)(x(5, 2))
vmap(lambda v: v * 2, 1, 1, chunk_size=2)(x(3, 5))
vmap(lambda v: v * 2, -1, -1, chunk_size=2)(x(3, 5))
vmap(lambda v, w: (v * w, v.sum()), (0, None), (1, 0), chunk_size=2)(x(5, 2), x(2))
vmap(lambda v, n=1: {"a": v * n}, chunk_size=2)(x(5, 2), n=3)
vmap(lambda v: torch.tensor(float(v.shape[0])), chunk_size=2)(x(5, 2))
[each.tolist() for each in [(seen := []), vmap(lambda v: (seen.append(v.shape), v)[1], chunk_size=2)(x(5, 2))][1:]], len(seen)
vmap(lambda v: v, chunk_size=0)
vmap(lambda v: v, chunk_size=-1)
vmap(lambda v: v, randomness="other")
vmap(torch.dot).__name__
vmap(vmap(torch.dot))(x(2, 3, 4), x(2, 3, 4))
vmap(vmap(torch.dot, (None, 0)), (0, None))(x(2, 4), x(3, 4))
vmap(vmap(torch.dot, (0, None)), (None, 0), out_dims=1)(x(2, 4), x(3, 4))
vmap(vmap(torch.dot, (1, 0), 0), (2, 1))(x(4, 3, 2), x(3, 2, 4))
vmap(vmap(lambda a: a * 2, 1, 1), 2, 2)(x(2, 3, 4))
vmap(lambda a: vmap(lambda b: a * b)(a))(x(2, 3))
vmap(lambda a: vmap(lambda b: a * b, chunk_size=2)(a))(x(2, 3))
vmap(lambda a: vmap(lambda b: a.sum())(a))(x(2, 3))
vmap(vmap(vmap(lambda a: a.sum(0))))(x(2, 2, 2, 3))
vmap(lambda a, b: a @ b, (0, None))(x(2, 3), x(3))
vmap(lambda a, b: a @ b, (None, 0))(x(2, 3), x(4, 3))
vmap(lambda a, b: a.dim() + b.dim() + 0 * (a.sum() + b.sum()), (0, 1))(x(2, 3), x(3, 2))
vmap(lambda a: a.shape[0] * a)(x(2, 3))
vmap(lambda a: a.new_zeros(2) + a.numel())(x(2, 3))
vmap(lambda a: a.size(-1) * a.stride(0) * a)(x(2, 3))
vmap(lambda a: a.clone().add_(1).mul_(a))(x(2, 3))
vmap(lambda a, b: a.add_(b), (0, 0))(x(2, 3).detach(), x(2, 3).detach())
vmap(lambda a, b: a.add_(b), (None, 0))(x(3).detach(), x(2, 3).detach())
vmap(lambda a, b: a.add_(b), (0, None))(x(2, 3).detach(), x(3).detach())
""")
DERIVATIVES = lines("""
grad(torch.sin)(x())
grad(lambda a, b: (a * b).sum())(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), 1)(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), -1)(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), -2)(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), -3)(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), 2)(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), (0,))(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), (1, 0))(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), (0, -1))(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), (0, 2))(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), (0, 0))(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), (1, -1))(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), ())(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), "0")(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), [0])(x(3), x(3))
grad(lambda a, b: (a * b * b).sum(), (0, "1"))(x(3), x(3))
grad(lambda a, b: (a * b).sum())(x(3), 2.0)
grad(lambda a, b: (a * b).sum(), 1)(x(3), 2.0)
grad(lambda a, *, b: (a * b).sum())(x(3), b=x(3))
grad(lambda a, b=2.0: (a * b).sum())(x(3))
grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x(3), "b": (x(3),)})
grad(lambda d: d["a"].sum())({"a": x(3), "b": [x(2)]})
grad(lambda a: (a.sum(), a * 2), has_aux=True)(x(3))
grad(lambda a: a.sum(), has_aux=True)(x(3))
grad(lambda a: (a.sum(), 1, 2), has_aux=True)(x(3))
grad(lambda a: [a.sum(), 1], has_aux=True)(x(3))
grad(lambda a: (a.sum(), 1))(x(3))
grad(lambda a: 3.0)(x(3))
grad(lambda a: a)(x(3))
grad(lambda a: a)(x(1))
grad(lambda a: a.sum().to(torch.complex128))(x(3))
grad(lambda a: a.abs().sum())(z(3))
grad(lambda a: a.sum())(i(3, 4))
grad(lambda a: torch.ones(()))(x(3))
grad(lambda a: a.detach().sum())(x(3))
grad_and_value(torch.sin)(x())
grad_and_value(lambda a, b: ((a * b).sum(), a + b), (0, 1), True)(x(3), x(3))
grad_and_value(lambda a, b: (a * b).sum(), argnums=1, has_aux=False)(x(3), x(3))
grad_and_value(lambda a: a.sum(), has_aux=True)(x(3))
grad_and_value(lambda a: a.sum(), 1)(x(3))
grad(grad(lambda a: a ** 3))(x())
grad(lambda a: grad(lambda b: (a * b).sum())(a * 2).sum())(x(3))
grad(lambda a: a * grad(lambda b: a * b * b)(a))(x())
grad(lambda a: (a.clone().mul_(a)).sum())(x(3))
grad(grad).__name__, grad(torch.sin).__name__
vmap(grad(lambda a: (a * a).sum()))(x(2, 3))
vmap(grad(lambda a, b: (a * b).sum(), (0, 1)), (0, None))(x(2, 3), x(3))
vmap(grad(lambda a, b: (a * b * b).sum(), 1), (0, None))(x(2, 3), x(3))
vmap(grad(lambda a: (a * 2).sum()), 1, 1)(x(2, 3))
grad(lambda a: vmap(lambda b: b * b.sum())(a).sum())(x(2, 3))
vmap(vmap(grad(lambda a: (a * a).sum())))(x(2, 2, 3))
vmap(lambda b: grad(lambda a: (a * b).sum())(b * 2))(x(2, 3))
(lambda a, y: vmap(lambda b: grad(lambda v: (v * b).sum())(a))(y))(x(3), x(2, 3))
vjp(torch.sin, x())[0]
vjp(torch.sin, x(3))[1](x(3))
vjp(torch.mul, x(3), x(3))[1](x(3))
vjp(lambda a: {"s": a.sin(), "c": (a.cos(),)}, x(3))[1]({"s": x(3), "c": (x(3),)})
vjp(lambda a: {"s": a.sin(), "c": (a.cos(),)}, x(3))[1]({"s": x(3), "c": [x(3)]})
vjp(lambda a: (a, a), x(3))[1](x(3))
vjp(lambda a: (a, a * 2), x(3))[1]((x(3), x(3)))
vjp(lambda a: a, x(3))[1](x(4))
vjp(lambda a: a * 2, x(3), has_aux=True)
vjp(lambda a: (a * 2, a + 1), x(3), has_aux=True)[0::2]
vjp(lambda a: (a * 2, a + 1), x(3), has_aux=True)[1](x(3))
vjp(lambda a: (a * 2, a + 1, 3), x(3), has_aux=True)
vjp(lambda a: (), x(3))
vjp(lambda a: (a, 3), x(3))
vjp(lambda a: a.to(torch.int64), x(3))
vjp(lambda a: torch.view_as_complex(a), x(3, 2))[1](z(3))
vjp(lambda a: a, 3.0)
vjp(lambda a: a, i(3, 4))
vjp(lambda a: torch.ones(3), x(3))[1](x(3))
[pull(x(3)) for pull in [vjp(torch.exp, x(3))[1]] for _ in range(2)]
vmap(vjp(torch.exp, x(3))[1])(x(2, 3))
vmap(lambda a: vjp(torch.exp, a)[1](a))(x(2, 3))
grad(lambda a: vjp(torch.exp, a)[1](a)[0].sum())(x(3))
jacrev(torch.sin)(x(3))
jacrev(lambda a, b: a * b.sum(), 1)(x(3), x(2))
jacrev(lambda a, b: a * b.sum(), (0, 1))(x(3), x(2))
jacrev(lambda a, b: (a * b.sum(), {"k": b}), (1, 0))(x(3), x(2))
jacrev(lambda d: d["a"].outer(d["b"]))({"a": x(2), "b": x(3)})
jacrev(lambda a: (a * 2, a + 1), has_aux=True)(x(3))
jacrev(lambda a: a.sum() * a, chunk_size=1)(x(3))
jacrev(lambda a: (a.sum() * a, a[:2]), chunk_size=2)(x(3))
jacrev(lambda a: a.sum() * a, chunk_size=7)(x(3))
jacrev(lambda a: a, chunk_size=0)
jacrev(lambda a: a, chunk_size=-1)
jacrev(lambda a: 3)(x(3))
jacrev(lambda a: a.sum())(x(2, 3))
jacrev(lambda a: a[:0])(x(3)).shape
jacrev(jacrev(lambda a: (a ** 3).sum()))(x(2))
vmap(jacrev(lambda a: a.sum() * a))(x(2, 3))
jacrev(lambda a: a, 1)(x(3))
jacrev(lambda a: a.real * 2)(z(2))
jacrev(lambda a, b: (a, torch.complex(a, b)))(x(2), x(2))
jacfwd(lambda a: torch.complex(a, a))(x(2))
jacfwd(lambda a, b: a * b.real, (0, 1))(x(2), z(2))
vmap(lambda v, t: jvp(lambda a: a * v, (v.new_ones(3),), (t,))[1])(x(2, 3).detach(), x(2, 3).detach())
(lambda c: vmap(lambda v, t: jvp(lambda a: (a * v).cumsum(0) * a, (c,), (t,)))(x(2, 3).detach(), x(2, 3).detach()))(x(3).detach())
(lambda c: vmap(vmap(lambda v, t: jvp(lambda a: (a * v).sin() * a, (c,), (t,))[1]))(x(2, 2, 3).detach(), x(2, 2, 3).detach()))(x(3).detach())
(lambda c, s: vmap(lambda v: vmap(lambda t: jvp(lambda a: (a * v).sin() * a, (c,), (t,))[1])(s))(s))(x(3).detach(), x(2, 3).detach())
jacfwd(torch.sin)(x(3))
jacfwd(lambda a, b: a * b.sum(), 1)(x(3), x(2).detach())
jacfwd(lambda a, b: a * b.sum(), (0, 1))(x(3), x(2))
jacfwd(lambda a, b: (a * b.sum(), {"k": b}), (1, 0))(x(3), x(2))
jacfwd(lambda d: d["a"].outer(d["b"]))({"a": x(2), "b": x(3)})
jacfwd(lambda a: (a * 2, a + 1), has_aux=True)(x(3))
jacfwd(lambda a: a.sum())(x(2, 3))
jacfwd(lambda a: 3)(x(3))
jacfwd(lambda a: a * 2, has_aux=True)(x(3))
jacfwd(lambda a: torch.ones(2))(x(3))
jacfwd(lambda a: a, 1)(x(3))
jacfwd(jacfwd(lambda a: (a ** 3).sum()))(x(2))
vmap(jacfwd(lambda a: a.sum() * a))(x(2, 3))
jacfwd(lambda a: a * torch.rand(3).sum().mul(0))(x(3))
jacfwd(lambda a: a * torch.rand(3).mul(0).add(1), randomness="same")(x(3).detach())
jacfwd(lambda a: a * torch.rand(3).mul(0).add(1), randomness="different")(x(3).detach())
hessian(lambda a: (a ** 3).sum())(x(2))
hessian(lambda a, b: (a ** 2 * b).sum(), 1)(x(2), x(2))
hessian(lambda a, b: (a ** 2 * b).sum(), (0, 1))(x(2), x(2))
vmap(hessian(lambda a: (a ** 3).sum()))(x(2, 2))
jvp(torch.sin, (x(3),), (x(3),))
jvp(torch.mul, (x(3), x(3)), (x(3), x(3)))
jvp(lambda a, b: (a * b, {"k": a}), (x(3), x(3)), (x(3), x(3)))
jvp(lambda d: d["a"] * d["b"], ({"a": x(3), "b": x(3)},), ({"a": x(3), "b": x(3)},))
jvp(torch.sin, x(3), x(3))
jvp(torch.sin, (x(3),), x(3))
jvp(torch.sin, (x(3),), [x(3)])
jvp(torch.mul, (x(3), x(3)), (x(3),))
jvp(torch.sin, (x(3),), (3.0,))
jvp(torch.mul, (x(3), 2.0), (x(3), 1.0))
jvp(lambda: torch.ones(1), (), ())
jvp(torch.sin, (x(3),), (x(2),))
jvp(lambda a: 3, (x(3),), (x(3),))
jvp(lambda a: (a, 3), (x(3),), (x(3),))
jvp(lambda a: (), (x(3),), (x(3),))
jvp(lambda a: torch.ones(2), (x(3),), (x(3),))
jvp(lambda a: torch.ones(2), (x(3),), (x(3),), strict=True)
jvp(lambda a: a * 2, (x(3),), (x(3),), strict=True)
jvp(lambda a: (a * 2, a + 1), (x(3),), (x(3),), has_aux=True)
jvp(lambda a: a * 2, (x(3),), (x(3),), has_aux=True)
jvp(lambda a: (a * 2, a, a), (x(3),), (x(3),), has_aux=True)
jvp(lambda a: (a * 2, torch.ones(2)), (x(3),), (x(3),))
jvp(lambda a: jvp(torch.sin, (a,), (a,))[1], (x(3),), (x(3),))
jvp(grad(lambda a: (a ** 3).sum()), (x(3),), (x(3),))
grad(lambda a: jvp(torch.sin, (a,), (a,))[1].sum())(x(3))
vmap(lambda a: jvp(torch.sin, (a,), (a,))[1])(x(2, 3))
vmap(lambda t: jvp(torch.sin, (torch.arange(3.0).double(),), (t,))[1])(x(2, 3))
linearize(torch.sin, x(3).detach())[0]
linearize(torch.sin, x(3).detach())[1](x(3))
linearize(torch.mul, x(3).detach(), x(3).detach())[1](x(3), x(3))
linearize(lambda a: {"s": a.sin(), "n": (a * 2,)}, x(3).detach())[1](x(3))
linearize(lambda d: d["a"] * d["b"], {"a": x(3).detach(), "b": x(3).detach()})[1]({"a": x(3), "b": x(3)})
linearize(torch.sin, x(3).detach())[1](x(2))
linearize(torch.sin, x(3).detach())[1](x(3).float())
linearize(torch.sin, x(3).detach())[1](x(3), x(3))
linearize(torch.mul, x(3).detach(), x(3).detach())[1](x(3))
linearize(lambda a: torch.ones(2), x(3).detach())[1](x(3))
linearize(lambda a, b: a * 2, x(3).detach(), x(3).detach())[1](x(3), x(3))
[push(x(3)) for push in [linearize(torch.exp, x(3).detach())[1]] for _ in range(2)]
vmap(linearize(torch.exp, x(3).detach())[1])(x(2, 3))
""")
MODULES = lines("""
functional_call(nn.Linear(2, 1).double(), {"weight": x(1, 2), "bias": x(1)}, (x(3, 2),))
functional_call(nn.Linear(2, 1).double(), {"weight": x(1, 2), "bias": x(1)}, x(3, 2))
functional_call(nn.Linear(2, 1).double(), {"weight": x(1, 2), "bias": x(1)}, None, {"input": x(3, 2)})
functional_call(nn.Linear(2, 1).double(), ({"weight": x(1, 2)}, {"bias": x(1)}), (x(3, 2),))
functional_call(nn.Linear(2, 1).double(), [{"weight": x(1, 2)}, {"bias": x(1)}], (x(3, 2),))
functional_call(nn.Linear(2, 1).double(), ({"weight": x(1, 2)}, {"weight": x(1, 2), "bias": x(1)}), (x(3, 2),))
functional_call(nn.Linear(2, 1).double(), 3, (x(3, 2),))
functional_call(nn.Linear(2, 1).double(), {"weights": x(1, 2)}, (x(3, 2),), strict=True)
functional_call(nn.Linear(2, 1).double(), {"weight": x(1, 2)}, (x(3, 2),), strict=True)
grad(lambda p, v, m=nn.Linear(2, 1): functional_call(m, p, (v,)).sum())({"weight": x(1, 2), "bias": x(1)}, x(3, 2))
[sorted(each) for each in stack_module_state([nn.BatchNorm1d(2), nn.BatchNorm1d(2)])]
[{k: (v.shape, v.requires_grad, v.is_leaf) for k, v in each.items()} for each in stack_module_state([nn.BatchNorm1d(2), nn.BatchNorm1d(2)])]
[{k: v for k, v in each.items()} for each in stack_module_state([nn.BatchNorm1d(2), nn.BatchNorm1d(2)])]
[v.requires_grad for v in stack_module_state([nn.Linear(2, 1).requires_grad_(False)] * 2)[0].values()]
[v.shape for v in stack_module_state([nn.Linear(2, 1)])[0].values()]
stack_module_state([])
stack_module_state([nn.Linear(2, 1), nn.Linear(2, 1).eval()])
stack_module_state([nn.Linear(2, 1), nn.ReLU()])
""")
LATER = lines("""
vmap(lambda a: a + torch.rand(2).mul(0), randomness="same")(x(3, 2))
vmap(lambda a: a + torch.rand(2).mul(0), randomness="different")(x(3, 2))
vmap(lambda a: a + torch.rand(2).mul(0), randomness="error")(x(3, 2))
vmap(lambda a: torch.rand(2), randomness="same")(x(3, 2))
vmap(lambda a: torch.rand_like(a), randomness="same")(x(3, 2)).shape
vmap(lambda a: torch.rand_like(a), randomness="different")(x(3, 2).detach())
vmap(lambda a: F.dropout(a, 0.5), randomness="same")(torch.ones(3, 4))
vmap(lambda a: F.dropout(a, 0.5), randomness="different")(torch.ones(3, 4))
vmap(lambda a: F.dropout(a, 0.5))(torch.ones(3, 4))
vmap(lambda a: a.clone().normal_(), randomness="different")(x(3, 2).detach())
vmap(lambda a: a.clone().normal_(), randomness="same")(x(3, 2).detach())
vmap(lambda a: torch.ones(2).normal_(), randomness="different")(x(3, 2))
vmap(lambda a: torch.ones(2).normal_(), randomness="same")(x(3, 2))
vmap(lambda a: torch.normal(a, 1.0), randomness="different")(x(3, 2).detach())
vmap(lambda a: torch.bernoulli(a), randomness="different")(p(3, 2).detach())
vmap(lambda a: torch.multinomial(a, 2), randomness="different")(p(3, 4).detach())
vmap(lambda a: torch.randperm(4), randomness="different")(x(3, 2))
vmap(lambda a: torch.randperm(4), randomness="same")(x(3, 2))
vmap(lambda a: torch.randn(2), randomness="same", chunk_size=2)(x(3, 2))
vmap(vmap(lambda a: torch.rand(2), randomness="same"), randomness="different")(x(3, 4, 2))
vmap(vmap(lambda a: torch.rand(2), randomness="different"), randomness="same")(x(3, 4, 2))
vmap(vmap(lambda a: torch.rand(2), randomness="same"), randomness="same")(x(3, 4, 2))
vmap(vmap(lambda a: torch.rand(2), randomness="same"))(x(3, 4, 2))
vmap(vmap(lambda a: torch.rand(2), randomness="different"))(x(3, 4, 2))
vmap(vmap(vmap(lambda a: torch.rand(2), randomness="different"), randomness="same"), randomness="different")(x(3, 2, 2, 2))
vmap(vmap(lambda a: a.clone().normal_(), randomness="different"), randomness="different")(x(3, 4, 2).detach())
vmap(lambda a: torch.rand(2), randomness="different")(x(3, 2))
vmap(vmap(lambda a: torch.rand(2), randomness="different"), randomness="different")(x(3, 4, 2))
vmap(lambda a: torch.randn(2, 3), randomness="different")(x(3, 2))
vmap(lambda a: torch.randint(5, (2,)), randomness="different")(x(3, 2))
vmap(lambda a: torch.randperm(4).shape[0] * a, randomness="different")(x(3, 2))
vmap(lambda a: F.dropout(a, 0.5).shape[0] * a, randomness="different")(x(3, 2))
vmap(lambda a: torch.ones(2).normal_() * a.sum(), randomness="different")(x(3, 2))
vmap(lambda a: torch.ones(2).normal_().mul(0) * a.sum(), randomness="same")(x(3, 2))
""")


@pytest.mark.parametrize("text", VMAP)
def test_vmap(text: str) -> None:
    check(text, **NAMES)


@pytest.mark.parametrize("text", DERIVATIVES)
def test_derivatives(text: str) -> None:
    check(text, **NAMES)


@pytest.mark.parametrize("text", MODULES)
def test_modules(text: str) -> None:
    check(text, **NAMES)


@pytest.mark.parametrize("text", LATER)
def test_random_numbers(text: str) -> None:
    check(text, **NAMES)


def test_what_pytorch_refuses_or_gets_wrong() -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    made, seven = vmap(lambda v: (v * 2, 7), out_dims=(0, None), chunk_size=2)(x)
    assert made.tolist() == [2.0, 4.0, 6.0]
    assert seven == 7
    assert vmap(lambda v: torch.ones(2), out_dims=1)(x).shape == (2, 3)
    assert jacrev(lambda a, *, k: a * k)(x, k=2.0).tolist() == (2 * torch.eye(3)).tolist()
    assert jacfwd(lambda a, *, k: a * k)(x, k=2.0).tolist() == (2 * torch.eye(3)).tolist()
    gradient, aux = grad(lambda a: (a.sum(), {"k": a * 2, "n": 3}), has_aux=True)(x)
    assert (gradient.tolist(), aux["k"].tolist(), aux["n"]) == ([1.0] * 3, [2.0, 4.0, 6.0], 3)
    value, moved, aux = jvp(lambda a: (a * 2, {"n": 3, "t": a}), (x,), (x,), has_aux=True)
    assert (value.tolist(), moved.tolist(), aux["n"], aux["t"].tolist()) == (
        [2.0, 4.0, 6.0],
        [2.0, 4.0, 6.0],
        3,
        [1.0, 2.0, 3.0],
    )
    with pytest.raises(RuntimeError, match=r"grad_output\[1\] has a shape of torch.Size\(\[1\]\) and output\[1\]"):
        vjp(lambda a: (a, a.sum()), x)[1]((x, torch.ones(1)))


def test_recording_ends_where_it_is_off() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        gradient, value = torch.func.grad_and_value(lambda a: (a * a).sum())(x)
        output, back = vjp(lambda a: a * a, x)
        found = [
            gradient,
            value,
            output,
            *back(x),
            grad(lambda a: (a * x).sum())(x),
            jacrev(torch.sin)(x),
            jacfwd(torch.sin)(x),
        ]
        assert not any(each.requires_grad for each in found)
        assert grad(lambda a: grad(lambda b: b**3)(a))(torch.tensor(2.0)).item() == 12.0
    plain = x.detach()
    found = [grad(lambda a: (a * a).sum())(plain), *vjp(torch.sin, plain)[1](plain), vjp(torch.sin, plain)[0]]
    assert not any(each.requires_grad for each in found)
    outside = [
        grad(lambda a: (a * x).sum())(plain),
        vjp(lambda a: a * x, plain)[0],
        *vjp(lambda a: a * x, plain)[1](plain),
        *vjp(torch.sin, plain)[1](x),
    ]
    assert all(each.requires_grad for each in outside)


def test_a_tensor_that_outlives_its_vmap() -> None:
    kept: list = []
    vmap(lambda v: (kept.append(v), v)[1])(torch.ones(2, 3))
    for use in (
        lambda v: v + 1,
        lambda v: vmap(lambda w: w + v)(torch.ones(2)),
        lambda v: torch.nn.functional.dropout(v),
    ):
        with pytest.raises(RuntimeError, match="a tensor that vmap made is used after the end of its vmap"):
            use(kept[0])
