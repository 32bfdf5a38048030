"""Names that must exist for programs to import, without an implementation: calling them says so.

What these make is usable where only the name matters: in annotations, `isinstance`, `hasattr` and imports.
"""


def unavailable_function(name, remedy=""):
    """A function that raises NotImplementedError, naming `name` and the `remedy` (a sentence part, if any)."""
    text = _text(name, remedy)

    def function(*args, **kwargs):
        raise NotImplementedError(text)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = text
    return function


def unavailable_class(name, remedy="", bases=()):
    """A class that cannot be instantiated: doing so raises NotImplementedError, naming `name` and the `remedy`."""
    text = _text(name, remedy)

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(text)

    short = name.rpartition(".")[2]
    module = "mindtorch_v2" + name.rpartition(".")[0].removeprefix("torch")
    return type(short, bases, {"__new__": __new__, "__doc__": text, "__module__": module})


def _text(name, remedy):
    return f"{name} is not implemented in mindtorch_v2" + (f"; {remedy}" if remedy else "")
