"""Stand-in for what a package leaves out. The exporter copies this file, as it is, into packages with mocked modules.

So it imports nothing, which a package would have to hold.
"""

_SPECIAL = """
__call__ __iter__ __next__ __len__ __contains__ __getitem__ __setitem__ __delitem__ __enter__ __exit__ __bool__ __int__ __float__
__index__ __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __rtruediv__ __floordiv__
__rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __matmul__ __rmatmul__ __neg__ __pos__ __abs__ __invert__ __lt__ __le__ __gt__
__ge__ __eq__ __ne__ __and__ __or__ __xor__ __lshift__ __rshift__ __await__ __aiter__ __anext__ __bytes__ __format__ __round__
""".split()


def _refusing(method):
    def refuse(self, *args, **kwargs):
        raise NotImplementedError(
            f"Object '{self._name}' was mocked out during packaging but it is being used in {method}"
        )

    refuse.__name__ = method
    return refuse


class MockedObject:
    """An object of a mocked module: it has a name, and raises NotImplementedError when it is used."""

    _name: str

    def __new__(cls, *args: object, **kwargs: object) -> "MockedObject":
        # A class that inherits from a mocked one, as the package's code may well do.
        if not kwargs.get("_suppress_err"):
            raise NotImplementedError(
                f"Object '{cls._name if hasattr(cls, '_name') else cls.__name__}' was mocked out during packaging but it is "
                f"being used in {cls}"
            )
        return super().__new__(cls)

    def __init__(self, name: str, _suppress_err: bool) -> None:
        self.__dict__["_name"] = name

    def __repr__(self) -> str:
        return f"MockedObject({self._name})"

    __hash__ = object.__hash__
    __getattr__ = _refusing("__getattr__")
    __setattr__ = _refusing("__setattr__")
    __delattr__ = _refusing("__delattr__")


for _each in _SPECIAL:
    setattr(MockedObject, _each, _refusing(_each))
