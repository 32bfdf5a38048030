"""Fifty SGD steps of a small residual network with batch norm and dropout; prints JSON.

Run as a program: under PyTorch by `tools/make_training_snapshots.py`, under ours by `test_seeded_training.py`.
"""

import json

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 50


class Residual(nn.Module):
    """Two 3x3 convolutions with batch norm; the shortcut is a 1x1 convolution."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, 1, 1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.shortcut = nn.Sequential(
            nn.Conv2d(channels_in, channels, 1, stride, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, channels_in, h, w); the result: (batch, channels, h / stride, w / stride)."""
        return F.relu(self.body(x) + self.shortcut(x))


def main() -> None:
    """Train and print `{"losses": [...], "start": {parameter: sum of its initial values}}`."""
    torch.manual_seed(3)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        Residual(8, 8, 1),
        nn.MaxPool2d(2),
        Residual(8, 16, 2),
        nn.Dropout2d(0.1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(16, 5),
    )
    start = {name: parameter.detach().double().sum().item() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.8, weight_decay=1e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 20, gamma=0.5)
    images, labels = torch.rand(40, 3, 16, 16), torch.randint(0, 5, (40,))
    losses = []
    for _ in range(STEPS):
        rows = torch.randint(0, 40, (10,))
        loss = F.cross_entropy(model(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    print(json.dumps({"losses": losses, "start": start}))


if __name__ == "__main__":
    main()
