"""Classes that answer for their sizes and strides: `dispatch_sizes_strides_policy` of `_make_wrapper_subclass`."""

import pytest
from agreement import same

QUESTIONS = {
    "size": lambda t: t.size(),
    "shape": lambda t: t.shape,
    "size of one": lambda t: t.size(-1),
    "size outside": lambda t: t.size(2),
    "stride": lambda t: t.stride(),
    "stride of one": lambda t: t.stride(0),
    "dim": lambda t: t.dim(),
    "ndim": lambda t: t.ndim,
    "numel": lambda t: t.numel(),
    "is_contiguous": lambda t: t.is_contiguous(),
    "storage_offset": lambda t: t.storage_offset(),
    "len": len,
    "element_size": lambda t: t.element_size(),
}
ANSWERS = {"all of it": None, "NotImplemented": NotImplemented, "a tuple": (5, 3), "a list": [4, 6], "True": True}


def _class(torch, policy, wrapper, seen, answer=None):
    """A class of tensors over another, which writes down what it is asked and gives `answer`, if it is one."""

    class Asked(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            if wrapper:
                made = torch.Tensor._make_wrapper_subclass(
                    cls, inner.shape, strides=inner.stride(), dispatch_sizes_strides_policy=policy
                )
            else:
                made = torch.Tensor._make_subclass(cls, inner, dispatch_sizes_strides_policy=policy)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            if answer is not None:
                return answer
            return func(*[a.inner if isinstance(a, Asked) else a for a in args], **(kwargs or {}))

    return Asked(torch.ones(3, 2).t())


def _outcome(question, tensor):
    try:
        found = question(tensor)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        # pybind's own words for an answer of another class say nothing of the class; ours give the answer itself
        return [type(error).__name__, str(error).partition(";")[0]]
    return [type(found).__name__, list(found) if isinstance(found, tuple) else found]


@pytest.mark.parametrize("wrapper", [True, False])
@pytest.mark.parametrize("policy", ["sizes", "strides"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(question, policy, wrapper):
    def program(torch):
        seen = []
        tensor = _class(torch, policy, wrapper, seen)
        return [_outcome(QUESTIONS[question], tensor), seen]

    same(program)


@pytest.mark.parametrize("answer", list(ANSWERS)[1:])
@pytest.mark.parametrize("question", ["size", "shape", "stride", "dim", "is_contiguous"])
def test_other_answers(question, answer):
    same(lambda torch: _outcome(QUESTIONS[question], _class(torch, "sizes", True, [], ANSWERS[answer])))


def test_no_answer_leaves_it_to_the_tensor():
    def program(torch):
        class Silent(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                return None

        t = torch.Tensor._make_wrapper_subclass(Silent, (2, 3), strides=(1, 2), dispatch_sizes_strides_policy="sizes")
        return [list(t.shape), list(t.stride()), t.numel(), t.storage_offset(), t.is_contiguous()]

    same(program)


def test_formats():
    def program(torch):
        seen = []
        tensor = _class(torch, "strides", True, seen)
        return [tensor.is_contiguous(memory_format=torch.channels_last), seen]

    same(program)


def test_unknown_policy():
    def program(torch):
        return _outcome(lambda policy: _class(torch, policy, True, []), "both")

    same(program)


def test_the_questions_as_operators():
    def program(torch):
        x = torch.zeros(2, 3).t()
        aten = torch.ops.aten
        return [
            aten.dim.default(x),
            list(aten.sym_size.default(x)),
            list(aten.sym_stride.default(x)),
            aten.is_contiguous.default(x),
            aten.is_contiguous.memory_format(torch.zeros(1, 2, 3, 4), torch.channels_last),
        ]

    same(program)
