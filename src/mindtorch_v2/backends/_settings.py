"""The parts that the settings of the libraries are made of."""

import contextlib


class Settings:
    """A fixed set of named values; setting another name raises AttributeError."""

    def __init__(self, **values) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name, value) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"Unknown attribute {name}")
        self.__dict__[name] = value

    def __getattr__(self, name):
        raise AttributeError(f"Unknown attribute {name}")


def contextual(set_flags):
    """The context manager that calls `set_flags` with its arguments, and at the end with what that returned."""

    @contextlib.contextmanager
    def flags(*args, **kwargs):
        before = set_flags(*args, **kwargs)
        try:
            yield
        finally:
            set_flags(*before)

    return flags
