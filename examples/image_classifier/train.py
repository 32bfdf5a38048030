"""A convolutional network learns to read digits that are drawn here: turned, scaled, moved, in noise.

python -m mindtorch_v2 examples/image_classifier/train.py
"""

import argparse
import math
import pathlib

import matplotlib
import torch
import torch.nn.functional as F
from torch import Tensor, nn

matplotlib.use("Agg")
from matplotlib import pyplot


def drawn(size: int = 28) -> Tensor:
    """The ten digits in the fonts that matplotlib brings: (fonts, 10, size, size), white on black."""
    pictures = []
    for font in ("DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "STIXGeneral"):
        for digit in range(10):
            figure = pyplot.figure(figsize=(1, 1), dpi=size, facecolor="black")
            figure.text(0.5, 0.46, str(digit), color="white", family=font, size=44, ha="center", va="center")
            figure.canvas.draw()
            pictures.append(torch.tensor(figure.canvas.buffer_rgba().tolist())[..., 0] / 255)
            pyplot.close(figure)
    return torch.stack(pictures).reshape(4, 10, size, size)


def samples(digits: Tensor, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """`count` pictures (count, 1, size, size) and the digits that they show."""
    labels = torch.randint(10, (count,), generator=generator)
    fonts = torch.randint(digits.shape[0], (count,), generator=generator)
    turn, scale, right, down = (torch.rand(4, count, generator=generator) * 2 - 1).unbind()
    turn, scale = turn * math.pi / 8, 1.1 + 0.25 * scale
    affine = torch.stack(
        [
            torch.stack([scale * turn.cos(), -scale * turn.sin(), 0.25 * right], dim=1),
            torch.stack([scale * turn.sin(), scale * turn.cos(), 0.25 * down], dim=1),
        ],
        dim=1,
    )
    pictures = digits[fonts, labels].unsqueeze(1)
    grid = F.affine_grid(affine, list(pictures.shape), align_corners=False)
    moved = F.grid_sample(pictures, grid, align_corners=False)
    return moved + 0.25 * torch.randn(moved.shape, generator=generator), labels


def network() -> nn.Module:
    """Two convolutions, each halving the picture, and a linear layer."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 7 * 7, 10),
    )  # fmt: skip


def train(model: nn.Module, digits: Tensor, steps: int, generator: torch.Generator) -> list[float]:
    """The loss of each step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps)
    losses = []
    for step in range(steps):
        pictures, labels = samples(digits, 64, generator)
        loss = F.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 50 == 49:
            print(f"step {step + 1} of {steps}: loss {sum(losses[-50:]) / 50:.3f}", flush=True)
    return losses


def picture(
    path: pathlib.Path, losses: list[float], pictures: Tensor, labels: Tensor, said: Tensor, right: float
) -> None:
    """The loss, and pictures that training never saw with what the network says: wrong ones in red."""
    figure, places = pyplot.subplots(4, 8, figsize=(10, 5.6))
    for place, image, label, guess in zip(places.flat, pictures, labels.tolist(), said.tolist(), strict=False):
        place.imshow(image[0].tolist(), cmap="gray")
        place.set_title(str(guess), color="black" if guess == label else "red", fontsize=9)
        place.axis("off")
    figure.suptitle(f"what the network reads; {right:.1%} of 2,000 new pictures right, last loss {losses[-1]:.2f}")
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/image_classifier"))
    chosen = parser.parse_args()
    if chosen.steps < 2:
        parser.error("--steps: at least 2")
    chosen.out.mkdir(parents=True, exist_ok=True)
    generator = torch.manual_seed(0)
    digits, model = drawn(), network()
    losses = train(model, digits, chosen.steps, generator)
    model.eval()
    with torch.inference_mode():
        pictures, labels = samples(digits, 2000, generator)
        said = model(pictures).argmax(dim=1)
    right = (said == labels).float().mean().item()
    torch.save(model.state_dict(), chosen.out / "model.pt")
    picture(chosen.out / "digits.png", losses, pictures, labels, said, right)
    print(f"{right:.1%} of 2,000 new pictures are read right; {chosen.out / 'digits.png'}")


if __name__ == "__main__":
    main()
