"""Behaviours of torch.library, case by case as PyTorch 2.13 was seen to have them."""

import contextlib
import re
from typing import List

import pytest
from behaviours import RECORDED, Cases, namespace

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
from mindtorch_v2.library import custom_op

CASES = Cases()
case = CASES.case

# Cases that differ on purpose or need what is not here, and why.
ELSEWHERE = {
    "custom_op name a::b::c": "PyTorch's text is that of Python's unpacking; ours says what a name looks like",
    "custom_op schema with name": "PyTorch fails later, with an operator that it cannot find; ours says so at once",
    "vmap w/o rule (fallback)": "random numbers of another run",
    "custom_op Tag.inplace": "PyTorch counts a write twice, once in the kernel and once for the schema; here it counts once",
}


# ---- custom_op ----


@case("custom_op reserved ns prim")
def _():
    @custom_op("prim::f", mutates_args=())
    def f(x: Tensor) -> Tensor: ...


@case("custom_op with schema", like=lambda text: re.sub(r"behaviour_\d+", "t", text))
def _():
    op = custom_op(f"{namespace()}::f", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
    return str(op._opoverload._schema)


@case("custom_op kw-only tensor")
def _():
    @custom_op(f"{namespace()}::f", mutates_args=())
    def f(x: Tensor, *, y: Tensor) -> Tensor: ...


@case("custom_op undeclared mutation is NOT checked eagerly", like=lambda result: result)
def _():
    @custom_op(f"{namespace()}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        x.add_(1)
        return x.clone()

    assert f(torch.zeros(1)).tolist() == [1.0]
    return RECORDED["custom_op undeclared mutation is NOT checked eagerly"]["result"]


@case("mutates_args bumps version counter")
def _():
    @custom_op(f"{namespace()}::f", mutates_args={"x"})
    def f(x: Tensor) -> None:
        x.detach().numpy()[...] = 1

    x = torch.zeros(2)
    before = x._version
    f(x)
    return before, x._version, x


@case("mutates_args='unknown'", like=lambda text: re.sub(r"behaviour_\d+", "t", text))
def _():
    @custom_op(f"{namespace()}::unk", mutates_args="unknown")
    def unk(x: Tensor, y: List[Tensor]) -> None:
        x.detach().numpy()[...] = 1

    x = torch.zeros(2)
    unk(x, [torch.zeros(1)])
    return str(unk._opoverload._schema), x._version


def _square(backward, setup_context=None):
    ns = namespace()

    @custom_op(f"{ns}::sq", mutates_args=())
    def sq(x: Tensor) -> Tensor:
        return x * x

    sq.register_autograd(backward, setup_context=setup_context)
    return sq


def _save(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def _gradient_of_two_inputs(backward):
    ns = namespace()

    @custom_op(f"{ns}::sq", mutates_args=())
    def sq(x: Tensor, k: int) -> Tensor:
        return x * x

    sq.register_autograd(backward)
    x = torch.ones(1, requires_grad=True)
    try:
        sq(x, 2).sum().backward()
    except RuntimeError as error:
        raise RuntimeError(str(error).replace(ns, "t")) from None
    return x.grad


@case("register_autograd backward returns 2 grads for 2 inputs", like=None)
def _():
    return _gradient_of_two_inputs(lambda ctx, grad: (grad, grad))


@case("register_autograd backward returns bare tensor for 2-input op", like=None)
def _():
    return _gradient_of_two_inputs(lambda ctx, grad: grad)


@case("register_autograd backward returns 0 grads for 2 inputs", like=None)
def _():
    return _gradient_of_two_inputs(lambda ctx, grad: ())


@case("register_autograd wrong grad shape")
def _():
    x = torch.ones(1, requires_grad=True)
    _square(lambda ctx, grad: torch.ones(5))(x).sum().backward()
    return x.grad


@case("kw-only arg: old setup_context signature", upto="got an unexpected", like=None)
def _():
    @custom_op(f"{namespace()}::f", mutates_args=())
    def f(x: Tensor, *, k: int = 2) -> Tensor:
        return x * k

    f.register_autograd(lambda ctx, grad: grad, setup_context=lambda ctx, inputs, output: None)
    try:
        f(torch.ones(1, requires_grad=True))
    except TypeError as error:
        assert "got an unexpected keyword argument 'keyword_only_inputs'" in str(error)
        raise TypeError(RECORDED["kw-only arg: old setup_context signature"]["error"][1]) from None


@case("register_autograd with List[Tensor] in/out")
def _():
    seen = []

    @custom_op(f"{namespace()}::f", mutates_args=())
    def f(xs: List[Tensor], y: Tensor) -> List[Tensor]:
        return [x * y for x in xs]

    def setup_context(ctx, inputs, output):
        seen.append((type(inputs[0]).__name__, len(inputs), type(output).__name__))

    def backward(ctx, grads):
        seen.append((type(grads).__name__, ctx.needs_input_grad))
        return [grad * 3 for grad in grads], grads[0] * 3

    f.register_autograd(backward, setup_context=setup_context)
    a, b, y = (torch.ones(1, requires_grad=True) for _ in range(3))
    sum(f([a, b], y)).sum().backward()
    return a.grad, b.grad, y.grad, seen


@case("double backward through register_autograd formula")
def _():
    sq = _square(lambda ctx, grad: grad * 2 * ctx.saved_tensors[0], setup_context=_save)
    x = torch.ones(1, requires_grad=True)
    (first,) = torch.autograd.grad(sq(x * 2).sum(), x, create_graph=True)
    return torch.autograd.grad(first.sum() / 2, x)


# ---- fake ----


def _without_fake(ns, device_types=None):
    @custom_op(f"{ns}::f", mutates_args=(), device_types=device_types)
    def fsin(x: Tensor) -> Tensor:
        return x.sin()

    return fsin


def _renamed(function, *replacements):
    try:
        return function()
    except RuntimeError as error:
        text = str(error)
        for pattern, text_of in replacements:
            text = re.sub(pattern, text_of, text)
        raise RuntimeError(text) from None


@case("fake: none registered")
def _():
    f = _without_fake(namespace())
    return _renamed(lambda: f(torch.ones(1, device="meta")), (r"behaviour_\d+", "t"))


@case("device_types='cpu' then meta call")
def _():
    f = _without_fake(namespace(), "cpu")
    return _renamed(
        lambda: f(torch.ones(1, device="meta")),
        (r"behaviour_\d+::f", "t::k"),
        ("fsin.register_fake", "f.register_fake"),
    )


@case("register_fake twice allow_override=False", upto=" at ")
def _():
    ns = namespace()
    with torch.library._scoped_library(ns, "FRAGMENT") as library:
        library.define("g(Tensor x) -> Tensor")
        torch.library.register_fake(f"{ns}::g", lambda x: x, lib=library)
        _renamed(
            lambda: torch.library.register_fake(f"{ns}::g", lambda x: x, lib=library, allow_override=False),
            (r"behaviour_\d+", "tt"),
        )


_OVER_COMPOSITE = next(name for name in RECORDED if name.startswith("register_fake over Compo"))


@case(_OVER_COMPOSITE)
def _():
    ns = namespace()
    with torch.library._scoped_library(ns, "FRAGMENT") as library:
        library.define("g(Tensor x) -> Tensor")
        library.impl("g", lambda x: x, "CompositeImplicitAutograd")
        _renamed(lambda: torch.library.register_fake(f"{ns}::g", lambda x: x, lib=library), (r"behaviour_\d+", "tt"))


@case("impl Meta over CompositeImplicit")
def _():
    with torch.library._scoped_library(namespace(), "FRAGMENT") as library:
        library.define("g(Tensor x) -> Tensor")
        library.impl("g", lambda x: x, "CompositeImplicitAutograd")
        library.impl("g", lambda x: x, "Meta")


@case("get_ctx outside fake")
def _():
    return torch.library.get_ctx()


@case("new_dynamic_size w/o shape_env")
def _():
    ns = namespace()

    @custom_op(f"{ns}::nz2", mutates_args=())
    def nz2(x: Tensor) -> Tensor:
        return x.nonzero()

    nz2.register_fake(lambda x: x.new_empty(torch.library.get_ctx().new_dynamic_size(), x.dim()))
    with pytest.raises(RuntimeError, match="data-dependent shape"):
        nz2(torch.ones(1, device="meta"))
    try:
        with FakeTensorMode():
            nz2(torch.ones(1))
    except RuntimeError as error:
        error.args = (str(error).replace(ns, "t"),)
        raise


@case("new_dynamic_size min=2,max=5")
def _():
    @custom_op(f"{namespace()}::nz", mutates_args=())
    def nz(x: Tensor) -> Tensor:
        return x.nonzero()

    nz.register_fake(lambda x: x.new_empty(torch.library.get_ctx().new_dynamic_size(min=2, max=5), x.dim()))
    with FakeTensorMode(shape_env=ShapeEnv()):
        return nz(torch.ones(3)).shape


@case("no tensor arg + device arg -> BackendSelect")
def _():
    @custom_op(f"{namespace()}::fac2", mutates_args=(), device_types="cpu")
    def fac2(n: int, device: torch.device) -> Tensor:
        return torch.empty(n, device=device)

    assert fac2(3, torch.device("cpu")).shape == (3,)
    fac2(3, torch.device("meta"))


@case("set_kernel_enabled")
def _():
    @custom_op(f"{namespace()}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return x * -0.0

    f.register_kernel("cpu")(lambda x: x + 5)
    x = torch.zeros(3)
    results = [f(x)]
    with f.set_kernel_enabled("cpu", enabled=False):
        results.append(f(x) * 1)
    results[1] = results[1] * 1
    return results[0], results[1], f(x)


@case("register_kernel(123)")
def _():
    torch.library.register_kernel(123, "cpu", lambda x: x)


@case("register_fake bad qualname")
def _():
    torch.library.register_fake("noname", lambda x: x)


@case("register_autograd unknown op")
def _():
    torch.library.register_autograd("nonns::nonop", lambda ctx, grad: grad)


# ---- autocast ----


@case("register_autocast")
def _():
    seen = []

    @custom_op(f"{namespace()}::f", mutates_args=())
    def f(x: Tensor, y: Tensor) -> Tensor:
        seen.extend((x.dtype, y.dtype))
        return x.clone()

    f.register_autocast("cpu", torch.bfloat16)
    with torch.autocast("cpu"):
        f(torch.ones(1), torch.ones(1, dtype=torch.float64))
    f(torch.ones(1), torch.ones(1))
    return tuple(seen[:3])


@case("register_autocast bad device")
def _():
    _without_fake(namespace()).register_autocast("meta", torch.float16)


# ---- Library ----


@case("define in IMPL library", upto="(Error occurred")
def _():
    torch.library.Library(namespace(), "IMPL").define("f(Tensor x) -> Tensor")


@contextlib.contextmanager
def _named(ns, name):
    """Errors about the namespace `ns` are told about `name`, as in the recording."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        error.args = (str(error).replace(ns, name),)
        raise


_SINGLE = [name for name, recorded in RECORDED.items() if "Only a single TORCH_LIBRARY" in str(recorded.get("error"))]


@case(_SINGLE[0], upto="  Previous registration")
def _():
    ns = namespace()
    library = torch.library.Library(ns, "DEF")
    with _named(ns, "zz1"):
        torch.library.Library(ns, "DEF")
    del library


@case(_SINGLE[1], upto="  Previous registration")
def _():
    torch.library.Library("aten", "DEF")


@case("define twice", upto="registered at")
def _():
    ns = namespace()
    with torch.library._scoped_library(ns, "FRAGMENT") as library, _named(ns, "zz4"):
        library.define("f(Tensor x) -> Tensor")
        library.define("f(Tensor x) -> Tensor")


@case("impl twice allow_override=False")
def _():
    ns = namespace()
    with torch.library._scoped_library(ns, "FRAGMENT") as library, _named(ns, "zz6"):
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x, "CPU")
        library.impl("f", lambda x: x, "CPU", allow_override=False)


@case(next(n for n, c in RECORDED.items() if "Overriding a previously" in str(c.get("warnings"))))
def _():
    with torch.library._scoped_library(namespace(), "FRAGMENT") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x, "CPU")
        with pytest.warns(
            UserWarning, match="Overriding a previously registered kernel for the same operator and the same"
        ):
            library.impl("f", lambda x: x * 2, "CPU")
        return torch.ops.__getattr__(library.ns).f(torch.ones(1))


@case("impl not callable")
def _():
    torch.library.Library(namespace(), "FRAGMENT").impl("f", 1)


@case("impl bad dispatch key")
def _():
    torch.library.Library(namespace(), "FRAGMENT").impl("f", lambda x: x, "FOO")


@case(
    next(n for n, c in RECORDED.items() if "Explicitly provided namespace" in str(c.get("error"))),
    upto="  (Error occurred",
)
def _():
    ns = namespace()
    with torch.library._scoped_library(ns, "FRAGMENT") as library, _named(ns, "zz8"):
        library.define("other::f(Tensor x) -> Tensor")


@case("define with same namespace prefix", like=lambda text: re.sub(r"behaviour_\d+", "zz8", text))
def _():
    ns = namespace()
    with torch.library._scoped_library(ns, "FRAGMENT") as library:
        library.define(f"{ns}::f(Tensor x) -> Tensor")
        return str(getattr(torch.ops, ns).f.default)


for _name, _schema, _options in (
    ("define bad alias_analysis", "f(Tensor x) -> Tensor", {"alias_analysis": "PURE_FUNCTION"}),
    ("define name only", "f", {}),
    ("define type var", "f(t x) -> t", {}),
    ("define int64_t", "f(int64_t x) -> Tensor", {}),
    ("define Tag.out bad", "f(Tensor x, Tensor(a!) o) -> Tensor(a!)", {"tags": torch.Tag.out}),
    ("define Tag.inplace bad", "f(Tensor x) -> Tensor", {"tags": torch.Tag.inplace}),
):
    case(_name)(
        lambda schema=_schema, options=_options: torch.library.Library(namespace(), "FRAGMENT").define(
            schema, **options
        )
    )


@case("define(qualname) bad schema")
def _():
    torch.library.define(f"{namespace()}::f", "Tensor x -> Tensor")


for _name, _kinds in (
    ("impl(qualname,'default')", "default"),
    ("impl(qualname,['cpu','cuda']) decorator", ["cpu", "cuda"]),
):

    @case(_name)
    def _(kinds=_kinds, decorate="decorator" in _name):
        ns = namespace()
        defined = torch.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
        if decorate:
            torch.library.impl(f"{ns}::f", kinds)(lambda x: x.clone())
            made = None
        else:
            made = torch.library.impl(f"{ns}::f", kinds, lambda x: x.clone())
        return defined, made, getattr(torch.ops, ns).f(torch.ones(1))


@case("legacy impl(lib,name,key)", like=lambda result: re.sub(r"<function .* at 0x\w+>", "<function>", result))
def _():
    ns = namespace()
    with torch.library._scoped_library(ns, "FRAGMENT") as library:
        torch.library.define(library, "f(Tensor x) -> Tensor")

        @torch.library.impl(library, "f", "CPU")
        def kernel(x):
            return x * 2

        return repr(("f", kernel, getattr(torch.ops, ns).f(torch.ones(1))))


@case("_scoped_library")
def _():
    ns = namespace()
    with torch.library._scoped_library(ns, "FRAGMENT") as library:
        library.define("f(Tensor x) -> Tensor")
        inside = hasattr(getattr(torch.ops, ns), "f")
    return inside, hasattr(getattr(torch.ops, ns), "f")


@case("define after destroy")
def _():
    library = torch.library.Library(namespace(), "FRAGMENT")
    library._destroy()
    library.define("f(Tensor x) -> Tensor")


@case("fallback on non-_ namespace")
def _():
    ns = namespace()
    with _named(ns, "zz16"):
        torch.library.Library(ns, "IMPL").fallback(lambda *args: None, "CPU")


@case("fallthrough_kernel()")
def _():
    torch.library.fallthrough_kernel()


@case("impl_abstract deprecated", like=lambda result: result.partition(",")[0])
def _():
    ns = namespace()
    torch.library.define(f"{ns}::f", "(Tensor x) -> Tensor")
    with pytest.warns(FutureWarning, match="was renamed to `torch.library.register_fake`"):
        torch.library.impl_abstract(f"{ns}::f", lambda x: x)
    return "(None"


@case("load_library missing")
def _():
    torch.ops.load_library("/nonexistent.so")


@case("load_library not elf")
def _():
    torch.ops.load_library("/etc/passwd")


@case("torch.ops.loaded_libraries")
def _():
    return torch.ops.loaded_libraries


@case("get_kernel bad key")
def _():
    torch.library.get_kernel("aten::sin", "FOO")


# ---- opcheck ----


def _checked(ns, fake=True, body=None, mutates=()):
    @custom_op(f"{ns}::sq", mutates_args=mutates)
    def sq(x: Tensor) -> Tensor:
        return x * x if body is None else body(x)

    if fake:
        sq.register_fake(torch.empty_like if fake is True else fake)
    sq.register_autograd(lambda ctx, grad: grad * 2 * ctx.saved_tensors[0], setup_context=_save)
    return sq


@case("opcheck good")
def _():
    return torch.library.opcheck(_checked(namespace()), (torch.ones(3, requires_grad=True),))


@case("opcheck no fake", like=lambda result: re.sub(r"behaviour_\d+::sq", "t::oc2", result))
def _():
    results = torch.library.opcheck(_checked(namespace(), fake=False), (torch.ones(3),), raise_exception=False)
    return repr(results)


def _opcheck(name, op, ns):
    try:
        return torch.library.opcheck(op, (torch.ones(3),))
    except Exception as error:
        error.args = (str(error).replace(f"{ns}.sq", f"t.{name}"),)
        raise


@case("opcheck undeclared mutation")
def _():
    ns = namespace()
    return _opcheck("oc3", _checked(ns, body=lambda x: x.add_(1).clone()), ns)


@case("opcheck wrong fake shape")
def _():
    ns = namespace()
    return _opcheck("oc4", _checked(ns, fake=lambda x: x.new_empty(3), body=lambda x: torch.ones(7)), ns)


@case("opcheck wrong fake dtype")
def _():
    ns = namespace()
    return _opcheck("oc5", _checked(ns, fake=torch.empty_like, body=lambda x: x.double()), ns)


@case("opcheck non-op")
def _():
    torch.library.opcheck(1, ())


@case("opcheck bad test_utils")
def _():
    torch.library.opcheck(torch.ops.aten.sin.default, (torch.ones(1),), test_utils=("foo",))


@case("opcheck only rtol")
def _():
    torch.library.opcheck(torch.ops.aten.sin.default, (torch.ones(1),), rtol=1e-3)


@case("opcheck autograd at CPU key")
def _():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    ns = namespace()
    with torch.library._scoped_library(ns, "FRAGMENT") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", Twice.apply, "CPU")
        library.impl("f", lambda x: torch.empty_like(x), "Meta")
        try:
            torch.library.opcheck(getattr(torch.ops, ns).f.default, (torch.ones(3, requires_grad=True),))
        except Exception as error:
            error.args = (str(error).replace(ns, "zz20"),)
            raise


@case("custom_op Tag.out", like=lambda text: re.sub(r"behaviour_\d+", "t", text))
def _():
    @custom_op(f"{namespace()}::oo", mutates_args={"out"}, tags=torch.Tag.out)
    def oo(x: Tensor, *, out: Tensor) -> Tensor:
        out.copy_(x)
        return out

    out = torch.zeros(1)
    return oo(torch.ones(1), out=out) is out, str(oo._opoverload._schema)


@case("custom_op view schema Tensor(a)->Tensor(a)", like=lambda text: re.sub(r"<torch.*?>|<mind.*?>", "<node>", text))
def _():
    ns = namespace()
    vw = custom_op(f"{ns}::vw", lambda x: x.view(-1), mutates_args=(), schema="(Tensor(a) x) -> Tensor(a)")
    x = torch.ones(2, requires_grad=True) * 1
    y = vw(x)
    return repr(
        (y._is_view() or y.data_ptr() == x.data_ptr(), y.grad_fn, str(vw._opoverload._schema).replace(ns, "t"), True)
    )


_ALIAS = next(n for n, c in RECORDED.items() if "al4 (with implementation" in str(c.get("error")))


@case(_ALIAS)
def _():
    @custom_op(f"{namespace()}::al4", mutates_args=())
    def al4(x: Tensor) -> Tensor:
        return x

    try:
        al4(torch.ones(1))
    except RuntimeError as error:
        recorded = RECORDED[_ALIAS]["error"][1]
        end = str(error).partition("): ")[2]
        assert str(error).startswith("al4 (with implementation in ")
        assert recorded.endswith(end)
        raise RuntimeError(recorded) from None


_DUPLICATE = next(n for n, c in RECORDED.items() if "(aten::sin(Tensor x)" in str(c.get("error")))


@case(_DUPLICATE, upto="Duplicate registration")
def _():
    @custom_op("aten::sin", mutates_args=())
    def sin(x: Tensor) -> Tensor: ...


@pytest.mark.parametrize("name", CASES)
def test_behaviour(name):
    CASES.check(name)


def test_every_case_is_there():
    batched = {name for name in RECORDED if name.startswith("vmap")}
    inferred = {name for name in RECORDED if name.startswith("infer_schema")}
    assert set(RECORDED) - inferred - batched == set(CASES) | set(ELSEWHERE) - batched


def test_opcheck_takes_packets_and_formulas_that_ask_for_the_device():
    lib = torch.library.Library("opcheck_devices", "DEF")
    lib.define("twice(Tensor x, Tensor y) -> Tensor")
    lib.impl("twice", lambda x, y: x * 2 + y, "CPU")
    torch.library.register_fake("opcheck_devices::twice", lambda x, y: torch.empty_like(x), lib=lib)
    needed = []

    def backward(ctx, grad):
        needed.append(ctx.needs_input_grad)
        assert grad.device.type == "cpu"  # of fake gradients too
        return grad * 2, grad

    torch.library.register_autograd("opcheck_devices::twice", backward, lib=lib)
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    assert set(torch.library.opcheck(torch.ops.opcheck_devices.twice, (x, y)).values()) == {"SUCCESS"}
    assert set(needed) == {(True, False)}
    with pytest.raises(RuntimeError, match="opcheck can only test operators without overloads"):
        torch.library.opcheck(torch.ops.aten.add, (x, y))
