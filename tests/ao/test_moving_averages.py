"""`fused_moving_avg_obs_fake_quant`: values, gradients and what it moves are PyTorch's."""

import pytest
from agreement import same, same_error

KINDS = [
    (False, False, 0, 255),
    (False, True, 0, 255),
    (False, True, -128, 127),
    (True, True, -128, 127),
    (True, False, 0, 127),
    (True, True, -127, 127),
]


def begin(lib, channels):
    least, most = ([], []) if channels else (float("inf"), -float("inf"))
    return lib.tensor(least), lib.tensor(most), lib.tensor([1.0]), lib.tensor([0], dtype=lib.int32)


@pytest.mark.parametrize("kind", KINDS)
def test_steps(kind):
    channels, symmetric, low, high = kind

    def program(lib):
        state, on, found = begin(lib, channels), lib.tensor([1]), []
        for step in range(9):
            x = (lib.arange(24.0).reshape(3, 4, 2) * 7 % 5 - 2 + (step - 3) * 0.4) * 10.0 ** -(step // 2)
            x = x * 1e-30 if step == 7 else x
            x.requires_grad_()
            observes, rounds = on * (step != 4), on * (step != 5)
            made = lib.fused_moving_avg_obs_fake_quant(
                x, observes, rounds, *state, 0.1, low, high, 0 if channels else -1, channels, symmetric
            )
            slope = lib.autograd.grad(made.pow(2).sum(), x)[0]
            found.append([made.detach(), slope, made.grad_fn.name(), *(each.clone() for each in state)])
        return found

    same(program)


def test_nothing_is_seen_in_an_empty_tensor():
    def program(lib):
        state, on = begin(lib, False), lib.tensor([1])
        return [lib.fused_moving_avg_obs_fake_quant(lib.ones(0, 3), on, on, *state, 0.1, 0, 255, -1), *state]

    same(program)


@pytest.mark.parametrize("arguments", [(0, 255, 1, True, False), (5, 3, 0, True, False), (0, 255, 7, False, False)])
def test_what_is_refused(arguments):
    def program(lib):
        on = lib.tensor([1])
        lib.fused_moving_avg_obs_fake_quant(lib.ones(3, 2), on, on, *begin(lib, arguments[3]), 0.1, *arguments)

    same_error(program)
