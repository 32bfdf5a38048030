"""corners.cpp: corners of ATen, c10 and autograd in C++. Expected values are PyTorch 2.13's; --live asks it again."""

import pytest

# What `<<` of C++ shows of a tensor. A number after it shows that the stream's own format is as before.
PRINTED = [
    ([], "[ CPUFloatType{0} ] 0.5"),
    (3.5, "3.5\n[ CPUFloatType{} ] 0.5"),
    ([1, 2, 3], " 1\n 2\n 3\n[ CPULongType{3} ] 0.5"),
    ([True, False], " 1\n 0\n[ CPUBoolType{2} ] 0.5"),
]


@pytest.mark.parametrize("name", ["names", "engines", "streams", "exchange", "states", "stacks", "gradients"])
def test_in_cpp(corners, name):
    getattr(corners.module, name)()


@pytest.mark.parametrize(("value", "text"), PRINTED)
def test_printing(corners, value, text):
    assert corners.module.printed(corners.torch.tensor(value)) == text


def test_pointers_to_objects_of_python(corners):
    assert corners.module.tripled(14) == 42
    with pytest.raises(TypeError):
        corners.module.tripled(object())
