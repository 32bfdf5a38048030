"""Rates of schedules that can be said in closed form."""

import pytest

import mindtorch_v2 as torch


def test_a_cycle_rises_and_falls_at_its_own_paces():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=1, step_size_down=3)
    rates, momenta = [], []
    for _ in range(6):
        rates.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        schedule.step()
    assert rates == pytest.approx([0, 1, 2 / 3, 1 / 3, 0, 1])
    assert momenta == pytest.approx([0.9, 0.8, 0.8 + 0.1 / 3, 0.8 + 0.2 / 3, 0.9, 0.8])
