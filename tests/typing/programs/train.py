"""A typed training program as people write them: data, model, mixed precision, schedule, checkpoints, evaluation."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.amp import GradScaler, autocast
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset, random_split


@dataclass
class Settings:
    epochs: int = 2
    batch_size: int = 32
    learning_rate: float = 3e-3
    weight_decay: float = 0.01
    warmup: int = 10
    hidden: int = 32
    clip: float = 1.0
    seed: int = 0
    device: torch.device = torch.device("cpu")
    precision: torch.dtype = torch.float32
    checkpoint: Path | None = None


class Spirals(Dataset[tuple[Tensor, Tensor]]):
    """Points on two spirals, and which one."""

    def __init__(self, count: int, noise: float = 0.05) -> None:
        angle = torch.linspace(0.5, 3 * math.pi, count)
        self.labels = torch.arange(count) % 2
        turn = angle + self.labels * math.pi
        points = torch.stack([turn.cos(), turn.sin()], dim=1) * (angle / angle.max()).unsqueeze(1)
        self.points: Tensor = points + noise * torch.randn_like(points)

    def __len__(self) -> int:
        return self.points.shape[0]

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.points[index], self.labels[index]


class Block(nn.Module):
    def __init__(self, width: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.gelu(self.up(self.norm(x)))
        return x + self.dropout(self.down(hidden))


class Classifier(nn.Module):
    scale: Tensor

    def __init__(self, inputs: int, classes: int, width: int, depth: int = 2) -> None:
        super().__init__()
        self.embed = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))
        self.temperature = nn.Parameter(torch.ones(1))
        self.register_buffer("scale", torch.tensor(2.0))
        self.apply(self._initialise)

    @staticmethod
    def _initialise(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x * self.scale)
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(x)
        return logits / self.temperature

    def parameter_groups(self, decay: float) -> list[dict[str, object]]:
        matrices = [p for p in self.parameters() if p.requires_grad and p.dim() >= 2]
        vectors = [p for p in self.parameters() if p.requires_grad and p.dim() < 2]
        return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def warmup_and_cosine(warmup: int, total: int) -> Callable[[int], float]:
    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

    return factor


def batches(loader: DataLoader[tuple[Tensor, Tensor]], device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    for points, labels in loader:
        yield points.to(device, non_blocking=True), labels.to(device)


def train_epoch(
    model: nn.Module,
    loader: DataLoader[tuple[Tensor, Tensor]],
    optimizer: Optimizer,
    scheduler: LambdaLR,
    scaler: GradScaler,
    settings: Settings,
) -> float:
    model.train()
    total, seen = 0.0, 0
    for points, labels in batches(loader, settings.device):
        optimizer.zero_grad(set_to_none=True)
        with autocast(settings.device.type, dtype=torch.bfloat16, enabled=settings.precision is torch.bfloat16):
            logits: Tensor = model(points)
            loss = F.cross_entropy(logits, labels, label_smoothing=0.05)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        if not torch.isfinite(norm):
            continue
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        total += loss.item() * labels.numel()
        seen += labels.size(0)
    return total / max(seen, 1)


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader[tuple[Tensor, Tensor]], device: torch.device) -> float:
    model.eval()
    right = torch.zeros((), dtype=torch.int64, device=device)
    seen = 0
    for points, labels in batches(loader, device):
        right += (model(points).argmax(dim=-1) == labels).sum()
        seen += len(labels)
    return int(right.item()) / seen


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=Settings.epochs)
    parser.add_argument("--checkpoint", type=Path)
    arguments = parser.parse_args()
    settings = Settings(epochs=arguments.epochs, checkpoint=arguments.checkpoint)
    generator = torch.manual_seed(settings.seed)
    training, held_out = random_split(Spirals(400), [320, 80], generator=generator)
    loader = DataLoader(training, batch_size=settings.batch_size, shuffle=True, drop_last=True, generator=generator)
    testing = DataLoader(held_out, batch_size=80)
    model = Classifier(2, 2, settings.hidden).to(settings.device)
    optimizer = AdamW(model.parameter_groups(settings.weight_decay), lr=settings.learning_rate, betas=(0.9, 0.95))
    scheduler = LambdaLR(optimizer, warmup_and_cosine(settings.warmup, settings.epochs * len(loader)))
    scaler = GradScaler(settings.device.type, enabled=False)
    best = 0.0
    for epoch in range(settings.epochs):
        began = time.perf_counter()
        loss = train_epoch(model, loader, optimizer, scheduler, scaler, settings)
        accuracy = evaluate(model, testing, settings.device)
        rate = scheduler.get_last_lr()[0]
        print(f"{epoch} loss {loss:.4f} accuracy {accuracy:.3f} rate {rate:.2e} {time.perf_counter() - began:.1f} s")
        if accuracy >= best and settings.checkpoint is not None:
            best = accuracy
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, settings.checkpoint)
    if settings.checkpoint is not None:
        model.load_state_dict(torch.load(settings.checkpoint, weights_only=True)["model"])


if __name__ == "__main__":
    main()
