"""corners.cpp: corners of ATen, c10 and autograd in C++. Expected values are PyTorch 2.13's; --live asks it again."""

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
    "name", ["names", "generators", "engines", "streams", "exchange", "states", "stacks", "gradients"]
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
