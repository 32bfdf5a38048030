"""Recorded answers of PyTorch: what is kept of them, and that a missing or another one fails."""

import numpy
import pytest
import recording
from agreement import same
from recording import answer

import mindtorch_v2


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 0.1, "text", b"\0\xff", 1 - 2j, [1, [2.5]], (1, ("a", None)), {"a": 1, 2: {"b": (3,)}}],
    ids=repr,
)
def test_plain_data_come_back(value):
    assert recording._decode(recording._encode(value)) == value


def test_arrays_come_back():
    small, large = numpy.arange(6, dtype="int16").reshape(2, 3), numpy.arange(1000.0).reshape(10, 100)
    again = recording._decode(recording._encode(small))
    assert again.dtype == small.dtype and again.tolist() == small.tolist()
    kept = recording._decode(recording._encode(large))
    ours, theirs = recording.matched(large, kept)
    assert ours.tolist() == theirs.tolist()
    assert {0.0, 999.0} < set(theirs)
    with pytest.raises(AssertionError, match="shape"):
        recording.matched(large.T, kept)


def test_what_is_no_plain_data_is_not_recorded():
    with pytest.raises(TypeError, match="answers are plain data"):
        recording._encode(object())


def test_a_call_that_was_not_recorded_fails(request):
    if request.config.getoption("--live") or request.config.getoption("--record"):
        pytest.skip("PyTorch answers anything")
    with pytest.raises(pytest.fail.Exception, match="no recorded answer number 0 of test_a_call"):
        answer(lambda torch: torch.ones(2).tolist())


def test_an_answer_is_pytorchs():
    assert answer(lambda torch: torch.ones(2).add(1).tolist()) == [2.0, 2.0]


@pytest.mark.parametrize("wrong", [2.5, 1, [2.0], "2.0"])
def test_another_result_fails(wrong):
    def program(torch):
        return wrong if torch is mindtorch_v2 else torch.ones(()).add(1).item()

    with pytest.raises(AssertionError, match="result|2.0"):
        same(program)
