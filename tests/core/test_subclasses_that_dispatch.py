"""Subclasses that take operators over: what they inherit of `__torch_function__`, as parameters, copied, and their text."""

import copy

from agreement import same, same_error


def _classes(torch):
    """A plain class, ones that take over operators, functions, or both, and a wrapper that rewraps or does not."""

    def dispatch(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

    def function(cls, func, types, args=(), kwargs=None):
        return torch.Tensor.__torch_function__.__func__(cls, func, types, args, kwargs)

    class Plain(torch.Tensor):
        pass

    dispatches = {"__torch_dispatch__": classmethod(dispatch)}
    operators = type("Operators", (torch.Tensor,), dispatches)
    both = type("Both", (torch.Tensor,), {**dispatches, "__torch_function__": classmethod(function)})
    return [
        Plain,
        operators,
        type("Below", (operators,), {}),
        type("Late", (Plain,), dispatches),
        both,
        type("BelowBoth", (both,), {}),
    ]


def test_who_is_asked_about_functions():
    def program(torch):
        disabled = torch._C._disabled_torch_function_impl
        return [
            [each.__name__, each.__torch_function__ is disabled, "__torch_function__" in each.__dict__]
            for each in _classes(torch)
        ]

    same(program)


def _wrapper(torch, rewraps):
    class Wrapper(torch.Tensor):
        __slots__ = ["inner"]

        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            made = func(*[a.inner if isinstance(a, Wrapper) else a for a in args], **(kwargs or {}))
            return Wrapper(made) if rewraps and isinstance(made, torch.Tensor) else made

        def __repr__(self):
            return super().__repr__(tensor_contents="inner")

    return Wrapper(torch.ones(2))


def test_results_are_as_the_class_gives_them():
    def program(torch):
        return [
            [type(made).__name__ for made in (x + 1, torch.add(x, 1), x.sum(), x.detach(), x[0])]
            for x in (_wrapper(torch, True), _wrapper(torch, False))
        ]

    same(program)


def test_parameters_want_their_class_back():
    same_error(lambda torch: torch.nn.Parameter(_wrapper(torch, False)))


def test_texts_of_parameters():
    def program(torch):
        class Plain(torch.Tensor):
            pass

        of_plain = torch.nn.Parameter(torch.ones(2).as_subclass(Plain))
        return [
            repr(torch.nn.Parameter(_wrapper(torch, True))),
            repr(of_plain),
            repr(torch.nn.Parameter(torch.ones(2))),
        ]

    same(program)


def test_copies_have_the_slots():
    def program(torch):
        class Marked(torch.Tensor):
            __slots__ = ["marks"]

            def new_empty(self, size):  # PyTorch copies no subclass without it
                return torch.empty(size).as_subclass(Marked)

        x = torch.ones(2).as_subclass(Marked)
        x.marks = [1, [2]]
        y = copy.deepcopy(x)
        y.marks[1].append(3)
        wrapped = copy.deepcopy(_wrapper(torch, True))
        return [type(y).__name__, x.marks, y.marks, type(wrapped).__name__, wrapped.inner]

    same(program)
