"""A character language model with an embedding, an LSTM and sampling."""

from __future__ import annotations

import torch
from torch import nn, optim

TEXT = "the quick brown fox jumps over the lazy dog. " * 4


class CharacterModel(nn.Module):
    def __init__(self, vocabulary: int, width: int = 24, layers: int = 1) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, num_layers=layers, batch_first=True)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(
        self, tokens: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        hidden, state = self.lstm(self.embedding(tokens), state)
        assert state is not None
        return self.head(hidden), state


@torch.no_grad()
def sample(model: CharacterModel, alphabet: list[str], start: int, count: int, temperature: float = 0.8) -> str:
    token = torch.tensor([[start]], dtype=torch.long)
    state: tuple[torch.Tensor, torch.Tensor] | None = None
    text = []
    for _ in range(count):
        logits, state = model(token, state)
        probabilities = torch.softmax(logits[:, -1] / temperature, dim=-1)
        token = torch.multinomial(probabilities, num_samples=1)
        text.append(alphabet[int(token)])
    return "".join(text)


def main() -> None:
    torch.manual_seed(0)
    alphabet = sorted(set(TEXT))
    encoded = torch.tensor([alphabet.index(c) for c in TEXT])
    inputs, targets = encoded[:-1].view(1, -1), encoded[1:].view(1, -1)
    model = CharacterModel(len(alphabet))
    print(sum(p.numel() for p in model.parameters()))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    for step in range(20):
        logits, _ = model(inputs)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        if step % 10 == 9:
            print(step, f"{loss.item():.3f}")
    print(len(sample(model, alphabet, 0, 20)))


if __name__ == "__main__":
    main()
