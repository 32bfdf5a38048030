"""Small names beside autograd's public ones that programs and test suites ask for."""

import warnings

import pytest
from agreement import same, same_error

import mindtorch_v2

# PyTorch's own, of parts of it that its forward mode goes through.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_several_threads():
    """A setting that is remembered: from the call on, or within a block."""

    def program(torch):
        autograd, seen = torch.autograd, []
        with autograd.set_multithreading_enabled(False):
            seen.append(autograd.is_multithreading_enabled())
            autograd.set_multithreading_enabled(True)
            seen.append(autograd.is_multithreading_enabled())
        seen.append(autograd.is_multithreading_enabled())
        autograd.set_multithreading_enabled(False)
        seen += [autograd.is_multithreading_enabled(), torch._C._is_multithreading_enabled()]
        autograd.set_multithreading_enabled(True)
        return [*seen, autograd.is_multithreading_enabled()]

    same(program)


def test_forward_mode_is_enabled():
    def program(torch):
        forward, seen = torch.autograd.forward_ad, []
        with forward._set_fwd_grad_enabled(False):
            seen.append(forward._is_fwd_grad_enabled())
            with forward._set_fwd_grad_enabled(True):
                seen.append(forward._is_fwd_grad_enabled())
            seen.append(forward._is_fwd_grad_enabled())
        return [*seen, forward._is_fwd_grad_enabled()]

    same(program)


def test_hooks_of_saved_tensors_are_enabled():
    def program(torch):
        enabled, graph, seen = torch._C._autograd._saved_tensors_hooks_is_enabled, torch.autograd.graph, []
        with graph.disable_saved_tensors_hooks("not here"):
            seen.append(enabled())
        with graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            seen.append(enabled())
        return [*seen, enabled()]

    same(program)


SIZES = [[(2, 3)], [()], [(1,), (), ()], [(2,), (), (3,)], [(2, 3), (3,), (3, 1, 2)]]


@pytest.mark.parametrize("sizes", SIZES)
def test_standard_basis(sizes):
    def program(torch):
        dtypes = [torch.float32, torch.float64, torch.float32]
        tensors = tuple(torch.zeros(size, dtype=dtype) for size, dtype in zip(sizes, dtypes, strict=False))
        make = torch.autograd.functional._construct_standard_basis_for
        return list(make(tensors, tuple(each.numel() for each in tensors)))

    same(program)


def test_standard_basis_of_nothing():
    with pytest.raises(AssertionError, match="at least one tensor"):
        mindtorch_v2.autograd.functional._construct_standard_basis_for((), ())


def test_first_vmap():
    def program(torch):
        from importlib import import_module

        names = import_module(f"{torch.__name__}._vmap_internals")
        x = torch.arange(6.0).view(2, 3)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            made = [names._vmap(lambda row: row.sum())(x), names.vmap(lambda row: row * 2, 1, 1)(x)]
        return [made, [[each.category.__name__, str(each.message)] for each in seen]]

    same(program)


def test_first_vmap_refuses_what_it_does_not_pass_through():
    with pytest.raises(NotImplementedError, match="allow_none_pass_through"):
        mindtorch_v2._vmap_internals._vmap(lambda x: None, allow_none_pass_through=True)


def test_gradcheck_of_repeated_elements():
    def program(torch):
        return torch.autograd.gradcheck(torch.sin, torch.ones(1, dtype=torch.float64).expand(3).requires_grad_())

    same_error(program)
