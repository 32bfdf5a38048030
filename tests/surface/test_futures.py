"""torch.futures: values that another thread gives."""

import threading

import pytest

from mindtorch_v2.futures import Future, collect_all, wait_all


def test_a_value_is_given_once():
    future = Future()
    assert not future.done()
    with pytest.raises(RuntimeError, match="before the Future was completed"):
        future.value()
    future.set_result(3)
    assert future.done() and future.wait() == future.value() == 3
    with pytest.raises(RuntimeError, match="Attempting to mark a completed Future as complete again"):
        future.set_result(4)


def test_waiting_for_another_thread():
    future = Future()
    waiting = future.then(lambda done: done.value() + 1)
    thread = threading.Timer(0.01, future.set_result, (1,))
    thread.start()
    assert waiting.wait() == 2
    thread.join()
    assert future.then(lambda done: done.value() * 5).wait() == 5  # done already: called now


def test_errors():
    future = Future()
    follower = future.then(lambda done: done.value())
    future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        future.wait()
    with pytest.raises(RuntimeError, match="Got the following error when running the callback: ValueError: no"):
        follower.wait()
    with pytest.raises(AssertionError, match="not an Exception"):
        Future().set_exception(1)
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        Future(devices=["cpu"])


def test_several(capsys):
    first, second = Future(), Future()
    both = collect_all([first, second])
    first.set_result(1)
    assert not both.done()
    second.add_done_callback(lambda done: 1 / 0)
    second.set_result(2)
    assert [done.value() for done in both.wait()] == wait_all([first, second]) == [1, 2]
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert wait_all([]) == []
