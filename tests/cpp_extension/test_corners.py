"""corners.cpp: corners of ATen, c10 and autograd in C++. Expected values are PyTorch 2.13's; --live asks it again."""

import importlib
import io

import pytest

# What `<<` of C++ shows of a tensor. A number after it shows that the stream's own format is as before.
PRINTED = [
    ([], "[ CPUFloatType{0} ] 0.5"),
    (3.5, "3.5\n[ CPUFloatType{} ] 0.5"),
    ([1, 2, 3], " 1\n 2\n 3\n[ CPULongType{3} ] 0.5"),
    ([True, False], " 1\n 0\n[ CPUBoolType{2} ] 0.5"),
    ([[0.001, 0.0023], [0.00012, 0.005]], "0.001 *\n 1.0000  2.3000\n  0.1200  5.0000\n[ CPUFloatType{2,2} ] 0.5"),
    ([[2000000.5, 1000000.5]], "1000000 *\n 2.0000  1.0000\n[ CPUFloatType{1,2} ] 0.5"),
    (
        [[[1, 2], [3, 4.5]], [[5, 6], [7, 8]]],
        "(1,.,.) = \n 1.0000  2.0000\n  3.0000  4.5000\n\n(2,.,.) = \n 5  6\n  7  8\n[ CPUFloatType{2,2,2} ] 0.5",
    ),
]


@pytest.mark.parametrize(
    "name",
    ["names", "generators", "engines", "streams", "exchange", "states", "stacks", "gradients", "pixels", "forms"],
)
def test_in_cpp(corners, name):
    getattr(corners.module, name)()


@pytest.mark.parametrize(("value", "text"), PRINTED)
def test_printing(corners, value, text):
    assert corners.module.printed(corners.torch.tensor(value)) == text


def test_printing_what_is_wide_or_sparse(corners):
    torch = corners.torch
    text = corners.module.printed(torch.arange(22).view(1, 22) * 1000)
    assert text.startswith("Columns 1 to 11     0   1000") and "\n\nColumns 12 to 22 11000" in text
    assert corners.module.printed(torch.eye(2).to_sparse()).startswith(
        "[ SparseCPUFloatType{}\nindices:\n 0  1\n 0  1\n"
    )


def test_pointers_to_objects_of_python(corners):
    assert corners.module.tripled(14) == 42
    with pytest.raises(TypeError):
        corners.module.tripled(object())


def test_whole_numbers_of_python(corners):
    sized = corners.module.sized
    assert sized(3, [1, 2]) == 6 and sized(-(2**62), (5,)) == -(2**62)
    for arguments in ((2**70, [1]), (1, [-(2**70)])):
        with pytest.raises(ValueError, match="Overflow when unpacking"):
            sized(*arguments)
    with pytest.raises(TypeError):
        sized(1.5, [1])


def _kind(tensor):
    return type(tensor.grad_fn).__name__


def test_operators_that_say_that_they_have_no_gradient(corners):
    torch = corners.torch
    ops = torch.ops.corners
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    made = ops.without_gradient(x)
    assert made.tolist() == [2.0, 2.0] and made.requires_grad and _kind(made) == "NotImplemented"
    with pytest.raises(RuntimeError, match="derivative for corners::without_gradient is not implemented"):
        made.sum().backward()
    assert not ops.without_gradient(x.detach()).requires_grad
    with torch.no_grad():
        assert not ops.without_gradient(x).requires_grad
    whole, signs = ops.signs([x, torch.ones(2)]), ops.signs([torch.ones(1)])
    assert [_kind(each) for each in whole] == ["NotImplemented"] * 2 and signs[0].grad_fn is None


def test_an_operator_without_a_gradient_that_writes(corners):
    torch = corners.torch
    doubled_ = torch.ops.corners.doubled_
    plain = torch.ones(2)
    assert doubled_(plain) is plain and plain.tolist() == [2.0, 2.0] and plain._version == 1
    written = torch.ones(2, requires_grad=True) * 1
    doubled_(written)
    assert _kind(written) == "NotImplemented" and written._version == 1
    with pytest.raises(RuntimeError, match="derivative for corners::doubled_ is not implemented"):
        written.sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        doubled_(torch.ones(2, requires_grad=True))


@pytest.fixture
def slopes(corners):
    """The class Slope, with a class that stands for it where there is no data."""
    torch = corners.torch
    registry = importlib.import_module(f"{torch.__name__}._library.fake_class_registry")

    @torch._library.register_fake_class("corners::Slope")
    class FakeSlope:
        def __init__(self, by):
            self.by = by

        @classmethod
        def __obj_unflatten__(cls, state):
            return cls(**dict(state))

        def of(self, x):
            return torch.empty_like(x)

    with torch.library._scoped_library("corners", "FRAGMENT") as library:
        torch.library.register_fake("corners::sloped", lambda slope, x: slope.of(x), lib=library)
        yield torch.classes.corners.Slope
    registry.deregister_fake_class("corners::Slope")


def _module(torch, slope, forward):
    """A module that has the object, and the function as its forward."""
    made = type("Sloped", (torch.nn.Module,), {"forward": forward})()
    made.slope = slope
    return made


@pytest.mark.parametrize("way", ["operator", "method"])
def test_a_program_with_an_object_of_a_class_is_exported(corners, slopes, way):
    torch = corners.torch
    slope = slopes(3.0)
    call = torch.ops.corners.sloped if way == "operator" else lambda slope, x: slope.of(x)
    module = _module(torch, slope, lambda self, x: call(self.slope, x) + 1)
    program = torch.export.export(module, (torch.ones(2),), strict=False)
    assert slope.calls == 0  # nothing of it ran
    assert program.module()(torch.ones(2)).tolist() == [4.0, 4.0]
    if way == "operator":
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        assert torch.export.load(file).module()(torch.full((2,), 2.0)).tolist() == [7.0, 7.0]


def test_a_program_with_a_method_of_an_object_is_compiled(corners, slopes):
    torch = corners.torch
    slope = slopes(3.0)
    compiled = torch.compile(lambda x: slope.of(x) + 1, backend="aot_eager", fullgraph=True)
    assert compiled(torch.ones(2)).tolist() == [4.0, 4.0] and slope.calls == 1


def test_errors_of_fake_classes(corners, slopes):
    torch = corners.torch
    with pytest.raises(RuntimeError, match="__obj_unflatten__"):
        torch._library.register_fake_class("corners::Slope", int)
    with pytest.raises(RuntimeError, match="does not exist|not exist"):
        torch._library.register_fake_class(
            "corners::Nothing", type("Fake", (), {"__obj_unflatten__": classmethod(int)})
        )
    with pytest.raises(RuntimeError, match="can't set attribute"):
        slopes(1.0).calls = 3


def test_an_operator_that_is_called_name(corners):
    torch = corners.torch
    assert torch.ops.corners.name == "corners"  # which PyTorch has of its own
    assert torch.ops.corners.rounded(torch.tensor([1.6])).tolist() == [2.0]
