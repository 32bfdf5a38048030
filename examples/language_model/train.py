"""A small transformer learns to write documentation from that of Python's library, letter by letter, and goes on with what you begin.

python -m mindtorch_v2 examples/language_model/train.py
python -m mindtorch_v2 examples/language_model/train.py --chat     # with the model that was trained
"""

import argparse
import importlib
import inspect
import pathlib
import re

import matplotlib
import torch
import torch.nn.functional as F
from torch import Tensor, nn

matplotlib.use("Agg")
from matplotlib import pyplot

LETTERS = "\n abcdefghijklmnopqrstuvwxyz0123456789.,:;()'-_"
CONTEXT = 64
MODULES = "argparse asyncio collections csv datetime email functools inspect json logging os pathlib random re socket statistics string subprocess threading tkinter unittest urllib.request zipfile".split()


def text() -> str:
    """The docstrings of Python's library, in the letters that the model knows."""
    found: dict[str, None] = {}
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue  # a Python without it
        for value in vars(module).values():
            for each in (value, *(vars(value).values() if isinstance(value, type) else ())):
                if (inspect.isroutine(each) or isinstance(each, type)) and isinstance(each.__doc__, str):
                    found[inspect.cleandoc(each.__doc__)] = None
    joined = "\n\n".join(found).lower()
    return re.sub(r" +", " ", "".join(letter for letter in joined if letter in LETTERS))


class Model(nn.Module):
    """Embeddings of letters and places, a causal transformer, a letter's logits: (N, T) -> (N, T, letters)."""

    def __init__(self, width: int = 96, heads: int = 4, layers: int = 3) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), width)
        self.places = nn.Embedding(CONTEXT, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = self.letters(tokens) + self.places(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return F.linear(self.body(x, mask=mask, is_causal=True), self.letters.weight)


@torch.no_grad()
def go_on(model: Model, beginning: str, count: int = 160, temperature: float = 0.7) -> str:
    """The beginning, and `count` letters that the model adds."""
    tokens = [LETTERS.index(letter) for letter in beginning.lower() if letter in LETTERS] or [0]
    for _ in range(count):
        logits = model(torch.tensor([tokens[-CONTEXT:]]))[0, -1]
        tokens.append(int(torch.multinomial(F.softmax(logits / temperature, dim=0), 1)))
    return "".join(LETTERS[token] for token in tokens)


def train(model: Model, data: Tensor, steps: int) -> list[float]:
    """The loss of each step, in nats a letter."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    losses = []
    for step in range(steps):
        starts = torch.randint(len(data) - CONTEXT - 1, (32, 1))
        piece = data[starts + torch.arange(CONTEXT + 1)]
        loss = F.cross_entropy(model(piece[:, :-1]).flatten(0, 1), piece[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 50 == 49:
            print(f"step {step + 1} of {steps}: {sum(losses[-50:]) / 50:.3f} nats a letter", flush=True)
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--chat", action="store_true", help="go on with lines that are typed; an empty one ends")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/language_model"))
    chosen = parser.parse_args()
    torch.manual_seed(0)
    model = Model()
    file = chosen.out / "model.pt"
    if chosen.chat:
        if not file.exists():
            parser.error(f"{file} is not there: train first, without --chat")
        model.load_state_dict(torch.load(file, weights_only=True))
        model.eval()
        while line := input("> "):
            print(go_on(model, line))
        return
    if chosen.steps < 2:
        parser.error("--steps: at least 2")
    chosen.out.mkdir(parents=True, exist_ok=True)
    written = text()
    data = torch.tensor([LETTERS.index(letter) for letter in written])
    print(f"{len(data):,} letters, {sum(p.numel() for p in model.parameters()):,} parameters")
    losses = train(model, data, chosen.steps)
    model.eval()
    torch.save(model.state_dict(), file)
    sample = go_on(model, "return the ")
    print(f"\n{sample}\n")
    figure, place = pyplot.subplots(figsize=(8, 4.5))
    place.plot(losses)
    place.set(
        xlabel="step", ylabel="nats a letter", title=f"a language model of {len(data):,} letters of documentation"
    )
    place.text(
        0.98,
        0.95,
        sample[:240],
        transform=place.transAxes,
        ha="right",
        va="top",
        fontsize=7,
        family="monospace",
        wrap=True,
    )
    figure.savefig(chosen.out / "loss.png", dpi=100)
    print(f"{losses[-1]:.3f} nats a letter at the end; {chosen.out / 'loss.png'}; --chat talks to it")


if __name__ == "__main__":
    main()
