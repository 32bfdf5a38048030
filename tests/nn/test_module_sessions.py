"""Modules, their hooks, state dicts and conversions at work: every step as PyTorch has it."""

import importlib
from typing import Any

import pytest
from expressions import check_session

SESSIONS = {
    "registration": """
        m = nn.Module()
        m.register_parameter("p", nn.Parameter(torch.ones(2)))
        m.register_parameter("q", None)
        m.register_buffer("b", torch.zeros(2))
        m.register_buffer("c", torch.zeros(1), persistent=False)
        m.register_buffer("d", None)
        m.add_module("m", nn.ReLU())
        m.register_module("n", nn.Tanh())
        m.add_module("o", None)
        (list(m.state_dict()), [k for k, _ in m.named_parameters()], [k for k, _ in m.named_buffers()], [k for k, _ in m.named_children()], [k for k, _ in m.named_modules()])
        sorted(m._non_persistent_buffers_set)
        m.register_buffer("c", torch.ones(3))
        m
        m.register_buffer("e", torch.ones(3), False)
        m.register_buffer("e", torch.ones(2))
        del m.e
        m.register_buffer("e", torch.ones(2))
        (sorted(m._non_persistent_buffers_set), list(m.state_dict()))
        del m.c
        (sorted(m._non_persistent_buffers_set), hasattr(m, "c"))
        m.b = torch.full((2,), 3.0)
        (m.b, "b" in m._buffers)
        m.b = None
        (m.b, list(m._buffers))
        m.b = nn.Parameter(torch.ones(1))
        (list(m._buffers), list(m._parameters))
        m.p = None
        m.p = nn.Parameter(torch.zeros(1))
        m.p = torch.ones(1)
        m.m = nn.Sigmoid()
        m.m = None
        m.m = 3
        m.new = nn.ELU()
        m.new = nn.Parameter(torch.ones(1))
        ("new" in m._modules, "new" in m._parameters, "new" in vars(m))
        m.plain = 3
        m.plain = nn.ReLU()
        ("plain" in vars(m), "plain" in m._modules)
        m.q = nn.Parameter(torch.ones(1))
        del m.q
        m.q
        del m.n
        [k for k, _ in m.named_children()]
        del m.nothing
        m.register_parameter("x", nn.Parameter(torch.ones(1)) * 1)
        m.register_parameter("x", nn.Parameter(torch.ones(1)).mul(2))
        m.register_buffer(3, torch.ones(1))
        m.register_buffer("", torch.ones(1))
        m.register_buffer("a.b", torch.ones(1))
        m.register_buffer("forward", torch.ones(1))
        m.register_buffer("z", 3)
        m.add_module(3, nn.ReLU())
        m.add_module("", nn.ReLU())
        m.add_module("forward", nn.ReLU())
        m.add_module("z", 3)
        m.extra_repr()
        m._get_name()
        m
        sorted(k for k in dir(m) if k in ("b", "p", "m", "plain", "0", "forward", "nothing"))
        class Named(nn.Module):
            def __init__(self): super().__init__(); self.a = nn.Linear(1, 1); self.b = nn.Sequential(nn.ReLU(), nn.Linear(1, 2)); self.c = self.a
            def extra_repr(self): return "one\\ntwo"
        n = Named()
        n
        [k for k, _ in n.named_modules()]
        [k for k, _ in n.named_modules(prefix="x")]
        [k for k, _ in n.named_modules(remove_duplicate=False)]
        [k for k, _ in n.named_modules(memo={n.a})]
        [k for k, _ in n.named_parameters()]
        [k for k, _ in n.named_parameters(prefix="x")]
        [k for k, _ in n.named_parameters(recurse=False)]
        [k for k, _ in n.named_parameters(remove_duplicate=False)]
        (len(list(n.parameters())), len(list(n.parameters(recurse=False))), len(list(n.buffers())), len(list(n.children())), len(list(n.modules())))
        n.register_buffer("u", torch.ones(1))
        n.b.register_buffer("v", n.u)
        [k for k, _ in n.named_buffers()]
        [k for k, _ in n.named_buffers("x", False)]
        [k for k, _ in n.named_buffers(remove_duplicate=False)]
        (len(list(n.buffers())), len(list(n.buffers(recurse=False))))
        [k for k, _ in n.named_children()]
        n.get_submodule("b.1")
        n.get_submodule("")is n
        n.get_submodule("b.7")
        n.get_submodule("u")
        n.get_submodule("b.v")
        n.get_parameter("b.1.weight").shape
        n.get_parameter("b.1")
        n.get_parameter("u")
        n.get_parameter("b.x.y")
        n.get_buffer("b.v")
        n.get_buffer("a.weight")
        n.get_buffer("nope")
        n.set_submodule("b.1", nn.Tanh())
        n.set_submodule("b.9", nn.Tanh())
        n.set_submodule("b.9", nn.ELU(), strict=True)
        n.set_submodule("b.8", nn.ELU(), strict=True)
        n.set_submodule("q.r", nn.ELU())
        n.set_submodule("", nn.ELU())
        n.set_submodule("u", nn.ELU())
        n.set_submodule("b.1", 3)
        n.b
        seen = []
        n.apply(lambda m: seen.append(type(m).__name__)) is n
        seen
        (n.train(False).training, n.b.training, n.train().b[0].training, n.eval().a.training)
        n.train(3)
        n.requires_grad_(False) is n
        [p.requires_grad for p in n.parameters()]
        n.requires_grad_()
        [p.requires_grad for p in n.parameters()]
        n(3)
        nn.Module().forward(1)
        nn.Module(1)
        nn.Module(a=1, b=2)
        nn.Module.call_super_init
        class Both(nn.Module):
            call_super_init = True
        Both()
        hash(n) == hash(n)
        nn.ReLU().__call__(torch.tensor([-1.0, 2.0]))
        nn.ReLU()._slow_forward(torch.tensor([-1.0, 2.0]))
        r = n._replicate_for_data_parallel()
        (r._is_replica, len(r._parameters), r._buffers is n._buffers, list(r._modules), r._modules is n._modules, n.__dict__.get("_is_replica"))
        r.zero_grad()
        n.type(torch.float64).a.weight.dtype
    """,
    "pickles and copies": """
        import copy, pickle
        m = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
        s = m.__getstate__() if hasattr(m, "__getstate__") else None
        sorted(k for k in vars(m) if k in ("_modules", "_parameters", "_buffers", "training", "_compiled_call_impl"))
        n = pickle.loads(pickle.dumps(m))
        (n, n.training, [k for k, _ in n.named_parameters()], n[1].num_batches_tracked)
        c = copy.copy(m)
        (c[0] is m[0], c is m)
        d = copy.deepcopy(m.eval())
        (d[0] is m[0], d.training, d[0].weight is m[0].weight)
        o = nn.Linear.__new__(nn.Linear)
        state = {k: v for k, v in nn.Linear(2, 1).__dict__.items() if k in ("training", "_parameters", "_buffers", "_modules", "in_features", "out_features")}
        o.__setstate__(state)
        (o.state_dict().keys() == {"weight", "bias"}, o)
        o.load_state_dict(o.state_dict())
    """,
    "hooks": """
        import types
        M = nn.modules.module
        calls = []
        m = nn.Linear(1, 1)
        with torch.no_grad(): (m.weight.fill_(2), m.bias.fill_(1))
        one = torch.ones(1, 1)
        h = [m.register_forward_pre_hook(lambda m, a: calls.append("pre1")), m.register_forward_pre_hook(lambda m, a: calls.append("pre2"), prepend=True), m.register_forward_hook(lambda m, a, o: calls.append("post1")), m.register_forward_hook(lambda m, a, o: calls.append("post2"), prepend=True)]
        g = [M.register_module_forward_pre_hook(lambda m, a: calls.append("global pre")), M.register_module_forward_hook(lambda m, a, o: calls.append("global post"))]
        m(one)
        calls
        calls.clear()
        [x.remove() for x in h + g]
        m(one)
        calls
        g = M.register_module_forward_hook(lambda m, a, k, o: o * 10, with_kwargs=True)
        m(input=one)
        g.remove()
        g = M.register_module_forward_hook(lambda m, a, o: calls.append("always"), always_call=True)
        m(torch.ones(1, 2))
        g.remove()
        (calls, len(M._global_forward_hooks_always_called))
        h = m.register_forward_pre_hook(lambda m, a: a[0] * 3)
        m(one)
        h.remove()
        h = m.register_forward_pre_hook(lambda m, a: (a[0] * 4,))
        m(one)
        h.remove()
        h = m.register_forward_pre_hook(lambda m, a, k: ((k["input"] * 5,), {}), with_kwargs=True)
        m(input=one)
        h.remove()
        h = m.register_forward_pre_hook(lambda m, a, k: None, with_kwargs=True)
        m(input=one)
        h.remove()
        h = m.register_forward_pre_hook(lambda m, a, k: (1, 2, 3), with_kwargs=True)
        m(one)
        h.remove()
        g = M.register_module_forward_pre_hook(lambda m, a: (a[0] * 7,))
        m(one)
        g.remove()
        h = m.register_forward_hook(lambda m, a, o: None)
        m(one)
        h.remove()
        h = m.register_forward_hook(lambda m, a, k, o: (sorted(k), o), with_kwargs=True)
        m(input=one)
        h.remove()
        calls.clear()
        h = [m.register_forward_hook(lambda m, a, o: calls.append(("a", o is None)), always_call=True), m.register_forward_hook(lambda m, a, k, o: calls.append(("b", sorted(k))), always_call=True, with_kwargs=True), m.register_forward_hook(lambda m, a, o: calls.append("never"))]
        m(torch.ones(1, 2))
        calls
        calls.clear()
        m(one)
        calls
        [x.remove() for x in h]
        (len(m._forward_hooks), len(m._forward_hooks_always_called), len(m._forward_hooks_with_kwargs), len(m._forward_pre_hooks_with_kwargs))
        def fails(m, a, o): raise KeyError("hook")
        h = m.register_forward_hook(fails, always_call=True)
        m(one)
        m(torch.ones(1, 2))
        h.remove()
        h = m.register_forward_hook(lambda m, a, o: o * 2, always_call=True)
        m(one)
        h.remove()
    """,
    "backward hooks": """
        M = nn.modules.module
        calls = []
        def plain(value): return None if value is None else [None if v is None else v.tolist() for v in value]
        def made():
            m = nn.Linear(2, 1)
            with torch.no_grad(): (m.weight.copy_(torch.tensor([[2.0, 3.0]])), m.bias.fill_(1))
            return m
        def run(m):
            calls.clear()
            x = torch.ones(1, 2, requires_grad=True)
            y = m(x)
            (y * 5).sum().backward()
            return [list(calls), x.grad.clone(), m.weight.grad.clone()]
        m = made()
        h = m.register_full_backward_hook(lambda m, i, o: calls.append((plain(i), plain(o))))
        run(m)
        h.remove()
        (len(m._backward_hooks), m._is_full_backward_hook)
        m.register_backward_hook(lambda m, i, o: None)
        m = made()
        h = [m.register_full_backward_hook(lambda m, i, o: calls.append("first")), m.register_full_backward_hook(lambda m, i, o: calls.append("second"), prepend=True), m.register_full_backward_pre_hook(lambda m, o: calls.append("pre first")), m.register_full_backward_pre_hook(lambda m, o: calls.append("pre second"), prepend=True)]
        run(m)
        [x.remove() for x in h]
        h = m.register_full_backward_hook(lambda m, i, o: (i[0] * 10,))
        run(m)
        h.remove()
        h = m.register_full_backward_pre_hook(lambda m, o: (o[0] * 10,))
        run(m)
        h.remove()
        h = m.register_full_backward_hook(lambda m, i, o: (i[0], i[0]))
        run(m)
        h.remove()
        m = made()
        h = m.register_backward_hook(lambda m, i, o: calls.append(plain(o)))
        run(m)
        m.register_full_backward_hook(lambda m, i, o: None)
        h.remove()
        m = nn.Sequential(made(), nn.ReLU())
        h = m.register_backward_hook(lambda m, i, o: calls.append(plain(o)))
        x = torch.ones(1, 2, requires_grad=True)
        m(x).sum().backward()
        calls
        class Pair(nn.Module):
            def forward(self, a, b=None): return {"a": a * 2, "b": [a * 3]}
        p = Pair()
        h = p.register_backward_hook(lambda m, i, o: None)
        p(torch.ones(1, requires_grad=True))["a"].shape
        class Two(nn.Module):
            def forward(self, a): return a * 2, a * 3
        p = Two()
        h = p.register_backward_hook(lambda m, i, o: None)
        len(p(torch.ones(1, requires_grad=True)))
        class Given(nn.Module):
            def forward(self, a): return a[0] * 2
        p = Given()
        h = p.register_backward_hook(lambda m, i, o: None)
        p([torch.ones(1, requires_grad=True)]).shape
        p = Given()
        p(torch.ones(1, 1)).shape
        class Dicts(nn.Module):
            def forward(self, a): return {"n": 3, "y": a * 2}
        p = Dicts()
        h = p.register_full_backward_hook(lambda m, i, o: calls.append("dict"))
        p(torch.ones(1, requires_grad=True))["y"].shape
        m = made()
        g = M.register_module_full_backward_hook(lambda m, i, o: calls.append(("global", plain(i), plain(o))))
        run(m)
        M.register_module_backward_hook(lambda m, i, o: None)
        g.remove()
        g = M.register_module_full_backward_pre_hook(lambda m, o: (o[0] * 2,))
        run(m)
        g.remove()
        x = torch.ones(1, 2)
        m = made()
        h = m.register_full_backward_hook(lambda m, i, o: calls.append((plain(i), plain(o))))
        with torch.no_grad(): y = m(x)
        y
        class Kw(nn.Module):
            def forward(self, a, *, k): return a * k
        q = Kw()
        h = q.register_full_backward_hook(lambda m, i, o: calls.append((plain(i), plain(o))))
        calls.clear()
        q(torch.ones(1, requires_grad=True), k=torch.full((1,), 3.0)).sum().backward()
        calls
        M._global_is_full_backward_hook
    """,
    "state dicts": """
        m = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
        s = m.state_dict()
        (list(s), list(s._metadata.items()), s["0.weight"].requires_grad, s["0.weight"].data_ptr() == m[0].weight.data_ptr())
        m.state_dict(keep_vars=True)["0.weight"] is m[0].weight
        list(m.state_dict(prefix="x."))
        list(m.state_dict(prefix="x.")._metadata)
        d = {}
        m.state_dict(destination=d) is d
        list(d)
        from collections import OrderedDict
        d = OrderedDict()
        list(m.state_dict(d, "y.", True))
        d["y.0.weight"].requires_grad
        m.state_dict(OrderedDict(), "y.")["y.0.weight"].requires_grad
        list(m.state_dict(OrderedDict()))
        m.load_state_dict(s)
        m.load_state_dict({"0.weight": torch.ones(1, 2)}, strict=False)
        m[0].weight
        m.load_state_dict({"0.weight": torch.ones(1, 2)})
        m.load_state_dict({**s, "2.x": torch.ones(1), "z": torch.ones(1), "0.y": torch.ones(1), "1.q.r": torch.ones(1)})
        m.load_state_dict({**s, "0.weight": torch.ones(2, 2)})
        m.load_state_dict({**s, "0.weight": torch.ones(2, 2)}, strict=False)
        m.load_state_dict({**s, "0.weight": 3})
        m.load_state_dict([1])
        m.load_state_dict({**s, "1.num_batches_tracked": torch.tensor([7])})
        m[1].num_batches_tracked
        m.load_state_dict({**s, "0.weight": torch.full((1, 2), 5.0, dtype=torch.float64)})
        (m[0].weight, m[0].weight.dtype)
        w = torch.full((1, 2), 6.0, dtype=torch.float64)
        m.load_state_dict({**s, "0.weight": w}, assign=True)
        (m[0].weight, m[0].weight.dtype, type(m[0].weight).__name__, m[0].weight.data_ptr() == w.data_ptr(), m[0].weight.requires_grad)
        m[0].weight.requires_grad_(False)
        p = nn.Parameter(torch.zeros(1, 2))
        m.load_state_dict({**s, "0.weight": p}, strict=False, assign=True)
        (m[0].weight is p, p.requires_grad)
        e = nn.Linear(2, 1, device="meta")
        e.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.ones(1)})
        e.weight.device
        e.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.ones(1)}, assign=True)
        e.weight
        class Extra(nn.Module):
            def __init__(self): super().__init__(); self.x = 1; self.sub = nn.Linear(1, 1)
            def get_extra_state(self): return self.x
            def set_extra_state(self, state): self.x = state
        a = Extra()
        a.x = 5
        s = a.state_dict()
        list(s.items())[0:1]
        b = Extra()
        b.load_state_dict(s)
        b.x
        del s["_extra_state"]
        b.load_state_dict(s)
        b.load_state_dict(s, strict=False)
        nn.Linear(1, 1).load_state_dict({"weight": torch.ones(1, 1), "bias": torch.ones(1), "_extra_state": 3})
        nn.Linear(1, 1).load_state_dict({"weight": torch.ones(1, 1), "bias": torch.ones(1), "_extra_state": 3}, strict=False)
        nn.Module().get_extra_state()
        nn.Module().set_extra_state(3)
        calls = []
        m = nn.Sequential(nn.Linear(1, 1))
        m[0].register_state_dict_pre_hook(lambda m, p, k: calls.append(("pre", p, k))) is not None
        h = m[0].register_state_dict_post_hook(lambda m, s, p, l: calls.append(("post", p, sorted(s), l)))
        list(m.state_dict(keep_vars=True))
        calls
        h.remove()
        h = m[0].register_state_dict_post_hook(lambda m, s, p, l: 3)
        m.state_dict()
        h.remove()
        h = m._register_state_dict_hook(lambda m, s, p, l: {"other": 1})
        m.state_dict()
        h.remove()
        calls.clear()
        h = m[0].register_load_state_dict_pre_hook(lambda m, s, p, l, strict, missing, unexpected, errors: calls.append((type(m).__name__, sorted(s), p, l, strict, missing, unexpected, errors)))
        g = m.register_load_state_dict_post_hook(lambda m, keys: calls.append(("post", type(m).__name__, keys.missing_keys, keys.unexpected_keys)))
        m.load_state_dict(m.state_dict())
        m.load_state_dict({"z": torch.ones(1)}, strict=False)
        calls
        h.remove()
        g.remove()
        h = m._register_load_state_dict_pre_hook(lambda s, p, *rest: s.update({p + "0.bias": torch.full((1,), 9.0)}))
        m.load_state_dict({"0.weight": torch.ones(1, 1)})
        m[0].bias
        h.remove()
        g = m.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
        m.load_state_dict({"0.weight": torch.ones(1, 1)})
        g.remove()
        g = m.register_load_state_dict_post_hook(lambda m, keys: 3)
        m.load_state_dict(m.state_dict())
        g.remove()
        k = m.load_state_dict({"0.weight": torch.ones(1, 1), "y": torch.ones(1)}, strict=False)
        (k, str(k), k.missing_keys, k.unexpected_keys, type(k).__name__)
        import pickle
        h = m[0]._register_load_state_dict_pre_hook(len)
        w = list(m[0]._load_state_dict_pre_hooks.values())[0]
        (w.__name__, w.with_module, pickle.loads(pickle.dumps(w)).with_module)
        h.remove()
        def hook(module, *rest): return type(module).__name__
        h = m[0]._register_load_state_dict_pre_hook(hook, with_module=True)
        w = list(m[0]._load_state_dict_pre_hooks.values())[0]
        (w.__name__, w.__doc__, w.with_module, w(1))
        state = w.__getstate__()
        (sorted(state), state["with_module"], state["module"] is m[0])
        v = type(w).__new__(type(w))
        v.__setstate__(state)
        (v.with_module, v(2))
        v.__setstate__({"hook": hook, "with_module": True, "module": None})
        v.__setstate__({"hook": hook, "with_module": False})
        v(5)
        dead = type(w)(hook, nn.Linear(1, 1))
        import gc
        gc.collect() >= 0
        dead(1)
        h.remove()
        def twice(*a): return None
        m.register_state_dict_post_hook(twice) is not None
        m._register_state_dict_hook(twice)
    """,
    "conversions": """
        m = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
        def dtypes(m): return [str(t.dtype) for t in m.state_dict().values()]
        w = m[0].weight
        (dtypes(m.double()), m[0].weight is w, dtypes(m.float()), dtypes(m.half()), dtypes(m.bfloat16()), dtypes(m.to(torch.float64)), dtypes(m.to(torch.ones(1))), dtypes(m.to("cpu", torch.float64)), dtypes(m.to(device="cpu", dtype=torch.float32)), dtypes(m.type(torch.float64)), dtypes(m.float()), dtypes(m.to(torch.complex64)))
        m = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
        m.to(torch.int32)
        m.to([1])
        m.to("cpu", 3)
        m.to("cpu", torch.float32, 3)
        m.to(torch.float64, True, False)[0].weight.dtype
        m.to(torch.ones(1), True)[0].weight.dtype
        m.to(None, torch.float64)[0].weight.dtype
        m.to("cpu", None)[0].weight.dtype
        m.to("cpu", True)[0].weight.dtype
        m.to(tensor=torch.ones(1))[0].weight.dtype
        m.cpu() is m
        m.to(memory_format=torch.channels_last)[0].weight.shape
        c = nn.Conv2d(2, 2, 2).to(memory_format=torch.channels_last)
        (c.weight.stride(), c.bias.stride())
        c.to(dtype=torch.float64, memory_format=torch.contiguous_format).weight.stride()
        nn.Conv3d(2, 2, 2).to(memory_format=torch.channels_last_3d).weight.stride()
        e = nn.Linear(2, 1, device="meta")
        e.to("cpu")
        e.to_empty(device="cpu") is e
        (e.weight.device, e.weight.shape, e.weight.requires_grad, type(e.weight).__name__)
        s = nn.Sequential(nn.Linear(1, 1, device="meta"))
        s.to_empty(device="cpu", recurse=False)[0].weight.device
        s.to_empty(device="cpu")[0].weight.device
        nn.Linear(2, 1).to("meta").weight.device
        m = nn.Linear(2, 1)
        m(torch.ones(1, 2)).sum().backward()
        (w, g) = (m.weight, m.weight.grad)
        m.double()
        (m.weight is w, m.weight.grad is g, m.weight.grad.dtype, m.weight.dtype)
        m.to("meta")
        (m.weight.grad.device, m.weight is w, m.weight.grad.dtype)
        m = nn.Linear(2, 1)
        m.weight.grad = m.weight * 2
        m.bias.grad = torch.ones(1)
        m.zero_grad(set_to_none=False)
        (m.weight.grad, m.weight.grad.requires_grad, m.weight.grad.grad_fn)
        m.weight.grad.requires_grad_()
        m.zero_grad(False)
        m.weight.grad.requires_grad
        m.zero_grad()
        (m.weight.grad, m.bias.grad)
        m.zero_grad()
        m = nn.Linear(2, 1)
        m.weight.requires_grad_(False)
        m.double().weight.requires_grad
        m.share_memory() is m
        m.weight.is_shared()
        torch._C._nn._parse_to("cpu", torch.float64, non_blocking=True)
        torch._C._nn._parse_to(torch.float64)
        torch._C._nn._parse_to(torch.ones(1, dtype=torch.float16))
        torch._C._nn._parse_to(device="meta")
        torch._C._nn._parse_to(memory_format=torch.channels_last)
        n = nn.BatchNorm1d(1)
        n._apply(lambda t: t + 1)
        (n.weight, n.running_mean, n.num_batches_tracked)
        o = nn.Sequential(nn.Linear(1, 1))
        o.register_buffer("u", torch.ones(1))
        o._apply(lambda t: t * 0 + 4, recurse=False)
        (o.u, (o[0].weight == 4).item())
    """,
    "registration hooks": """
        M = nn.modules.module
        seen = []
        h = M.register_module_parameter_registration_hook(lambda m, n, p: seen.append(("p", n)))
        g = M.register_module_buffer_registration_hook(lambda m, n, b: seen.append(("b", n)))
        f = M.register_module_module_registration_hook(lambda m, n, c: seen.append(("m", n)))
        m = nn.Linear(1, 1)
        m.register_buffer("u", torch.ones(1))
        m.u = torch.zeros(1)
        m.add_module("c", nn.ReLU())
        m.d = nn.ReLU()
        m.d = nn.Tanh()
        m.weight = nn.Parameter(torch.ones(1, 1))
        m.e = nn.Buffer(torch.ones(1))
        m.register_parameter("q", None)
        seen
        [x.remove() for x in (h, g, f)]
        m.z = nn.ReLU()
        len(seen)
        h = M.register_module_parameter_registration_hook(lambda m, n, p: nn.Parameter(p * 2))
        m = nn.Module()
        m.p = nn.Parameter(torch.ones(1))
        m.p
        h.remove()
        g = M.register_module_buffer_registration_hook(lambda m, n, b: b * 3)
        m.register_buffer("u", torch.ones(1))
        m.u
        m.u = torch.ones(1)
        m.u
        g.remove()
        f = M.register_module_module_registration_hook(lambda m, n, c: nn.Identity())
        m.c = nn.ReLU()
        m.add_module("d", nn.ReLU())
        f.remove()
        m
    """,
}
PARTS: dict[str, Any] = {}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions(name: str) -> None:
    check_session(SESSIONS[name], 1e-5, 1e-6, importlib=lambda _: importlib)
