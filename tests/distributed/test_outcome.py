"""Outcomes of work, as several threads see them."""

import threading
import time

import pytest

from mindtorch_v2.distributed._outcome import Outcome


def test_the_first_that_is_set_stays():
    outcome = Outcome()
    assert not outcome.done()
    outcome.set_exception(ValueError("first"))
    outcome.set_result(3)
    assert outcome.done() and str(outcome.exception()) == "first"
    with pytest.raises(ValueError, match="first"):
        outcome.result()


def test_threads_that_wait_are_woken():
    outcome, found = Outcome(), []
    threads = [threading.Thread(target=lambda: found.append(outcome.result(30))) for _ in range(4)]
    for thread in threads:
        thread.start()
    with pytest.raises(TimeoutError):
        outcome.result(0.01)
    outcome.set_result("there")
    for thread in threads:
        thread.join(30)
    assert found == ["there"] * 4 and outcome.result(0) == "there"


def test_functions_are_called_once_whether_they_come_before_or_after(caplog):
    outcome, seen = Outcome(), []
    outcome.add_done_callback(lambda done: 1 / 0)
    outcome.add_done_callback(lambda done: seen.append(done.result()))
    outcome.set_result(1)
    outcome.add_done_callback(lambda done: seen.append(done.result() + 1))
    assert seen == [1, 2]
    assert "ZeroDivisionError" in caplog.text


def test_a_race_between_ending_and_waiting():
    for _ in range(200):
        outcome = Outcome()
        thread = threading.Thread(target=outcome.set_result, args=(5,))
        thread.start()
        assert outcome.result(30) == 5
        thread.join()
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        Outcome().exception(0.02)
    assert time.monotonic() - began < 10
