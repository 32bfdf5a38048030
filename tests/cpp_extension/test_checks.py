"""checks.cpp: what C++ code sees of tensors, and what Python sees of C++ code. Expected values are PyTorch 2.13's."""

import pickle

import pytest

CHECKS = "metadata elements operators generated_outs kernels_of_gpus indexing scalars containers errors bits threads autograd dispatcher".split()


@pytest.mark.parametrize("name", CHECKS)
def test_cpp_api(built, name):
    getattr(built.module, f"check_{name}")()


def test_functions_of_the_module(built):
    torch, module = built.torch, built.module
    a, b = torch.arange(4.0), torch.full((4,), 2.0)
    assert module.muladd(a, b).tolist() == [1, 3, 5, 7]
    assert module.muladd(a, b=b, c=0.5).tolist() == [0.5, 2.5, 4.5, 6.5]
    assert module.optional(a) is True and module.optional(None) is False
    assert module.undefined() is None
    assert module.list([a, b]).shape == (8,)
    same, size = module.tuple(a)
    assert same is a and size == 4
    assert module.device(torch.device("cpu")) == torch.device("cpu")
    assert module.dtype(torch.float16) is torch.float16
    assert module.ints([2, 3]).shape == (2, 3)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        module.muladd(1, b)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        module.device("cpu")


def test_generators_are_shared_with_python(built):
    torch = built.torch
    expected = torch.rand(2, generator=torch.Generator().manual_seed(3))
    assert torch.equal(built.module.seeded(torch.Generator().manual_seed(3)), expected)


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [(0, IndexError, "index"), (1, ValueError, "value"), (2, RuntimeError, "runtime"), (3, ValueError, "standard")],
)
def test_exceptions_of_functions(built, kind, error, text):
    with pytest.raises(error, match=text):
        built.module.raises(kind)


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        (0, IndexError, "index failed"),
        (1, ValueError, "value failed"),
        (2, TypeError, "type failed"),
        (3, NotImplementedError, "not implemented failed"),
        (4, RuntimeError, "a plain error"),
        (5, RuntimeError, "The size of tensor a"),
    ],
)
def test_exceptions_of_operators(built, kind, error, text):
    with pytest.raises(error, match=text):
        built.torch.ops.checks.fails(built.torch.ones(3), kind)


def test_operators(built):
    torch = built.torch
    ops = torch.ops.checks
    a, b = torch.arange(4.0), torch.full((4,), 2.0)
    assert ops.muladd(a, b, 1.0).tolist() == [1, 3, 5, 7]
    assert ops.muladd(a.double(), b.double(), 1).dtype == torch.float64
    with pytest.raises(RuntimeError, match=r"muladd: sizes differ, \[4\] and \[3\]"):
        ops.muladd(a, torch.ones(3), 1.0)
    with pytest.raises(NotImplementedError, match="\"muladd\" not implemented for 'Int'"):
        ops.muladd(a.int(), b.int(), 1.0)
    out = torch.zeros(4)
    before = out._version
    assert ops.add_out(a, b, out) is None
    assert out.tolist() == [2, 3, 4, 5] and out._version == before + 1
    first, second = ops.halves(a)
    assert first.tolist() == [0] and second.tolist() == [1]
    assert [p.tolist() for p in ops.pieces([a, b], 2)] == [[0, 1], [2, 3], [2, 2], [2, 2]]
    assert ops.boxed(a).tolist() == [0, 2, 4, 6]
    assert ops.texts(["x", "y"], {"x": 1, "y": 2}) == ["x", "y", "y"]
    assert torch.ops.checks_old.triple(a).tolist() == [0, 3, 6, 9]


def test_arguments_of_all_kinds(built):
    torch = built.torch
    text = torch.ops.checks.describe(
        torch.ones(3), None, 7, 2.5, True, "text", [1, 2], [0.5], None, torch.float16, torch.device("cpu"), 4
    )
    assert text == "3 0 7 2.5 1 text [1, 2] 1 0 Half cpu 4"


def test_schemas(built):
    ops = built.torch.ops
    assert str(ops.checks.muladd.default._schema) == "checks::muladd(Tensor a, Tensor b, float c) -> Tensor"
    assert str(ops.checks.scale.default._schema) == "checks::scale(Tensor _0, float _1, Tensor _2) -> Tensor _0"
    assert str(ops.checks.two_outputs.default._schema) == "checks::two_outputs(Tensor _0) -> Tensor[] _0"
    assert str(ops.checks.texts.default._schema) == "checks::texts(str[] _0, Dict(str, int) _1) -> str[] _0"
    assert str(ops.checks_old.triple.default._schema) == "checks_old::triple(Tensor _0) -> Tensor _0"


def test_autograd_functions(built):
    torch = built.torch
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 5.0], requires_grad=True)
    y = torch.ops.checks.scale(x, 2.0, w)
    assert "grad_fn=<CppNode<Scale>>" in repr(y)
    y.sum().backward()
    assert x.grad.tolist() == [6, 10] and w.grad.tolist() == [2, 4]
    assert torch.autograd.gradcheck(
        lambda x, w: torch.ops.checks.scale(x, 2.0, w),
        (x.detach().double().requires_grad_(), w.detach().double().requires_grad_()),
    )
    with pytest.raises(RuntimeError, match=r"cannot use C\+\+ torch::autograd::Function with functorch transforms"):
        torch.func.grad(lambda x: torch.ops.checks.scale(x, 2.0, w).sum())(torch.ones(2))
    doubled, index = torch.ops.checks.two_outputs(x)
    assert doubled.requires_grad and not index.requires_grad
    doubled.sum().backward()
    assert x.grad.tolist() == [8, 12]
    with pytest.raises(RuntimeError, match=r"returned an incorrect number of gradients \(expected 1, got 2\)"):
        torch.ops.checks.wrong_count(x).sum().backward()
    assert not torch.ops.checks.scale(x.detach(), 2.0, w.detach()).requires_grad


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_slices_of_vmap_reach_autograd_functions(built):
    torch = built.torch
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    w = torch.tensor([3.0, 5.0], requires_grad=True)
    y = torch.func.vmap(lambda row: torch.ops.checks.scale(row, 2.0, w).sum())(x)
    assert y.tolist() == [26, 58]
    y.sum().backward()
    assert x.grad.tolist() == [[6, 10], [6, 10]] and w.grad.tolist() == [8, 12]
    both = torch.func.vmap(torch.func.vmap(lambda a, b: torch.ops.checks.scale(a, 2.0, b)), in_dims=(0, None))(x, w)
    assert both.tolist() == [[6, 20], [18, 40]] and both.requires_grad
    with pytest.raises(RuntimeError, match=r"cannot use C\+\+ torch::autograd::Function with functorch transforms"):
        torch.func.vmap(torch.func.grad(lambda row: torch.ops.checks.scale(row, 2.0, w).sum()))(x)


def test_a_kernel_for_autograd(built):
    torch = built.torch
    x = torch.ones(2, requires_grad=True)
    assert torch.ops.checks.traced(x, x, 1.0).tolist() == [102, 102]  # it calls the kernel below with c + 100
    assert torch.ops.checks.traced(x.detach(), x.detach(), 1.0).tolist() == [102, 102]


def test_the_registry_is_pythons(built):
    torch = built.torch
    name, op = "checks::muladd", torch.ops.checks.muladd.default
    torch.library.register_fake(name)(lambda a, b, c: torch.empty_like(a))
    torch.library.register_autograd(
        name,
        lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0], None),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[:2]),
    )
    a, b = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    assert set(torch.library.opcheck(op, (a, b, 1.5)).values()) == {"SUCCESS"}
    op(a, b, 1.5).sum().backward()
    assert torch.equal(a.grad, b.detach())
    assert op(a.to("meta"), b.to("meta"), 1.0).device.type == "meta"
    compiled = torch.compile(lambda a, b: torch.ops.checks.muladd(a, b, 1.0) * 2, backend="eager", fullgraph=True)
    assert torch.equal(compiled(a, b), (a * b + 1) * 2)


def test_custom_classes(built):
    torch = built.torch
    counter = torch.classes.checks.Counter(3)
    assert counter.add(4) == 7
    assert counter.times(torch.ones(2)).tolist() == [7, 7]
    assert counter.twice().add(0) == 14
    assert torch.ops.checks.read_counter(counter) == 7
    again = pickle.loads(pickle.dumps(counter)) if built.torch.__name__ != "torch" else counter
    assert torch.ops.checks.read_counter(again) == 7
    with pytest.raises(RuntimeError):
        torch.classes.checks.Counter("text")
    with pytest.raises(RuntimeError, match="does not exist"):
        torch.classes.checks.Nothing()


def test_tuples_of_one(built):
    """A method gives its tuple whole; an operator gives the parts, and the one part of a tuple of one by itself."""
    torch = built.torch
    counter = torch.classes.checks.Counter(3)
    assert counter.state() == (("count", 3),)
    assert counter.pair() == (3, -3)
    assert torch.ops.checks.one_pair(2) == (2, "a")
    assert torch.ops.checks.one_pair_inferred(2) == (2, "a")
    assert str(torch.ops.checks.one_pair_inferred.default._schema).endswith("-> ((int, str) _0)")


def test_objects_in_exported_programs(built):
    """An object of a module is a constant of the program, one that is given an input, in whose place another of its class may stand."""
    torch = built.torch
    if built.torch.__name__ == "torch":
        pytest.skip("PyTorch asks for a class in Python that stands for the one in C++")
    Counter = torch.classes.checks.Counter

    class Held(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.counter = Counter(3)

        def forward(self, x):
            return self.counter.times(x) + 1

    class Given(torch.nn.Module):
        def forward(self, x, counter):
            return counter.times(x) + 1

    x = torch.ones(2)
    program = torch.export.export(Held(), (x,))
    assert [(spec.kind.name, spec.arg.name) for spec in program.graph_signature.input_specs] == [
        ("CUSTOM_OBJ", "obj_counter"),
        ("USER_INPUT", "x"),
    ]
    for each in (program, program.run_decompositions()):
        assert each.module()(x).tolist() == [4, 4]
    program = torch.export.export(Given(), (x, Counter(3)))
    assert program.graph_signature.input_specs[1].arg.class_fqn == "__torch__.torch.classes.checks.Counter"
    assert program.module()(x, Counter(5)).tolist() == [6, 6]
    with pytest.raises(AssertionError, match=r"type\(counter\) == Counter"):
        program.module()(x, 5)
    assert Counter(1)._type().name() == "Counter"
    assert Counter(1)._has_method("times") and not Counter(1)._has_method("nothing")


def test_the_schema_and_the_function_must_agree(built):
    """A kernel is entered only with what it takes."""
    torch = built.torch
    with pytest.raises(RuntimeError):
        torch.ops.checks.muladd("text", torch.ones(1), 1.0)
