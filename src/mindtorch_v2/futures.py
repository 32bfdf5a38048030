"""`torch.futures`: results that arrive later, as collectives hand them out.

```python
import mindtorch_v2 as torch

future = torch.futures.Future()
doubled = future.then(lambda done: done.value() * 2)
future.set_result(21)
print(doubled.wait())  # 42
```
"""

import concurrent.futures

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value that is set once, by `set_result` or `set_exception`, and waited for by `wait`.

    Args:
        devices: accepted as in PyTorch; values here are ready when they are set.
    """

    def __init__(self, *, devices=None):
        self._future = concurrent.futures.Future()

    def done(self):
        """Whether there is a value or an exception."""
        return self._future.done()

    def wait(self):
        """The value, waited for; raises the exception that was set instead."""
        return self._future.result()

    def value(self):
        """The value; RuntimeError if there is none yet, or the exception that was set instead."""
        if not self._future.done():
            raise RuntimeError("Future is not completed")
        return self._future.result()

    def then(self, callback):
        """A future of `callback(self)`, which is called when this one is done."""
        following = Future()

        def call(_):
            try:
                following.set_result(callback(self))
            except Exception as error:  # noqa: BLE001  (whatever the callback raises is the next future's)
                following.set_exception(error)

        self._future.add_done_callback(call)
        return following

    def add_done_callback(self, callback):
        """Call `callback(self)` when this future is done; at once if it is."""
        self._future.add_done_callback(lambda _: callback(self))

    def set_result(self, result):
        """Complete the future; RuntimeError if it was completed before."""
        self._complete(self._future.set_result, result)

    def set_exception(self, result):
        """Complete the future by an exception, which `wait` then raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(self._future.set_exception, result)

    @staticmethod
    def _complete(complete, value):
        try:
            complete(value)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError(
                "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                "completed once."
            ) from None


def collect_all(futures):
    """A future of the list of `futures`, done when all of them are."""
    futures = list(futures)
    collected = Future()
    missing = len(futures)
    if not missing:
        collected.set_result(futures)

    def count(_):
        nonlocal missing
        missing -= 1
        if missing == 0:
            collected.set_result(futures)

    for future in futures:
        future.add_done_callback(count)
    return collected


def wait_all(futures):
    """The values of all `futures`; raises the first exception among them."""
    return [future.wait() for future in collect_all(futures).wait()]
