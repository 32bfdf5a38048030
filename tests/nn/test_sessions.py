"""Containers, parametrizations, pruning, norms and the other helpers of nn at work: every step as PyTorch has it."""

import importlib
from typing import Any

import pytest
from expressions import check_session

SESSIONS = {
    "sequential": """
        m = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
        (len(m), m[0], m[-1], m[1:], m[::2], list(m._modules))
        m[3]
        m[-4]
        m["0"]
        m[1] = nn.ELU()
        m
        m[-1] = nn.Identity()
        m[5] = nn.ELU()
        m[0] = 3
        list(m)
        m.pop(0)
        m
        m.pop(slice(0, 1))
        m.pop(4)
        m.append(nn.ReLU6()) is m
        m.extend([nn.Tanh(), nn.SiLU()]) is m
        m.insert(0, nn.GELU()) is m
        m.insert(-1, nn.CELU())
        m.insert(len(m), nn.Mish())
        m
        m.insert(9, nn.CELU())
        m.insert(-9, nn.CELU())
        m.insert(-7, nn.GLU())
        m.insert(0, 3)
        list(m._modules)
        del m[0]
        del m[1:3]
        del m[-1]
        del m[8]
        m
        m + nn.Sequential(nn.GLU())
        type(m + m).__name__
        m + 3
        m += nn.Sequential(nn.GLU(), nn.ELU())
        m
        m += 3
        m * 2
        2 * m
        m * 1
        m * 0
        m * 1.5
        1.5 * m
        m *= 2
        m
        m *= 1
        len(m)
        m *= 0
        m *= "a"
        [name for name in dir(m) if name.isdigit()]
        ("append" in dir(m), "training" in dir(m))
        from collections import OrderedDict
        m = nn.Sequential(OrderedDict([("a", nn.ReLU()), ("b", nn.Linear(2, 1))]))
        (m.a, m[1], m[1:], m)
        del m[0]
        m
        nn.Sequential()
        nn.Sequential()(3)
        nn.Sequential(OrderedDict(a=nn.ReLU()), nn.Tanh())
        m = nn.Sequential(OrderedDict([("a", nn.ReLU()), ("b", nn.Tanh()), ("c", nn.ELU())]))
        m[1] = nn.GLU()
        m.pop(1)
        m
        m.extend(m[:1])
    """,
    "module list": """
        m = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.Sigmoid()])
        (len(m), m[0], m[-1], m[1:], m[::2], list(m))
        m[3]
        m[-4]
        m["0"]
        m[1] = nn.ELU()
        m[-1] = nn.Identity()
        m
        m[7] = nn.ELU()
        m[0] = 3
        m.pop(0)
        m.pop(slice(0, 1))
        m.pop(-1)
        m
        m.pop(0)
        m.append(nn.ReLU6()) is m
        m.extend([nn.Tanh(), nn.SiLU()]) is m
        m.insert(0, nn.GELU())
        m.insert(2, nn.Mish())
        m.insert(len(m), nn.CELU())
        m
        m.insert(-1, nn.CELU())
        (list(m._modules), len(m))
        del m[0]
        del m[0:2]
        del m[-1]
        del m[8]
        m
        m + [nn.GLU()]
        type(m + m).__name__
        list((m + nn.ModuleList([nn.GLU()]))._modules)
        m + 3
        m += [nn.GLU(), nn.ELU()]
        m
        m.extend(3)
        m += 3
        nn.ModuleList([nn.ReLU()])(3)
        [name for name in dir(m) if name.isdigit()]
        "append" in dir(m)
        nn.ModuleList()
        nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(1, 2), nn.Linear(1, 2), nn.Linear(1, 2), nn.ReLU()])
        nn.ModuleList([nn.Sequential(nn.ReLU(), nn.Tanh()), nn.Sequential(nn.ReLU(), nn.Tanh()), nn.ReLU()])
        nn.ModuleList(iter([nn.ReLU()]))
        nn.ModuleList([3])
    """,
    "module dict": """
        m = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
        (len(m), m["a"], list(m), "a" in m, "c" in m, list(m.keys()), list(m.items()), list(m.values()))
        m["c"] = nn.ELU()
        m["d"] = 3
        m[3] = nn.ELU()
        m[""] = nn.ELU()
        m["x.y"] = nn.ELU()
        m["keys"] = nn.ELU()
        m["c"] = None
        m
        m["z"]
        m.pop("a")
        m.pop("z")
        del m["b"]
        del m["z"]
        m
        m.update({"e": nn.GLU(), "f": nn.ELU()})
        m.update([("g", nn.GLU()), ["f", nn.Mish()]])
        m.update(nn.ModuleDict({"h": nn.Tanh()}))
        m.update(iter([("i", nn.CELU())]))
        m
        m.update(3)
        m.update([3])
        m.update([(1, 2, 3)])
        m.update([("a",)])
        m.update({"j": 3})
        m(3)
        m.clear()
        (m, len(m))
        nn.ModuleDict()
    """,
    "parameter list": """
        m = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(2, 3)), 3, "a"])
        (len(m), list(m.state_dict()), type(m[0]).__name__, m[2], m[-1], m[-3].shape, m[0].requires_grad)
        m
        m[1:]
        m[::2]
        m[4]
        m[-5]
        m["0"]
        m[0] = torch.zeros(1)
        m[2] = nn.Parameter(torch.ones(1, dtype=torch.float64), requires_grad=False)
        m[-1] = None
        m[9] = 3
        m
        [type(each).__name__ for each in m]
        m.append(torch.ones(1)) is m
        m.extend([torch.ones(1), 5]) is m
        m += (torch.ones(2),)
        (len(m), list(dict(m.named_parameters())))
        m.extend(3)
        m.extend(torch.ones(1))
        m += 3
        m.extend(m)
        len(m)
        m(3)
        [name for name in dir(m) if name.isdigit()]
        "append" in dir(m)
        (nn.ParameterList(), len(nn.ParameterList()))
        nn.ParameterList([torch.ones(2, device="meta"), torch.ones(1, dtype=torch.bool).float()])
    """,
    "parameter dict": """
        m = nn.ParameterDict({"a": torch.ones(2), "b": nn.Parameter(torch.zeros(2, 3)), "c": 3})
        (len(m), list(m), "a" in m, "z" in m, m["c"], type(m["a"]).__name__, list(m.state_dict()))
        m
        (list(m.keys()), [k for k, v in m.items()], [type(v).__name__ for v in m.values()], list(reversed(m)))
        m[3]
        m["z"]
        m[3] = torch.ones(1)
        m["d"] = torch.zeros(1)
        m["a"] = 5
        m["keys"] = torch.ones(1)
        m
        del m["a"]
        del m["z"]
        m.pop("c")
        m.pop("z")
        list(m)
        m.popitem()[0]
        m.setdefault("b").shape
        m.setdefault("e", torch.ones(3)).shape
        m.setdefault("f")
        m.get("e").shape
        m.get("z")
        m.get("z", 4)
        m.fromkeys(["q", "r"])
        m.fromkeys(["q", "r"], 4)
        list(m.fromkeys(["q", "r"], 4).values())
        m.update({"g": torch.ones(1)})
        m.update([("h", torch.ones(2)), ["i", 7]])
        m.update(nn.ParameterDict({"j": torch.ones(4)}))
        m
        m.update(3)
        m.update([3])
        m.update([(1, 2, 3)])
        (m.copy(), m.copy() is m, type(m.copy()).__name__)
        m | {"k": torch.ones(1)}
        m | nn.ParameterDict({"b": torch.ones(5), "l": torch.ones(1)})
        {"k": 3, "b": 4} | m
        nn.ParameterDict({"k": torch.ones(1)}) | m
        list(m)
        m |= {"m": torch.ones(6)}
        m |= nn.ParameterDict({"m": torch.ones(7)})
        m
        m | 3
        3 | m
        m |= 3
        m(3)
        m.clear()
        (m, len(m))
        m.popitem()
        nn.ParameterDict([("a", 1), ("b", torch.ones(1, device="meta"))])
        nn.ParameterDict({"b": 1, "a": 2})
        nn.ParameterDict(iter([("a", 1)]))
    """,
    "pruning at random": """
        m = nn.Linear(4, 5)
        prune.random_unstructured(m, "weight", 0.3) is m
        (m.weight, m.weight_mask, sorted(m.state_dict()), sorted(vars(m)["_buffers"]), [n for n, _ in m.named_parameters()])
        type(m.weight).__name__
        prune.random_unstructured(m, "weight", amount=4)
        m.weight_mask
        [type(each).__name__ for each in m._forward_pre_hooks.values()]
        prune.random_unstructured(m, "bias", amount=2)
        m.bias
        prune.remove(m, "weight") is m
        (sorted(m.state_dict()), m.weight, type(m.weight).__name__, len(m._forward_pre_hooks))
        prune.remove(m, "weight")
        prune.remove(m, "bias")
        sorted(m.state_dict())
        prune.random_unstructured(m, "weight", -1)
        prune.random_unstructured(m, "weight", 1.5)
        prune.random_unstructured(m, "weight", -0.1)
        prune.random_unstructured(m, "weight", "a")
        prune.random_unstructured(m, "weight", 21)
        sorted(m.state_dict())
        prune.random_unstructured(m, "weight", 20)
        m.weight
        m = nn.Linear(4, 5)
        prune.random_unstructured(m, "weight", 0)
        m.weight_mask
        prune.random_unstructured(m, "weight", 1.0)
        m.weight_mask
        prune.random_unstructured(m, "nope", 1)
    """,
    "pruning of channels": """
        m = nn.Conv2d(3, 4, 2)
        prune.random_structured(m, "weight", 2, 0) is m
        m.weight_mask
        prune.random_structured(m, "weight", 0.5, dim=1)
        (m.weight, m.weight_mask)
        prune.random_structured(m, "weight", 0, 0)
        prune.random_structured(m, "weight", 9, 0)
        prune.random_structured(m, "weight", 1, 4)
        prune.random_structured(m, "bias", 1, 0)
        prune.random_structured(m, "weight", 2.5, 0)
        prune.random_structured(m, "weight", "a", 0)
        sorted(m.state_dict())
        m = nn.Linear(4, 6)
        method = prune.RandomStructured.apply(m, "weight", 2)
        (type(method).__name__, method.dim)
        m.weight_mask
        prune.RandomStructured(1).dim
        m = nn.Linear(4, 6)
        prune.random_structured(m, "weight", 0.3, -2)
        m.weight_mask
        m = nn.Linear(4, 6)
        prune.ln_structured(m, "weight", 2, 2, 0) is m
        m.weight
        prune.ln_structured(m, "weight", amount=0.5, n=1, dim=-1)
        m.weight
        prune.ln_structured(m, "weight", 1, float("inf"), 0)
        m.weight_mask
        prune.ln_structured(m, "weight", 0, 2, 0)
        prune.ln_structured(m, "weight", 9, 2, 0)
        prune.ln_structured(m, "weight", 1, 2, 2)
        prune.ln_structured(m, "bias", 1, 2, 0)
        prune.ln_structured(m, "weight", -1, 2, 0)
        m = nn.Linear(4, 6)
        prune.ln_structured(m, "weight", 2, 1, 0, importance_scores=torch.arange(24.0).view(6, 4).flip(0))
        m.weight_mask
        prune.ln_structured(m, "weight", 2, 1, 0, importance_scores=torch.ones(6))
        prune.LnStructured(1, 2).dim
        prune.LnStructured(2, 1, 1).prune(torch.arange(12.0).view(3, 4))
        prune.LnStructured(2, 1, 0).prune(torch.arange(12.0).view(4, 3), importance_scores=-torch.arange(12.0).view(4, 3).flip(0))
        prune.RandomStructured(0).compute_mask(torch.ones(2, 3), torch.full((2, 3), 0.5))
        prune.RandomStructured(2, 1).compute_mask(torch.ones(2, 4), torch.full((2, 4), 2.0))
        prune.LnStructured(0, 1).compute_mask(torch.ones(2, 3), torch.full((2, 3), 0.5))
        prune.LnStructured(1, 1, -1).compute_mask(torch.arange(6.0).view(2, 3), torch.full((2, 3), 2.0))
    """,
    "pruning of the least": """
        m = nn.Linear(4, 5)
        prune.l1_unstructured(m, "weight", 0.3) is m
        m.weight
        prune.l1_unstructured(m, "weight", amount=5)
        m.weight
        prune.l1_unstructured(m, "bias", amount=2, importance_scores=torch.tensor([5.0, 1.0, 4.0, 2.0, 3.0]))
        m.bias
        prune.l1_unstructured(m, "bias", amount=2, importance_scores=torch.ones(3))
        prune.l1_unstructured(m, "bias", amount=6)
        prune.l1_unstructured(m, "bias", amount=-1)
        prune.l1_unstructured(m, "bias", amount=0)
        sorted(m.state_dict())
        m.bias_mask
        with torch.no_grad(): m.weight_orig.fill_(2)
        m(torch.ones(1, 4))
        m.weight
        prune.is_pruned(m)
        prune.is_pruned(nn.Sequential(nn.ReLU(), m))
        prune.is_pruned(nn.Linear(1, 1))
        [len(each) for each in m._forward_pre_hooks.values() if isinstance(each, prune.PruningContainer)]
        [[type(one).__name__ for one in each] for each in m._forward_pre_hooks.values() if isinstance(each, prune.PruningContainer)]
        list(m._forward_pre_hooks.values())[0][0].amount
        prune.L1Unstructured(2).prune(torch.tensor([3.0, -1.0, 2.0]))
        prune.L1Unstructured(1).prune(torch.tensor([3.0, -1.0, 2.0]), torch.tensor([1.0, 1.0, 0.0]))
        prune.L1Unstructured(1).prune(torch.tensor([3.0, -1.0, 2.0]), importance_scores=torch.tensor([1.0, 4.0, 0.5]))
        prune.L1Unstructured(1).prune(torch.tensor([3.0, -1.0, 2.0]), importance_scores=torch.ones(2))
        prune.RandomUnstructured(2).prune(torch.arange(6.0))
        prune.L1Unstructured(0.5)(m, None)
    """,
    "pruning by masks": """
        m = nn.Linear(3, 2)
        prune.identity(m, "weight") is m
        (m.weight_mask, sorted(m.state_dict()))
        prune.custom_from_mask(m, "bias", torch.tensor([0, 1])) is m
        (m.bias, m.bias_mask, m.bias_mask.dtype)
        prune.custom_from_mask(m, "bias", mask=torch.ones(3))
        prune.custom_from_mask(m, "weight", torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
        prune.random_structured(m, "weight", 1, 1)
        m.weight_mask
        prune.global_unstructured([(m, "weight")], prune.L1Unstructured, amount=1)
        m.weight_mask
        a = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 3))
        prune.global_unstructured([(a[0], "weight"), (a[1], "weight"), (a[1], "bias")], pruning_method=prune.L1Unstructured, amount=0.4)
        (a[0].weight, a[1].weight, a[1].bias)
        prune.global_unstructured([(a[0], "weight"), (a[1], "weight")], prune.RandomUnstructured, amount=3)
        (a[0].weight_mask, a[1].weight_mask)
        a = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 3))
        prune.global_unstructured([(a[0], "weight"), (a[1], "weight")], prune.L1Unstructured, {(a[1], "weight"): torch.arange(6.0).view(3, 2) / 20}, amount=4)
        (a[0].weight_mask, a[1].weight_mask)
        prune.global_unstructured(3, prune.L1Unstructured, amount=1)
        prune.global_unstructured([(a[0], "weight")], prune.L1Unstructured, importance_scores=3, amount=1)
        prune.global_unstructured([(a[0], "weight")], prune.RandomStructured, amount=1)
        prune.global_unstructured([(a[0], "weight")], prune.LnStructured, amount=1, n=2)
        c = prune.PruningContainer()
        len(c)
        c.add_pruning_method(3)
        i = prune.Identity()
        i._tensor_name = "weight"
        c._tensor_name = "bias"
        type(c).__repr__ = lambda self: "container"
        c.add_pruning_method(i)
        del type(c).__repr__
        c = prune.PruningContainer(i)
        (len(c), c[0] is i, c._tensor_name)
        c.add_pruning_method(None)
        len(c)
        c = prune.PruningContainer(i)
        i.PRUNING_TYPE = "other"
        c.compute_mask(torch.ones(2), torch.ones(2))
        [each.PRUNING_TYPE for each in (prune.Identity, prune.RandomUnstructured, prune.L1Unstructured, prune.RandomStructured, prune.LnStructured, prune.CustomFromMask)]
        i._tensor_name = None
        i.apply_mask(m)
        i.remove(m)
        prune.BasePruningMethod()
    """,
    "parametrizations": """
        class Twice(nn.Module):
            def forward(self, x): return x * 2
            def right_inverse(self, x): return x / 2
        class Plus(nn.Module):
            def forward(self, x): return x + 1
        class Parts(nn.Module):
            def forward(self, a, b): return a + b
            def right_inverse(self, x): return x * 0.25, x * 0.75
        m = nn.Linear(2, 3)
        w = m.weight
        parametrize.register_parametrization(m, "weight", Twice()) is m
        (type(m).__name__, parametrize.is_parametrized(m), parametrize.is_parametrized(m, "weight"), parametrize.is_parametrized(m, "bias"))
        (m, m.weight, m.parametrizations.weight.original, m.parametrizations.weight.original is w)
        (list(m.state_dict()), parametrize.type_before_parametrizations(m).__name__, parametrize.type_before_parametrizations(nn.ReLU()).__name__)
        m.weight = torch.ones(3, 2)
        (m.weight, m.parametrizations.weight.original)
        m.weight = torch.ones(3, 2, dtype=torch.float64)
        m.weight = 3
        parametrize.register_parametrization(m, "weight", Plus())
        (m.weight, len(m.parametrizations.weight), m.parametrizations["weight"][1])
        m.weight = torch.ones(3, 2)
        m(torch.ones(1, 2))
        with parametrize.cached(): (a, b) = (m.weight, m.weight)
        (a is b, m.weight is m.weight)
        with parametrize.cached():
            with parametrize.cached(): a = m.weight
            b = m.weight
        a is b
        with parametrize.cached(): c = m.weight
        c is b
        import pickle, copy
        pickle.dumps(m)
        copy.deepcopy(m).weight
        (type(copy.deepcopy(m)).__name__, copy.deepcopy(m).parametrizations.weight.original is m.parametrizations.weight.original)
        parametrize.remove_parametrizations(m, "weight", leave_parametrized=True) is m
        (type(m).__name__, m.weight, m.weight is w, list(m.state_dict()))
        hasattr(m, "parametrizations")
        parametrize.remove_parametrizations(m, "weight")
        parametrize.register_parametrization(m, "weight", Plus())
        parametrize.register_parametrization(m, "bias", Twice())
        parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
        (m.weight, type(m).__name__, m.parametrizations)
        parametrize.remove_parametrizations(m, "bias", False)
        (type(m).__name__, m.bias)
        parametrize.register_parametrization(m, "weight", Parts())
        (list(m.state_dict()), m.parametrizations.weight.is_tensor, m.parametrizations.weight.ntensors)
        (type(m.parametrizations.weight.original0).__name__, m.parametrizations.weight.original1.requires_grad)
        m.weight = torch.full((3, 2), 4.0)
        (m.weight, m.parametrizations.weight.original0, m.parametrizations.weight.original1)
        parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
        parametrize.remove_parametrizations(m, "weight")
        (m.weight, type(m.weight).__name__, m.weight.requires_grad)
        parametrize.register_parametrization(m, "nope", Plus())
        b = nn.BatchNorm1d(2)
        parametrize.register_parametrization(b, "running_mean", Plus())
        (b.running_mean, list(b.state_dict()), [n for n, _ in b.named_buffers()])
        parametrize.remove_parametrizations(b, "running_mean")
        (b.running_mean, [n for n, _ in b.named_buffers()])
        e = nn.Linear(1, 1).eval()
        parametrize.register_parametrization(e, "weight", Plus())
        e.parametrizations.weight[0].training
        f = nn.Linear(2, 2)
        f.weight.requires_grad_(False)
        parametrize.register_parametrization(f, "weight", Parts())
        (f.parametrizations.weight.original0.requires_grad, type(f.parametrizations.weight.original0).__name__)
        parametrize.remove_parametrizations(f, "weight")
        type(f.weight).__name__
        g = nn.Linear(2, 2)
        parametrize.register_parametrization(g, "weight", Parts())
        parametrize.register_parametrization(g, "weight", Plus())
        (g.weight, g.parametrizations.weight.ntensors)
        parametrize.register_parametrization(g, "bias", Plus())
        (g.parametrizations.bias.ntensors, g.parametrizations.bias.is_tensor, g.parametrizations.bias.unsafe)
        parametrize.is_parametrized(nn.ReLU())
        parametrize.is_parametrized(nn.ReLU(), "weight")
    """,
    "parametrizations that do not fit": """
        def made(forward, inverse=None):
            class P(nn.Module): pass
            P.forward = lambda self, *x: forward(*x)
            if inverse: P.right_inverse = lambda self, x: inverse(x)
            return P()
        def put(*given, **more): return parametrize.register_parametrization(nn.Linear(2, 3), "weight", made(*given), **more)
        put(lambda x: 3)
        put(lambda x: x.double())
        put(lambda x: x.sum())
        put(lambda x: x.sum(), unsafe=True).weight
        put(lambda x: x, lambda x: 3)
        put(lambda x: x, lambda x: x.double())
        put(lambda x: x, lambda x: x.to("meta"))
        put(lambda x: x, lambda x: [x, 3])
        put(lambda x: x, lambda x: x[:2])
        put(lambda x: x, lambda x: x[:2], unsafe=True).weight.shape
        parametrize.ParametrizationList([], torch.ones(2))
        def twice(*given, **more): return parametrize.register_parametrization(put(lambda x: x * 2), "weight", made(*given), **more)
        twice(lambda x: 3)
        twice(lambda x: x.double())
        twice(lambda x: x.sum())
        twice(lambda x: x, lambda x: 3)
        twice(lambda x: x, lambda x: x.double())
        twice(lambda x: x, lambda x: x[:2])
        twice(lambda x: x.sum(), unsafe=True).weight
        (twice(lambda x: x.sum(), unsafe=True).parametrizations.weight.unsafe, twice(lambda x: x * 2).parametrizations.weight.unsafe)
        twice(lambda x: x + 1, lambda x: x - 1).weight
        m = put(lambda a, b: a + b, lambda x: (x, x * 0))
        m.parametrizations.weight[0].right_inverse = lambda x: 3
        m.weight = torch.ones(3, 2)
        m.parametrizations.weight[0].right_inverse = lambda x: (x,)
        m.weight = torch.ones(3, 2)
        m.parametrizations.weight[0].right_inverse = lambda x: (x, 3)
        m.weight = torch.ones(3, 2)
        m.parametrizations.weight[0].right_inverse = lambda x: (x, x.double())
        m.weight = torch.ones(3, 2)
        m = put(lambda x: x + 1)
        m.weight = torch.ones(3, 2)
    """,
    "transferring parametrizations": """
        class Twice(nn.Module):
            def forward(self, x): return x * 2
            def right_inverse(self, x): return x / 2
        class Parts(nn.Module):
            def forward(self, a, b): return a + b
            def right_inverse(self, x): return x * 0.25, x * 0.75
        a = nn.Linear(2, 3)
        b = nn.Linear(2, 3)
        parametrize.transfer_parametrizations_and_params(a, b) is b
        parametrize.is_parametrized(b)
        parametrize.register_parametrization(a, "weight", Twice())
        parametrize.register_parametrization(a, "bias", Parts())
        parametrize.transfer_parametrizations_and_params(a, b, "weight")
        (b.weight, list(b.state_dict()), b.parametrizations.weight.original is a.parametrizations.weight.original)
        b.parametrizations.weight[0] is a.parametrizations.weight[0]
        c = nn.Linear(2, 3)
        parametrize.transfer_parametrizations_and_params(a, c)
        (c.weight, c.bias, list(c.state_dict()))
        c.parametrizations.bias.original1 is a.parametrizations.bias.original1
        d = nn.Linear(2, 3, bias=False)
        del d.bias
        parametrize.transfer_parametrizations_and_params(a, d)
        (d.bias, list(d.state_dict()))
    """,
    "orthogonal": """
        m = parametrizations.orthogonal(nn.Linear(3, 3))
        (type(m).__name__, m.parametrizations.weight[0].orthogonal_map.name, (m.weight @ m.weight.mT - torch.eye(3)).abs().max().item() < 1e-5)
        list(m.state_dict())
        m.weight.shape
        m = parametrizations.orthogonal(nn.Linear(4, 2))
        m.parametrizations.weight[0].orthogonal_map.name
        (m.weight @ m.weight.mT - torch.eye(2)).abs().max().item() < 1e-5
        m = parametrizations.orthogonal(nn.Linear(2, 4))
        m.parametrizations.weight[0].orthogonal_map.name
        (m.weight.mT @ m.weight - torch.eye(2)).abs().max().item() < 1e-5
        q = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
        def put(map, rows, columns, **more): return parametrizations.orthogonal(nn.Linear(columns, rows), orthogonal_map=map, **more)
        maps = ["matrix_exp", "cayley", "householder"]
        def error(m): return (m.weight @ m.weight.mT - torch.eye(len(m.weight))).abs().max().item() < 1e-5
        [[error(put(map, 2, n)) for n in (2, 3)] for map in maps]
        def assigned(m, v):
            m.weight = v
            return m.weight
        [assigned(put(map, 2, 2), q) for map in maps]
        [assigned(put(map, 2, 2), 3 * q) for map in maps]
        def whole(m):
            p = m.parametrizations.weight
            return [(k, t.shape) for k, t in p.state_dict().items()]
        [whole(put(map, 2, 3)) for map in maps]
        [whole(put(map, 3, 2, use_trivialization=False)) for map in maps]
        assigned(put("householder", 2, 2, use_trivialization=False), q)
        assigned(put("householder", 3, 2, use_trivialization=False), torch.eye(3)[:, :2])
        assigned(put("householder", 2, 3, use_trivialization=False), torch.eye(3)[[2, 0]])
        assigned(put("cayley", 2, 2, use_trivialization=False), q)
        assigned(put("matrix_exp", 2, 2, use_trivialization=False), q)
        assigned(put("cayley", 2, 2), torch.ones(3, 3))
        assigned(put("cayley", 2, 3), torch.eye(3)[:2])
        def given(map, rows, columns):
            m = put(map, rows, columns, use_trivialization=False)
            with torch.no_grad(): m.parametrizations.weight.original.copy_(torch.arange(float(rows * columns)).view(rows, columns).sin())
            if map == "householder":
                with torch.no_grad(): m.parametrizations.weight.original.diagonal().sign_()
            return [m.weight, *torch.autograd.grad((m.weight * torch.arange(float(rows * columns)).view(rows, columns)).sum(), m.parametrizations.weight.original)]
        [given(map, *shape) for map in maps for shape in ((3, 3), (3, 2), (2, 3))]
        put("other", 2, 2)
        put(3, 2, 2)
        parametrizations.orthogonal(nn.Linear(2, 2), "nope")
        parametrizations.orthogonal(nn.Linear(2, 2), "bias")
        c = nn.Linear(2, 2).to(torch.complex64)
        parametrizations.orthogonal(c, orthogonal_map="householder")
        parametrizations.orthogonal(nn.Linear(3, 2).to(torch.complex64)).parametrizations.weight[0].orthogonal_map.name
        z = parametrizations.orthogonal(nn.Linear(3, 2).to(torch.complex64))
        (z.weight @ z.weight.mH - torch.eye(2)).abs().max().item() < 1e-5
    """,
    "weight norm": """
        m = parametrizations.weight_norm(nn.Linear(2, 3))
        (m, m.weight, list(m.state_dict()), m.parametrizations.weight.original0, m.parametrizations.weight.original1)
        m = parametrizations.weight_norm(nn.Linear(2, 3), dim=None)
        (m.weight, m.parametrizations.weight.original0)
        m = parametrizations.weight_norm(nn.Conv1d(2, 3, 2), "weight", 1)
        (m.weight, m.parametrizations.weight.original0)
        m.weight = torch.ones(3, 2, 2)
        (m.weight, m.parametrizations.weight.original0)
        m.load_state_dict({"bias": torch.zeros(3), "weight_g": torch.full((1, 2, 1), 2.0), "weight_v": torch.ones(3, 2, 2)})
        (m.weight, m.parametrizations.weight.original0)
        n = nn.Sequential(m)
        n.load_state_dict({"0.bias": torch.zeros(3), "0.weight_g": torch.full((1, 2, 1), 3.0), "0.weight_v": torch.ones(3, 2, 2)})
        m.weight
        n.load_state_dict({"0.bias": torch.zeros(3), "0.weight_g": torch.full((1, 2, 1), 3.0)})
        m = utils.weight_norm(nn.Linear(2, 3))
        (m.weight, sorted(m.state_dict()), m.weight_g, m.weight_v, [n for n, _ in m.named_parameters()])
        with torch.no_grad(): m.weight_g.mul_(2)
        (m(torch.ones(1, 2)), m.weight)
        utils.weight_norm(m)
        utils.weight_norm(m, "bias", None)
        (m.bias_g, m.bias_v)
        utils.remove_weight_norm(m) is m
        (sorted(m.state_dict()), m.weight, type(m.weight).__name__, len(m._forward_pre_hooks))
        utils.remove_weight_norm(m)
        utils.remove_weight_norm(m, "bias")
        sorted(m.state_dict())
        m = utils.weight_norm(nn.Conv2d(2, 3, 1), dim=1)
        (m.weight_g, m.weight_v.shape)
        m = utils.weight_norm(nn.Conv2d(2, 3, 1), name="weight", dim=None)
        m.weight_g
        utils.weight_norm(nn.LazyLinear(3))
        utils.weight_norm(nn.Linear(2, 3), "nope")
    """,
    "spectral norm": """
        m = parametrizations.spectral_norm(nn.Linear(3, 2))
        (m, list(m.state_dict()), m.weight, m.parametrizations.weight[0]._u)
        m.eval()
        (m.weight, m.weight)
        m.train()
        (m.weight, m.parametrizations.weight[0]._v)
        m = parametrizations.spectral_norm(nn.Conv2d(2, 3, 2), n_power_iterations=3, eps=1e-3, dim=1)
        (m.weight, m.parametrizations.weight[0]._u.shape, m.parametrizations.weight[0].eps, m.parametrizations.weight[0].dim)
        m = parametrizations.spectral_norm(nn.ConvTranspose2d(2, 3, 2))
        (m.parametrizations.weight[0].dim, m.parametrizations.weight[0]._u.shape)
        parametrizations.spectral_norm(nn.ConvTranspose1d(2, 3, 2)).parametrizations.weight[0].dim
        parametrizations.spectral_norm(nn.ConvTranspose3d(2, 3, 2)).parametrizations.weight[0].dim
        parametrizations.spectral_norm(nn.Conv1d(2, 3, 2), dim=-1).parametrizations.weight[0].dim
        parametrizations.spectral_norm(nn.Conv1d(2, 3, 2), dim=-3).parametrizations.weight[0].dim
        m = parametrizations.spectral_norm(nn.Linear(3, 2), "bias")
        (m.bias, list(m.state_dict()))
        parametrizations.spectral_norm(nn.Linear(3, 2), n_power_iterations=0)
        parametrizations.spectral_norm(nn.Linear(3, 2), n_power_iterations=-1)
        parametrizations.spectral_norm(nn.Linear(3, 2), dim=2)
        parametrizations.spectral_norm(nn.Linear(3, 2), dim=-3)
        parametrizations.spectral_norm(nn.Linear(3, 2), "nope")
        m = parametrizations.spectral_norm(nn.Linear(3, 2))
        m.weight = torch.ones(2, 3)
        (m.parametrizations.weight.original, m.weight)
        m = parametrizations.spectral_norm(nn.Linear(3, 2, dtype=torch.float64), eps=3.0)
        m.weight
        torch.autograd.grad(m.weight.sum(), m.parametrizations.weight.original)
    """,
    "older spectral norm": """
        m = utils.spectral_norm(nn.Linear(3, 2))
        (m.weight, type(m.weight).__name__, sorted(m.state_dict()), m.weight_u, m.weight_v)
        m.state_dict()._metadata
        m(torch.ones(1, 3))
        (m.weight, m.weight_u)
        m.eval()(torch.ones(1, 3))
        m.weight_u
        utils.spectral_norm(m)
        utils.spectral_norm(nn.Linear(3, 2), n_power_iterations=0)
        utils.spectral_norm(nn.Linear(3, 2, bias=False), "bias")
        utils.spectral_norm(nn.LazyLinear(3))
        utils.spectral_norm(nn.Linear(3, 2), "nope")
        c = utils.spectral_norm(nn.Conv2d(2, 3, 2), n_power_iterations=3, eps=1e-3, dim=1)
        c(torch.ones(1, 2, 2, 2))
        (c.weight, c.weight_u, c.weight_v)
        hook = list(c._forward_pre_hooks.values())[0]
        (hook.name, hook.dim, hook.n_power_iterations, hook.eps, hook._version)
        [list(utils.spectral_norm(kind(2, 3, 2))._forward_pre_hooks.values())[0].dim for kind in (nn.Conv1d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)]
        d = utils.spectral_norm(utils.spectral_norm(nn.Bilinear(2, 2, 2)), "bias", dim=0)
        d = utils.spectral_norm(nn.Linear(2, 2))
        state = d.state_dict()
        state["weight"] = state["weight_orig"] / 3
        del state["weight_v"]
        state._metadata = {}
        e = utils.spectral_norm(nn.Linear(2, 2))
        e.load_state_dict(state)
        (e.weight_v, e.weight_u, e.weight_orig)
        e.eval()(torch.ones(1, 2))
        e.weight
        e.load_state_dict({"bias": torch.ones(2)})
        e.load_state_dict({"bias": torch.ones(2)}, strict=False)
        e.load_state_dict({"bias": torch.ones(2), "weight_orig": torch.eye(2), "weight_u": torch.ones(2), "weight_v": torch.ones(2)})
        n = nn.Sequential(utils.spectral_norm(nn.Linear(2, 2, dtype=torch.float64)))
        n.load_state_dict(n.state_dict())
        n.state_dict()._metadata["0"]
        s = n.state_dict()
        s["0.weight"] = s["0.weight_orig"] / 2
        del s["0.weight_v"]
        s._metadata["0"] = {"spectral_norm": {"weight.version": 0}}
        n.load_state_dict(s)
        n[0].weight_v
        (len(e._forward_pre_hooks), len(e._state_dict_hooks), len(e._load_state_dict_pre_hooks))
        utils.remove_spectral_norm(e) is e
        (e.weight, type(e.weight).__name__, sorted(e.state_dict()))
        (len(e._forward_pre_hooks), len(e._state_dict_hooks))
        utils.remove_spectral_norm(e)
        utils.remove_spectral_norm(e, "bias")
        f = utils.spectral_norm(nn.Linear(3, 2, dtype=torch.float64))
        f(torch.ones(1, 3, dtype=torch.float64))
        torch.autograd.grad(f.weight.sum(), f.weight_orig)
    """,
    "fusion": """
        def norm(n, **more):
            b = nn.BatchNorm2d(n, **more)
            if b.running_mean is not None:
                b.running_mean.copy_(torch.arange(float(n)) + 1)
                b.running_var.copy_(torch.arange(float(n)) + 2)
            if b.weight is not None:
                with torch.no_grad(): (b.weight.copy_(torch.arange(float(n)) + 3), b.bias.copy_(torch.arange(float(n)) + 4))
            return b.eval()
        c = nn.Conv2d(2, 3, 1).eval()
        f = utils.fusion.fuse_conv_bn_eval(c, norm(3))
        (f, f is c, f.weight, f.bias, type(f.weight).__name__, f.bias.requires_grad)
        f = utils.fusion.fuse_conv_bn_eval(nn.Conv2d(2, 3, 1, bias=False).eval(), norm(3, affine=False))
        (f.weight, f.bias, f.bias.requires_grad)
        f = utils.fusion.fuse_conv_bn_eval(nn.ConvTranspose2d(2, 3, 2).eval(), norm(3, eps=0.5), True)
        (f.weight, f.bias)
        f = utils.fusion.fuse_conv_bn_eval(nn.Conv2d(2, 3, 1).half().eval(), norm(3))
        (f.weight.dtype, f.bias.dtype)
        utils.fusion.fuse_conv_bn_eval(c.train(), norm(3))
        utils.fusion.fuse_conv_bn_eval(c.eval(), norm(3).train())
        utils.fusion.fuse_conv_bn_eval(c, norm(3, track_running_stats=False))
        utils.fusion.fuse_conv_bn_weights(torch.ones(3, 2, 1), None, torch.ones(3), torch.ones(3), 0.1, None, None)
        utils.fusion.fuse_conv_bn_weights(torch.ones(2, 3, 1), torch.ones(3), torch.zeros(3), torch.ones(3), 0.1, torch.ones(3) * 2, torch.ones(3), transpose=True)
        l = nn.Linear(2, 3).eval()
        f = utils.fusion.fuse_linear_bn_eval(l, norm(3))
        (f, f is l, f.weight, f.bias, type(f.weight).__name__)
        f = utils.fusion.fuse_linear_bn_eval(nn.Linear(2, 3, bias=False).eval(), norm(3, eps=0.3))
        (f.weight, f.bias, f.bias.requires_grad)
        f = utils.fusion.fuse_linear_bn_eval(l, norm(1))
        (f.weight, f.bias)
        utils.fusion.fuse_linear_bn_eval(l, norm(2))
        utils.fusion.fuse_linear_bn_eval(l.train(), norm(3))
        utils.fusion.fuse_linear_bn_eval(l.eval(), norm(3, track_running_stats=False))
        utils.fusion.fuse_linear_bn_weights(torch.ones(3, 2), None, torch.ones(3), torch.ones(3), 0.1, torch.ones(3) * 2, torch.ones(3))
        utils.fusion.fuse_linear_bn_weights(torch.ones(3, 2).half(), torch.ones(3).half(), torch.ones(3), torch.ones(3), 0.1, torch.ones(3) * 2, torch.ones(3))
    """,
    "memory formats": """
        m = nn.Sequential(nn.Conv2d(2, 3, 2), nn.ConvTranspose2d(2, 3, 2), nn.Linear(2, 2), nn.Conv3d(2, 2, 2), nn.ConvTranspose3d(2, 2, 2), nn.Sequential(nn.Conv2d(2, 2, 2)))
        utils.convert_conv2d_weight_memory_format(m, torch.channels_last) is m
        [p.stride() for p in m.parameters()]
        utils.convert_conv3d_weight_memory_format(m, torch.channels_last_3d) is m
        [p.stride() for p in m.parameters()]
        utils.convert_conv2d_weight_memory_format(m, torch.contiguous_format)
        [p.stride() for p in m.parameters()]
        [type(p).__name__ for p in m.parameters()]
        utils.convert_conv2d_weight_memory_format(nn.ReLU(), torch.channels_last)
    """,
    "clipping": """
        def made(*values, dtype=torch.float64):
            params = [nn.Parameter(torch.zeros(len(v), dtype=dtype)) for v in values]
            for p, v in zip(params, values): p.grad = torch.tensor(v, dtype=dtype)
            return params
        def clipped(params, *given, **more): return [utils.clip_grad_norm_(params, *given, **more), [None if p.grad is None else p.grad for p in params]]
        [clipped(made([3.0, 4.0], [12.0]), 1.3, foreach=foreach) for foreach in (None, True, False)]
        [clipped(made([3.0, 4.0], [12.0]), 1.3, 1.0, foreach=foreach) for foreach in (None, True, False)]
        [clipped(made([3.0, -4.0], [-12.0]), 6.0, float("inf"), foreach=foreach) for foreach in (None, True, False)]
        [clipped(made([3.0, -4.0], [0.0]), 6.0, 0, foreach=foreach) for foreach in (None, True, False)]
        clipped(made([3.0, 4.0]), 50.0)
        clipped(made([3e-7, 4e-7]), 1e-7)
        clipped(made([3e-6, 4e-6]), 5e-6)
        clipped(made([3.0, float("nan")]), 1.0)
        clipped(made([3.0, float("nan")]), 1.0, error_if_nonfinite=True)
        clipped(made([3.0, float("inf")]), 1.0, 2.0, True)
        clipped(made([3.0, 1.0]), 1.0, 2.0, True)
        clipped(made([3.0, 4.0]) + made([1.0], dtype=torch.float32), 1.0)
        p = made([3.0, 4.0])[0]
        utils.clip_grad_norm_(p, 1.0)
        p.grad
        utils.clip_grad_norm_(iter(made([3.0, 4.0])), 1.0)
        utils.clip_grad_norm_((x for x in ()), 1.0)
        utils.clip_grad_norm_([], 1.0)
        utils.clip_grad_norm_([nn.Parameter(torch.ones(1))], 1.0)
        utils.clip_grad_norm([p], 0.5)
        p.grad
        utils.clip_grad_norm([p], 0.25, 1.0, True, False)
        p.grad
        utils.get_total_norm([torch.tensor([3.0, 4.0]), torch.tensor([12.0])])
        utils.get_total_norm([torch.tensor([3.0, 4.0]), torch.tensor([12.0])], 1.0, foreach=False)
        utils.get_total_norm(torch.tensor([3.0, 4.0]), 3)
        utils.get_total_norm([])
        utils.get_total_norm([torch.tensor([float("inf")])], error_if_nonfinite=True)
        q = made([3.0, 4.0], [12.0]) + [nn.Parameter(torch.ones(1))]
        utils.clip_grads_with_norm_(q, 2.0, torch.tensor(8.0))
        [x.grad for x in q]
        utils.clip_grads_with_norm_(q, 2.0, torch.tensor(1.0), foreach=False)
        [x.grad for x in q]
        utils.clip_grads_with_norm_(q[0], 2.0, torch.tensor(4.0), True)
        [x.grad for x in q]
        utils.clip_grads_with_norm_([], 2.0, torch.tensor(1.0))
        utils.clip_grads_with_norm_(q, 3e-6, torch.tensor(1e-6))
        [x.grad for x in q]
        def held(params, *given, **more): utils.clip_grad_value_(params, *given, **more); return [None if p.grad is None else p.grad for p in params]
        [held(made([3.0, -4.0], [0.5]), 2, foreach=foreach) for foreach in (None, True, False)]
        held([nn.Parameter(torch.ones(1)), *made([-3.0])], 1.5)
        utils.clip_grad_value_(p, 0.01)
        p.grad
    """,
    "vectors": """
        m = nn.Linear(2, 3)
        utils.parameters_to_vector(m.parameters())
        utils.vector_to_parameters(torch.arange(9.0), m.parameters())
        (m.weight, m.bias)
        utils.vector_to_parameters(torch.arange(5.0), m.parameters())
        utils.vector_to_parameters([1.0], m.parameters())
        utils.parameters_to_vector([])
        utils.parameters_to_vector([torch.ones(2), torch.zeros(2, 2)])
    """,
    "skip init": """
        m = utils.skip_init(nn.Linear, 2, 3, bias=False, dtype=torch.float64)
        (m, m.weight.dtype, m.weight.device, m.weight.shape)
        utils.skip_init(nn.Linear, 2, 3, device="meta").weight.device
        utils.skip_init(nn.ReLU)
        utils.skip_init(int)
    """,
    "packed sequences": """
        rnn = utils.rnn
        a = [torch.arange(3.0), torch.arange(2.0) + 5, torch.arange(1.0) + 9]
        p = rnn.pack_sequence(a)
        p
        tuple(p)
        rnn.pack_sequence(a[::-1])
        q = rnn.pack_sequence(a[::-1], enforce_sorted=False)
        tuple(q)
        rnn.unpack_sequence(q)
        rnn.unpack_sequence(p)
        rnn.pad_packed_sequence(q)
        rnn.pad_packed_sequence(q, batch_first=True, padding_value=-1.0, total_length=4)
        rnn.pad_packed_sequence(q, total_length=2)
        rnn.pad_packed_sequence(q, total_length=3)
        tuple(rnn.pack_padded_sequence(torch.arange(12.0).view(3, 4), [3, 2, 2, 1]))
        tuple(rnn.pack_padded_sequence(torch.arange(12.0).view(4, 3), [1, 3, 2, 2], True, False))
        tuple(rnn.pack_padded_sequence(torch.arange(12.0).view(4, 3), torch.tensor([3, 2, 2, 1], dtype=torch.int32), batch_first=True))
        rnn.pack_padded_sequence(torch.arange(12.0).view(3, 4), [1, 2, 2, 1])
        rnn.pack_padded_sequence(torch.arange(12.0).view(3, 4), [3, 2, 2, 0])
        rnn.pack_padded_sequence(torch.arange(12.0).view(3, 4), [3, 2])
        rnn.pack_padded_sequence(torch.arange(12.0).view(3, 4), torch.tensor([2.0, 2.0, 1.0, 1.0])).batch_sizes
        rnn.pad_sequence(a)
        rnn.pad_sequence(a, True, -2.0, "left")
        rnn.pad_sequence(a, padding_side="other")
        rnn.pad_sequence(3)
        rnn.pad_sequence([])
        rnn.pad_sequence(iter(a), batch_first=True)
        rnn.pad_sequence(torch.arange(6.0).view(2, 3))
        rnn.unpad_sequence(rnn.pad_sequence(a), torch.tensor([3, 2, 1]))
        rnn.unpad_sequence(rnn.pad_sequence(a, True), torch.tensor([3, 2, 1]), True)
        rnn.unpad_sequence(rnn.pad_sequence(a, True), torch.tensor([3, 2, 1]), batch_first=True)
        rnn.invert_permutation(torch.tensor([2, 0, 1]))
        rnn.invert_permutation(None)
        [getattr(q, name)().data.dtype for name in "double float half long int short char byte".split()]
        [getattr(q, name)().sorted_indices.dtype for name in "double long".split()]
        (q.is_cuda, q.is_pinned(), q.cpu() is q, q.to("cpu") is q, q.float() is q)
        tuple(q.to(torch.float64))
        tuple(q.to("cpu", torch.float64, non_blocking=True))
        tuple(q.cpu(torch.float64))
        (q.to(device="meta").data.device, q.to(device="meta").sorted_indices.device, q.to(device="meta").batch_sizes.device, p.to("meta").unsorted_indices)
        rnn.PackedSequence(torch.arange(3.0), torch.tensor([2, 1]))
        rnn.PackedSequence((torch.arange(3.0), torch.tensor([2, 1])))
        rnn.PackedSequence(torch.arange(3.0), torch.tensor([2, 1]), torch.tensor([1, 0]))
        rnn.PackedSequence(torch.arange(3.0), torch.tensor([2, 1]), None, torch.tensor([1, 0]))
        rnn.PackedSequence(torch.arange(3.0), torch.empty(2, device="meta"))
        rnn.PackedSequence(torch.arange(3.0))
        rnn.PackedSequence([torch.arange(3.0)])
        (rnn.PackedSequence_._fields, rnn.PackedSequence_(1, 2))
        import pickle, copy
        tuple(copy.deepcopy(q))
    """,
    "recurrent layers on packed sequences": """
        rnn = utils.rnn
        def packed(order, n=2): return rnn.pack_sequence([torch.arange(float(k * n)).view(k, n).sin() for k in order], enforce_sorted=False)
        def flat(out): return [tuple(each) if isinstance(each, tuple) else each for each in out]
        kinds = [nn.LSTM(2, 3, 2, bidirectional=True, proj_size=1), nn.LSTM(2, 3), nn.GRU(2, 3, 2, bidirectional=True), nn.GRU(2, 3), nn.RNN(2, 3, nonlinearity="relu"), nn.RNN(2, 3, 2, bidirectional=True)]
        [flat(m(packed([1, 3, 2]))) for m in kinds]
        kinds[1](packed([1, 3, 2]), (torch.arange(9.0).view(1, 3, 3), torch.arange(9.0).view(1, 3, 3).cos()))
        kinds[3](packed([1, 3, 2]), torch.arange(9.0).view(1, 3, 3))
        kinds[4](packed([1, 3, 2]), torch.arange(9.0).view(1, 3, 3))
        kinds[3](packed([1, 3, 2]), torch.ones(2, 3, 3))
        kinds[3](packed([1, 3], 3))
        kinds[1](rnn.pack_sequence([torch.ones(2, 2), torch.ones(1, 2)]))
        m = nn.LSTM(2, 3, 2, dropout=0.5)
        flat(m(packed([1, 3])))
        flat(m.eval()(packed([1, 3])))
        flat(nn.GRU(2, 3, 2, dropout=0.5)(packed([1, 3])))
        [[w.shape for w in layer] for layer in kinds[0].all_weights]
        (kinds[0]._all_weights, kinds[1]._flat_weights_names)
        m = kinds[1]
        (m.permute_hidden((torch.arange(3.0).view(1, 3, 1), torch.arange(3.0).view(1, 3, 1)), torch.tensor([2, 0, 1])), m.permute_hidden(3, None))
        kinds[3].permute_hidden(torch.arange(3.0).view(1, 3, 1), torch.tensor([2, 0, 1]))
        m.get_expected_hidden_size(torch.ones(4, 2, 2), None)
        m.get_expected_hidden_size(torch.ones(4, 2), torch.tensor([3, 1]))
        kinds[0].get_expected_cell_size(torch.ones(4, 2, 2), None)
        kinds[0].get_expected_hidden_size(torch.ones(4, 2, 2), None)
        m.check_input(torch.ones(4, 2), None)
        m.check_input(torch.ones(4, 2, 3), None)
        m.check_input(torch.ones(4, 2, 2, dtype=torch.float64), None)
        m.check_input(torch.ones(4, 2), torch.tensor([4]))
        m.check_input(torch.ones(4, 2, 2), torch.tensor([4]))
        m.check_hidden_size(torch.ones(1, 2, 3), (1, 2, 4))
        m.check_hidden_size(torch.ones(1, 2, 3), (1, 2, 4), "{} but {}")
        m.check_hidden_size(torch.ones(1, 2, 3), (1, 2, 3))
        import copy, pickle
        n = copy.deepcopy(m)
        (n.weight_ih_l0 is n._flat_weights[0], n.weight_ih_l0 is m.weight_ih_l0)
        n.weight_ih_l0 = nn.Parameter(torch.zeros(12, 2))
        (n._flat_weights[0] is n.weight_ih_l0, n(torch.ones(1, 1, 2))[0])
        n.double()
        (n._flat_weights[0].dtype, n._flat_weights[0] is n.weight_ih_l0)
        o = pickle.loads(pickle.dumps(m))
        (o._flat_weights[1] is o.weight_hh_l0, o(torch.ones(1, 1, 2))[0])
        s = dict(m.__dict__)
        del s["proj_size"]
        t = nn.LSTM.__new__(nn.LSTM)
        t.__setstate__(s)
        (t.proj_size, t)
        nn.LSTM(2, 3)
        nn.RNN(2, 3, 1, "relu").nonlinearity
        nn.RNN(2, 3, 2, nonlinearity="relu").mode
        nn.RNN(2, 3).flatten_parameters()
        nn.GRU(1, 2, bias=False).all_weights[0][0].shape
        nn.LSTM(2, 3, 2).extra_repr()
        [p.shape for p in nn.LSTM(2, 4, 2, bidirectional=True, proj_size=3).parameters()]
        [n for n, _ in nn.LSTM(2, 4, 2, bidirectional=True, proj_size=3).named_parameters()]
    """,
    "lazy modules": """
        m = nn.LazyLinear(3)
        (m, repr(m.weight), repr(m.bias), m.in_features, m.has_uninitialized_params(), type(m.weight).__name__)
        m.weight.shape
        m.weight + 1
        m.weight.share_memory_()
        (m.weight.dtype, m.weight.device, m.weight.requires_grad, m.weight.is_floating_point())
        import copy, pickle
        n = copy.deepcopy(m)
        (n, n.weight is m.weight, type(n.weight).__name__)
        o = pickle.loads(pickle.dumps(m))
        (o, type(o.weight).__name__, o.weight.requires_grad)
        m.double()
        (m.weight.dtype, type(m.weight).__name__)
        [type(t).__name__ for t in m.state_dict().values()]
        m.load_state_dict({"weight": torch.ones(3, 2, dtype=torch.float64), "bias": torch.ones(3, dtype=torch.float64)})
        (m, m.weight, m.has_uninitialized_params(), type(m.weight).__name__)
        m(torch.ones(1, 2, dtype=torch.float64))
        (m, type(m).__name__, hasattr(m, "_load_hook"), hasattr(m, "_initialize_hook"))
        n.load_state_dict(o.state_dict())
        n
        n.load_state_dict(nn.Linear(4, 3).state_dict())
        (n.weight.shape, n)
        nn.Linear(2, 3).load_state_dict(o.state_dict())
        o.load_state_dict({"weight": torch.ones(3, 2)}, strict=False)
        (o.weight.shape, type(o.bias).__name__)
        o._replicate_for_data_parallel()
        class Lazy(nn.modules.lazy.LazyModuleMixin, nn.Module):
            def __init__(self):
                super().__init__()
                self.p = nn.UninitializedParameter()
                self.register_buffer("b", nn.UninitializedBuffer())
            def forward(self, x): return x
        l = Lazy()
        l(torch.ones(1))
        l.has_uninitialized_params()
        [type(t).__name__ for t in l.state_dict().values()]
        [type(t).__name__ for t in l.state_dict(keep_vars=True).values()]
        l.initialize_parameters = lambda x: None
        l(torch.ones(1))
        l.initialize_parameters = lambda x: (l.p.materialize((2, 3)), l.b.materialize(x.shape, dtype=torch.float64))
        l(torch.ones(4))
        (l.p.shape, l.b.dtype, l.b.shape, type(l.p).__name__, type(l.b).__name__, type(l).__name__)
        u = nn.UninitializedParameter(requires_grad=False, device="meta", dtype=torch.float16)
        (repr(u), u.requires_grad, u.device, u.dtype, nn.parameter.is_lazy(u), nn.parameter.is_lazy(nn.Parameter()))
        u.materialize((2,))
        (u.shape, u.dtype, u.device, type(u).__name__)
        u = nn.UninitializedParameter()
        u.materialize((2,), "cpu", torch.float64)
        (u.shape, u.dtype, u.device, u.requires_grad)
        b = nn.UninitializedBuffer(dtype=torch.int64, persistent=False)
        (repr(b), b.persistent, b.requires_grad, isinstance(b, nn.Buffer))
        b.materialize((1, 2))
        (b.shape, b.dtype, type(b).__name__)
        memo = {}
        u = nn.UninitializedParameter(requires_grad=False)
        v = copy.deepcopy([u, u])
        (v[0] is v[1], v[0] is u, v[0].requires_grad)
        c = nn.LazyConv2d(4, 3, padding=1)
        (c, c.in_channels, c.cls_to_become.__name__)
        c(torch.ones(1, 2, 3, 3)).shape
        (c, type(c).__name__)
        d = nn.LazyBatchNorm1d()
        (d, type(d.running_mean).__name__, d.num_features)
        d(torch.ones(3, 2))
        (d, d.running_mean, d.num_batches_tracked)
        nn.LazyLinear(2)(torch.ones(3, 4)).shape
        s = nn.Sequential(nn.LazyLinear(2), nn.LazyLinear(3, bias=False))
        s
        s(torch.ones(1, 4)).shape
        s
    """,
    "parameters and buffers": """
        p = nn.Parameter(torch.ones(2))
        (p, p.requires_grad, nn.Parameter(torch.ones(1), False), nn.Parameter())
        (isinstance(p, nn.Parameter), isinstance(p, nn.Buffer), isinstance(torch.ones(1), nn.Parameter))
        b = nn.Buffer(torch.ones(2), persistent=False)
        (b, type(b).__name__, b.persistent, nn.Buffer(torch.ones(1)).persistent, isinstance(b, nn.Buffer), isinstance(torch.ones(1), nn.Buffer))
        nn.Parameter(torch.ones(2, dtype=torch.int64))
        nn.Parameter(torch.ones(2, dtype=torch.int64), requires_grad=False)
        import copy, pickle
        q = copy.deepcopy(p)
        (q, q is p, type(q).__name__)
        memo = {}
        (copy.deepcopy(p, memo) is copy.deepcopy(p, memo))
        q = pickle.loads(pickle.dumps(nn.Parameter(torch.ones(1), False)))
        (q, q.requires_grad)
        p.extra = 3
        pickle.loads(pickle.dumps(p)).extra
        type(p + 1).__name__
        type(p.detach()).__name__
        type(p.data).__name__
        class Kind(torch.Tensor): pass
        k = nn.Parameter(torch.ones(2).as_subclass(Kind))
        (type(k).__name__, isinstance(k, nn.Parameter), k.requires_grad, isinstance(k, nn.Buffer))
        m = nn.Module()
        m.k = k
        list(dict(m.named_parameters()))
        nn.Buffer(torch.ones(1, requires_grad=True)).requires_grad
        m.b = b
        (list(m.state_dict()), [n for n, _ in m.named_buffers()])
        m.c = nn.Buffer(torch.zeros(1))
        (list(m.state_dict()), m._non_persistent_buffers_set)
        m.b = nn.Buffer(torch.ones(1))
        list(m.state_dict())
    """,
    "named members": """
        accessor = importlib.import_module(nn.__name__ + ".utils._named_member_accessor")
        m = nn.Sequential(nn.Linear(2, 1), nn.Sequential(nn.BatchNorm1d(1)))
        m.plain = torch.ones(1)
        m.none = None
        m.number = 3
        a = accessor.NamedMemberAccessor(m)
        (a.get_submodule("") is m, a.get_submodule("1.0"), a.get_submodule("1.0") is a.get_submodule("1.0"), list(a.memo))
        a.get_submodule("1.3")
        a.get_submodule("0.weight")
        a.get_submodule("nope")
        (a.get_tensor("0.bias"), a.get_tensor("plain"), a.get_tensor("none"))
        a.get_tensor("number")
        a.get_tensor("nope")
        a.get_tensor("0.nope")
        a.get_tensors(["0.bias", "plain"])
        a.set_tensor("0.bias", torch.zeros(1))
        (type(m[0].bias).__name__, m[0]._parameters["bias"])
        a.set_tensor("1.0.running_mean", None)
        m[1][0]._buffers["running_mean"]
        a.set_tensor("plain", torch.zeros(2))
        m.plain
        a.set_tensor("plain", 3)
        a.set_tensors(["plain", "none"], [torch.zeros(3), torch.ones(1)])
        (m.plain, m.none)
        a.set_tensors(["plain"], [])
        a.set_tensors_dict({"plain": torch.zeros(4), "0.bias": None})
        (m.plain, m[0].bias)
        a.del_tensor("plain")
        hasattr(m, "plain")
        a.del_tensor("plain")
        a.del_tensor("0.nope")
        a.del_tensors(["none", "1.0.running_var"])
        (hasattr(m, "none"), list(m[1][0]._buffers))
        a.swap_tensor("0.weight", torch.ones(1, 2))
        m[0]._parameters["weight"]
        a.swap_tensor("other", torch.ones(1))
        a.swap_tensor("other", torch.ones(1), allow_missing=True) is accessor._MISSING
        m.other
        a.swap_tensor("other", accessor._MISSING)
        hasattr(m, "other")
        a.swap_tensor("number", torch.ones(1))
        a.swap_tensor("0.weight", 3)
        a.swap_tensor("0.weight", accessor._MISSING)
        list(m[0]._parameters)
        a.swap_tensor("0.bias", None)
        a.swap_tensor("0.weight", torch.ones(1), True) is accessor._MISSING
        (m[0].weight, list(m[0]._parameters))
        a.swap_tensors(["0.weight", "new"], [torch.zeros(1), torch.ones(2)])
        a.swap_tensors(["0.weight", "new"], [torch.zeros(1), torch.ones(2)], allow_missing=True)[0]
        m.new
        a.swap_tensors_dict({"0.weight": torch.full((1,), 3.0), "new": torch.zeros(1)})
        a.swap_tensors_dict({"0.weight": torch.full((1,), 4.0), "newer": torch.zeros(1)})
        (m[0].weight, hasattr(m, "newer"))
        a.swap_tensors_dict({"0.weight": torch.full((1,), 4.0), "newer": torch.zeros(1)}, allow_missing=True)[1]
        (m[0].weight, m.newer)
        a.swap_tensors_dict({"0.weight": torch.full((1,), 5.0), "number": torch.zeros(1)})
        m[0].weight
        n = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
        n.add_module("again", n[0])
        c = accessor.NamedMemberAccessor(n)
        c.check_keys(["0.weight", "0.bias", "x", "again.weight", "a"])
        ([k for k, _ in c.named_parameters()], [k for k, _ in c.named_parameters(False)], [k for k, _ in c.named_buffers()], [k for k, _ in c.named_tensors()], [k for k, _ in c.named_tensors(remove_duplicate=False)])
        ([k for k, _ in c.named_modules()], [k for k, _ in c.named_modules(False)])
        n[1].register_buffer("twin", n[1].running_mean)
        ([k for k, _ in c.named_buffers()], [k for k, _ in c.named_buffers(False)])
        c.swap_submodule("1", nn.ReLU())
        n
        c.swap_submodule("7", nn.ReLU())
        c.swap_submodule("1", 3)
        accessor.swap_submodule(3, "1", nn.ReLU())
        accessor.swap_submodule(n, "1.a", nn.ReLU())
        accessor.swap_submodule(n, "", nn.ReLU())
        n._modules["x"] = None
        accessor.swap_submodule(n, "x", nn.ReLU())
        accessor.set_tensor(3, "a", torch.ones(1))
        accessor.set_tensor(n, "a", 3)
        accessor.set_tensor(n, "a.b", torch.ones(1))
        accessor.set_tensor(n, "", torch.ones(1))
        accessor.set_tensor(n, "a", torch.ones(1))
        n.a
        accessor.swap_tensor(3, "a", torch.ones(1))
        accessor.swap_tensor(n, "a", 3)
        accessor.swap_tensor(n, "a.b", torch.ones(1))
        accessor.swap_tensor(n, "", torch.ones(1))
        accessor.swap_tensor(n, "a", None)
        n.a
        accessor.swap_tensor(n, "b", None)
    """,
    "functional call": """
        call = utils.stateless.functional_call
        m = nn.Linear(2, 1)
        before = m.weight
        call(m, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.ones(1, 2))
        (m.weight is before, type(m.weight).__name__)
        call(m, {"weight": torch.ones(1, 2)}, (torch.ones(1, 2),))
        call(m, {"weight": torch.ones(1, 2)}, kwargs={"input": torch.ones(1, 2)})
        call(m, {"weight": torch.ones(1, 2)}, None, {"input": torch.ones(1, 2)}, strict=True)
        call(m, {"weight": torch.ones(1, 2), "bias": torch.ones(1), "x": torch.ones(1), "y": torch.ones(1)}, torch.ones(1, 2), strict=True)
        call(m, {"x": torch.ones(1)}, torch.ones(1, 2), strict=True)
        hasattr(m, "x")
        call(m, {"nope.weight": torch.ones(1, 2)}, torch.ones(1, 2))
        call(m, {"weight": 3}, torch.ones(1, 2))
        m.weight is before
        t = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
        t[1].weight = t[0].weight
        call(t, {"0.weight": torch.ones(2, 2)}, torch.ones(1, 2))
        call(t, {"1.weight": torch.ones(2, 2)}, torch.ones(1, 2), tie_weights=True)
        call(t, {"0.weight": torch.ones(2, 2)}, torch.ones(1, 2), tie_weights=False).shape
        call(t, {"0.weight": torch.ones(2, 2), "1.weight": torch.zeros(2, 2)}, torch.ones(1, 2))
        call(t, {"0.weight": torch.ones(2, 2), "1.weight": torch.zeros(2, 2)}, torch.ones(1, 2), tie_weights=False)
        w = torch.ones(2, 2)
        call(t, {"0.weight": w, "1.weight": w}, torch.ones(1, 2))
        call(t, {"0.weight": w}, torch.ones(1, 2), strict=True)
        b = nn.BatchNorm1d(2)
        given = {"running_mean": torch.zeros(2), "num_batches_tracked": torch.tensor(4)}
        call(b, given, torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
        (given, b.running_mean, b.num_batches_tracked)
        torch.func.functional_call(m, [{"weight": torch.ones(1, 2)}, {"bias": torch.zeros(1)}], torch.ones(1, 2))
        class Grows(nn.Module):
            def __init__(self): super().__init__(); self.p = nn.Parameter(torch.ones(1))
            def forward(self): self.p = nn.Parameter(self.p * 3); return self.p
        g = Grows()
        given = {"p": nn.Parameter(torch.full((1,), 2.0))}
        call(g, given)
        (given["p"], g.p)
    """,
    "prefixes of state dicts": """
        consume = nn.modules.utils.consume_prefix_in_state_dict_if_present
        from collections import OrderedDict
        s = nn.Sequential(nn.Linear(1, 1), nn.ReLU()).state_dict(prefix="module.")
        list(s)
        consume(s, "module.")
        (list(s), list(s._metadata.items()))
        s = OrderedDict([("module.a", 1), ("b", 2), ("c.module.d", 3)])
        consume(s, "module.")
        list(s.items())
        s._metadata = OrderedDict([("", {"version": 1}), ("module", {"version": 2}), ("module.x", {}), ("modulex", {}), ("y", {})])
        consume(s, "module.")
        list(s._metadata.items())
        s._metadata = OrderedDict([("module.", {"version": 3}), ("z", {})])
        consume(s, "module.")
        list(s._metadata.items())
    """,
    "batch norms of older files": """
        b = nn.BatchNorm1d(2)
        (b.state_dict()._metadata, b._version)
        s = b.state_dict()
        s["running_mean"] += 3
        del s["num_batches_tracked"]
        b.load_state_dict(s)
        s._metadata[""]["version"] = 1
        b.load_state_dict(s)
        (b.running_mean, b.num_batches_tracked)
        b.num_batches_tracked += 5
        b.load_state_dict(s)
        b.num_batches_tracked
        del s._metadata
        b.load_state_dict(s)
        c = nn.BatchNorm1d(2, track_running_stats=False)
        c.load_state_dict({"weight": torch.ones(2), "bias": torch.zeros(2)})
        d = nn.BatchNorm1d(2, device="meta")
        s = nn.BatchNorm1d(2).state_dict()
        del s["num_batches_tracked"]
        s._metadata[""]["version"] = 1
        d.load_state_dict(s, assign=True)
        d.num_batches_tracked
        i = nn.InstanceNorm1d(2)
        i.load_state_dict({"running_mean": torch.ones(2), "running_var": torch.ones(2)})
        i.state_dict()._metadata
        s = i.state_dict()
        s["running_mean"] = torch.ones(2)
        i.load_state_dict(s)
        s._metadata[""]["version"] = 1
        i.load_state_dict(s)
        s["running_var"] = torch.ones(2)
        i.load_state_dict(s)
        i.load_state_dict({"x": torch.ones(1)})
        j = nn.InstanceNorm1d(2, track_running_stats=True)
        s = j.state_dict()
        j.load_state_dict(s)
        s._metadata[""]["version"] = 1
        j.load_state_dict(s)
        (j.num_batches_tracked, list(j.state_dict()))
        n = nn.Sequential(nn.InstanceNorm1d(2))
        n.load_state_dict({"0.running_mean": torch.ones(2), "0.running_var": torch.ones(2)})
        b.reset_running_stats()
        (b.running_mean, b.running_var, b.num_batches_tracked)
        with torch.no_grad(): (b.weight.fill_(3), b.bias.fill_(3), b.running_mean.fill_(3))
        b.reset_parameters()
        (b.weight, b.bias, b.running_mean)
        c.reset_running_stats()
        c.reset_parameters()
        m = nn.BatchNorm1d(2, momentum=None)
        for _ in range(3): y = m(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
        (m.running_mean, m.running_var, m.num_batches_tracked)
        m = nn.BatchNorm1d(2, momentum=0.5)
        for _ in range(3): y = m(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
        (m.running_mean, m.running_var, m.num_batches_tracked)
        m.num_batches_tracked = None
        m(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
        e = nn.BatchNorm1d(2, track_running_stats=False).eval()
        e(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
    """,
    "synchronised batch norm": """
        m = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2, eps=0.1, momentum=0.3), nn.Sequential(nn.BatchNorm1d(3, affine=False), nn.BatchNorm3d(2, track_running_stats=False)))
        m[1].running_mean.fill_(4)
        m[1].qconfig = 3
        s = nn.SyncBatchNorm.convert_sync_batchnorm(m.eval())
        s
        (s is m, s[1].weight is m[1].weight, s[1].running_mean, s[1].num_batches_tracked, s[1].training, s[1].qconfig, s[1].process_group, s[1].momentum, s[1].eps)
        (s[2][0].weight, s[2][1].running_mean)
        b = nn.BatchNorm2d(2)
        c = nn.SyncBatchNorm.convert_sync_batchnorm(b, "group")
        (type(c).__name__, c.process_group, c.weight is b.weight, c.training, hasattr(c, "qconfig"), c.running_var is b.running_var)
        nn.SyncBatchNorm.convert_sync_batchnorm(nn.ReLU())
        nn.SyncBatchNorm(2)._check_input_dim(torch.ones(1))
        nn.SyncBatchNorm(2)._check_input_dim(torch.ones(1, 2))
        nn.SyncBatchNorm(2)._check_non_zero_input_channels(torch.ones(1, 0))
        nn.SyncBatchNorm(2)._check_non_zero_input_channels(torch.ones(0, 2))
        nn.SyncBatchNorm(2).train()(torch.ones(2, 2))
        nn.SyncBatchNorm(2, affine=False).eval()(torch.ones(2, 2))
        nn.SyncBatchNorm(2, track_running_stats=False, affine=False).eval()(torch.arange(4.0).view(2, 2))
        nn.SyncBatchNorm(2, momentum=None, process_group=5).process_group
    """,
    "gradients of convolutions": """
        g = nn.grad
        def both(n, **more):
            conv = getattr(F, f"conv{n}d")
            a, w = x(2, 4, *(5, 6, 4)[:n]), x(6, 4 // more.get("groups", 1), *(2, 3, 2)[:n])
            y = conv(a, w, **more)
            up = torch.arange(float(y.numel()), dtype=torch.float64).cos().view(y.shape)
            by_input = getattr(g, f"conv{n}d_input")(a.shape, w.detach(), up, **more)
            by_weight = getattr(g, f"conv{n}d_weight")(a.detach(), w.shape, up, **more)
            return [by_input, by_weight, *torch.autograd.grad(y, (a, w), up)]
        [both(n) for n in (1, 2, 3)]
        [both(n, stride=2, padding=1) for n in (1, 2, 3)]
        [both(n, dilation=2, padding=2, groups=2) for n in (1, 2, 3)]
        g.conv2d_input((1, 1, 3, 3), torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2), 1, 0, 1, 1)
        g.conv2d_weight(torch.ones(1, 1, 3, 3), (1, 1, 2, 2), torch.ones(1, 1, 2, 2), 1, 0, 1, 1)
        g.conv1d_input((1, 1, 3), torch.ones(1, 1, 2), torch.ones(1, 1, 2), 1, 0, 1, 1)
        g.conv3d_weight(torch.ones(1, 1, 3, 3, 3), (1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2), 1, 0, 1, 1)
    """,
    "factory keywords": """
        nn.factory_kwargs(None)
        nn.factory_kwargs({})
        nn.factory_kwargs({"device": "cpu"})
        sorted(nn.factory_kwargs({"dtype": torch.float64, "device": "meta"}).items(), key=lambda item: item[0])
        nn.factory_kwargs({"memory_format": torch.contiguous_format})
        nn.factory_kwargs({"factory_kwargs": {"device": "cpu"}})
        nn.factory_kwargs({"factory_kwargs": {"device": "cpu"}, "dtype": torch.float64})
        nn.factory_kwargs({"factory_kwargs": {"device": "cpu"}, "device": "meta"})
        nn.factory_kwargs({"factory_kwargs": {"x": "cpu"}})
        nn.factory_kwargs({"x": 3})
        nn.factory_kwargs({"x": 3, "device": "cpu"})
    """,
    "reductions": """
        r = nn._reduction
        [r.get_enum(name) for name in ("none", "mean", "sum", "elementwise_mean")]
        r.get_enum("other")
        r.get_enum(3)
        [[r.legacy_get_string(a, b) for a in (None, True, False)] for b in (None, True, False)]
        [[r.legacy_get_enum(a, b) for a in (None, True, False)] for b in (None, True, False)]
        r.legacy_get_string(True, False, emit_warning=False)
        r.legacy_get_enum(False, True, emit_warning=False)
        r.legacy_get_enum(False, True, False)
    """,
}


def _part(name: str) -> Any:
    return lambda torch: importlib.import_module(f"{torch.__name__}.nn.{name}")


PARTS: dict[str, Any] = {
    "utils": _part("utils"),
    "prune": _part("utils.prune"),
    "parametrize": _part("utils.parametrize"),
    "parametrizations": _part("utils.parametrizations"),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions(name: str) -> None:
    check_session(SESSIONS[name], 1e-5, 1e-6, importlib=lambda _: importlib, **PARTS)
