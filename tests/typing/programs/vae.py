"""A variational autoencoder with a scheduler, checkpoints and mixed precision."""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    LambdaLR,
    LRScheduler,
    OneCycleLR,
    ReduceLROnPlateau,
    SequentialLR,
)
from torch.utils.data import DataLoader, Dataset, RandomSampler, Subset, TensorDataset, default_collate, random_split


class Output(NamedTuple):
    image: Tensor
    mean: Tensor
    log_variance: Tensor


@dataclass
class Options:
    epochs: int = 2
    batch: int = 16
    hidden: int = 24
    rate: float = 1e-3


class Pictures(Dataset[tuple[Tensor, int]]):
    def __init__(self, count: int, transform: Callable[[Tensor], Tensor] | None = None) -> None:
        generator = torch.Generator().manual_seed(0)
        self.data = torch.rand(count, 1, 8, 8, generator=generator)
        self.transform = transform

    def __len__(self) -> int:
        return self.data.size(0)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = self.data[index]
        return (image if self.transform is None else self.transform(image)), index % 3


class VAE(nn.Module):
    scale: Tensor

    def __init__(self, hidden: int, latent: int = 4) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.GELU())
        self.mean, self.log_variance = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, 64), nn.Unflatten(1, (1, 8, 8))
        )
        self.register_buffer("scale", torch.tensor(1.0))
        self.apply(self._init)

    @staticmethod
    def _init(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Output:
        h = self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return Output(torch.sigmoid(self.decoder(z)) * self.scale, mean, log_variance)


def loss_of(out: Output, target: Tensor) -> Tensor:
    reconstruction = F.binary_cross_entropy(out.image, target, reduction="sum")
    divergence = -0.5 * torch.sum(1 + out.log_variance - out.mean.pow(2) - out.log_variance.exp())
    return (reconstruction + divergence) / target.shape[0]


def batches(loader: DataLoader[tuple[Tensor, int]], device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    for images, labels in loader:
        yield images.to(device, non_blocking=True), labels.to(device)


def schedule(optimizer: optim.Optimizer, options: Options, steps: int) -> LRScheduler:
    warm = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))
    return SequentialLR(optimizer, [warm, CosineAnnealingLR(optimizer, T_max=steps, eta_min=1e-5)], milestones=[4])


def train(options: Options, device: torch.device, folder: Path) -> float:
    torch.manual_seed(1)
    full = Pictures(64, lambda image: image.clamp(0.05, 0.95))
    training, held = random_split(full, [0.75, 0.25], generator=torch.Generator().manual_seed(2))
    loader = DataLoader(training, batch_size=options.batch, shuffle=True, drop_last=True, collate_fn=default_collate)
    test = DataLoader(held, batch_size=options.batch, sampler=RandomSampler(held))
    model = VAE(options.hidden).to(device)
    groups = [
        {"params": [p for n, p in model.named_parameters() if n.endswith("weight")], "weight_decay": 1e-2},
        {"params": [p for n, p in model.named_parameters() if not n.endswith("weight")], "weight_decay": 0.0},
    ]
    optimizer = optim.AdamW(groups, lr=options.rate, betas=(0.9, 0.99))
    scheduler = schedule(optimizer, options, options.epochs * len(loader))
    plateau = ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=1)
    scaler = torch.amp.GradScaler(device.type, enabled=False)
    best = math.inf
    for epoch in range(options.epochs):
        model.train()
        for images, _ in batches(loader, device):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device_type=device.type, dtype=torch.bfloat16, enabled=False):
                loss = loss_of(model(images), images)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            assert norm.isfinite().all()
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
        model.eval()
        total, seen = 0.0, 0
        with torch.inference_mode():
            for images, _ in batches(test, device):
                total += loss_of(model(images), images).item() * images.size(0)
                seen += images.size(0)
        plateau.step(total / seen)
        if total / seen < best:
            best = total / seen
            torch.save(
                {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "best": best},
                folder / "best.pt",
            )
    checkpoint = torch.load(folder / "best.pt", map_location=device, weights_only=True)
    missing = model.load_state_dict(checkpoint["model"], strict=True)
    assert not missing.missing_keys and not missing.unexpected_keys
    optimizer.load_state_dict(checkpoint["optimizer"])
    rates: list[float] = scheduler.get_last_lr()
    print(
        f"best {best:.2f}, rate {rates[0]:.5f}, {sum(p.numel() for p in model.parameters() if p.requires_grad):,} parameters"
    )
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    subset: Subset[tuple[Tensor, int]] = Subset(Pictures(4), [0, 1])
    pairs = TensorDataset(torch.zeros(4, 2), torch.ones(4))
    first: tuple[Tensor, ...] = pairs[0]
    assert len(subset) == 2 and len(first) == 2
    other = OneCycleLR(optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1), max_lr=0.1, total_steps=3)
    assert other.get_last_lr()
    with tempfile.TemporaryDirectory() as folder:
        train(Options(epochs=arguments.epochs), device, Path(folder))


if __name__ == "__main__":
    main()
