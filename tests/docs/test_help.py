"""Help of what the rows make: every public name has a text, a signature, and an example that prints what PyTorch prints."""

import doctest
import importlib
import inspect
import json
import pydoc
import types
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._core.absent_modules import absent_names
from mindtorch_v2._operators import help as operators_help

NAMES = sorted(operators_help.public_names())
# Calls that have no output to show: what they do depends on the machine.
WITHOUT_EXAMPLE = {"torch.Tensor.record_stream"}


def _function(name):
    return operators_help.public_names()[name]


def test_every_name_says_what_it_does_and_how_it_is_called():
    without = []
    for name in NAMES:
        text = inspect.getdoc(_function(name)) or ""
        summary, _, rest = text.partition("\n")
        if not summary.endswith(".") or ("Call:" not in rest and "Overloads:" not in rest):
            without.append(name)
    assert not without


def test_every_name_of_pytorch_has_an_example():
    pytorch = json.loads((Path(__file__).parents[1] / "snapshots/names/pytorch.json").read_text())
    methods = {f"torch.Tensor.{name}" for name in pytorch.get("torch.Tensor", ())}
    public = {f"{module}.{name}" for module, names in pytorch.items() for name in names} | methods
    missing = set(NAMES) & public - set(operators_help.examples()) - WITHOUT_EXAMPLE
    assert not missing
    assert len(operators_help.examples()) > 1000


@pytest.mark.parametrize("name", sorted(operators_help.examples()))
def test_example_prints_what_pytorch_prints(name):
    assert name in NAMES
    text = "\n".join(operators_help.examples()[name])
    printed: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(doctest.DocTestParser().get_doctest(text, {"torch": torch}, name, None, 0), out=printed.append)
    assert runner.tries > 0
    assert not printed, "".join(printed)


def test_an_example_with_another_output_is_seen(monkeypatch):
    wrong = {"torch.add": [">>> torch.add(1, 2)", "tensor(4)"]}
    monkeypatch.setattr(operators_help, "examples", lambda: wrong)
    with pytest.raises(AssertionError, match="Expected"):
        test_example_prints_what_pytorch_prints("torch.add")


def test_every_signature_can_be_read():
    for name in NAMES:
        assert inspect.signature(_function(name)).parameters or "()" in _function(name).__text_signature__, name


def test_signatures_bind_calls():
    assert str(inspect.signature(torch.add)) == "(input, other, *, alpha=1, out=None)"
    assert str(inspect.signature(torch.Tensor.add)) == "(self, /, other, *, alpha=1)"
    assert inspect.signature(torch.sum).bind(0, dim=1).arguments["dim"] == 1
    assert inspect.signature(torch.sum).bind(0)


def test_help_names_every_overload_and_fact():
    text = pydoc.plain(pydoc.render_doc(torch.add))
    assert text.splitlines()[2] == "add(input, other, *, alpha=1, out=None)"
    for line in (
        "`input + alpha * other`.",
        "torch.add(Tensor input, Tensor other, *, Number alpha=1) -> Tensor",
        "Shapes: `input` and `other` broadcast; the result has the common sizes",
        "Derivatives: of `input`, `other`.",
        ">>> torch.add(",
    ):
        assert line in text, line


def test_a_function_in_a_class_stays_a_function():
    class Holder:
        activation = torch.relu

    assert Holder().activation is torch.relu
    assert inspect.isroutine(torch.relu)


def test_operators_of_users_have_their_schema():
    handle = torch.ops.aten.add.Tensor
    assert isinstance(torch.add, _C.Function)
    assert "add" in str(handle)


PLACES = """
    torch torch.Tensor torch.accelerator torch.amp torch.autograd torch.autograd.forward_ad torch.autograd.functional
    torch.autograd.graph torch.autograd.profiler torch.backends torch.compiler torch.cpu torch.cuda torch.distributed
    torch.distributions torch.export torch.fft torch.func torch.futures torch.fx torch.hub torch.jit torch.library
    torch.linalg torch.masked torch.mps torch.multiprocessing torch.nn torch.nn.attention torch.nn.functional
    torch.nn.init torch.nn.modules torch.nn.parallel torch.nn.parameter torch.nn.utils torch.nn.utils.parametrizations
    torch.nn.utils.parametrize torch.nn.utils.rnn torch.onnx torch.optim torch.optim.lr_scheduler torch.overrides
    torch.profiler torch.random torch.return_types torch.serialization torch.signal.windows torch.sparse torch.special
    torch.testing torch.types torch.utils.checkpoint torch.utils.data torch.xpu
""".split()


def _place(name):
    return torch.Tensor if name == "torch.Tensor" else importlib.import_module(name.replace("torch", "mindtorch_v2", 1))


def _undocumented(place, names):
    """Those of a place's names that are there, can be called or asked for, and have no text of their own."""
    found = _place(place)
    for name in names:
        value = inspect.getattr_static(found, name, None) if isinstance(found, type) else getattr(found, name, None)
        if not (callable(value) or inspect.isdatadescriptor(value)) or isinstance(value, types.ModuleType):
            continue
        if name in ("biject_to", "identity_transform", "transform_to"):
            continue  # objects whose classes say what they are
        module = getattr(value, "__module__", None) or ""
        if module.partition(".")[0] in ("typing", "multiprocessing", "collections") or isinstance(
            value, types.MethodType
        ):
            continue  # Python's own, handed on
        text = vars(value).get("__doc__") if isinstance(value, type) else inspect.getdoc(value)
        if not text or (not isinstance(value, type) and text == type(value).__doc__):
            yield name


@pytest.mark.parametrize("place", PLACES)
def test_every_public_name_is_documented(place):
    listed = json.loads((Path(__file__).parents[1] / "snapshots" / "names" / "pytorch.json").read_text())
    if place == "torch.Tensor":
        names = [name for name in dir(torch.Tensor) if not name.startswith("_")]
    else:
        absent = absent_names(place)  # here by name only
        names = [name for name in listed[place] if name not in absent and hasattr(_place(place), name)]
    assert names, place
    assert not list(_undocumented(place, names))


def test_a_name_without_text_is_seen(monkeypatch):
    monkeypatch.setattr(torch, "add", lambda: None)
    assert list(_undocumented("torch", ["add", "mul"])) == ["add"]


# What is deprecated (its call warns), and what has no call that is worth showing.
NOT_SHOWN = set(
    "Container NLLLoss2d LinearCrossEntropyLoss LinearCrossEntropyOptions RNNCellBase Optimizer LRScheduler "
    "factory_kwargs register_kl LinAlgError PackedSequence_".split()
)
SHOWN = """
    torch.distributions torch.fft torch.linalg torch.nn torch.nn.init torch.nn.utils.parametrizations torch.nn.utils.rnn
    torch.optim torch.optim.lr_scheduler torch.signal.windows torch.special
""".split()


@pytest.mark.parametrize("place", SHOWN)
def test_every_class_and_function_has_an_example(place):
    listed = json.loads((Path(__file__).parents[1] / "snapshots" / "names" / "pytorch.json").read_text())[place]
    there = {name: getattr(_place(place), name, None) for name in listed if name not in absent_names(place)}
    without = [
        name
        for name, value in there.items()
        if (inspect.isclass(value) or inspect.isroutine(value))
        and ">>>" not in (inspect.getdoc(value) or "")
        and f"{name}_" not in there  # an older name of the same
    ]
    assert not set(without) - NOT_SHOWN
