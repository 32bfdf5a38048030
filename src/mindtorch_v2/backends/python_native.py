"""Kernels written in languages embedded in Python, which PyTorch has for GPUs: there are none."""

all_dsls = ["cutedsl", "triton"]
available_dsls: list[str] = []
