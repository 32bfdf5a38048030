"""The operators as functions, under their own names: what functions of `functional` of the same name are made of."""

from mindtorch_v2._operators.table import aten


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(aten, name)
