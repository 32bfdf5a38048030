"""Fifty Adam steps of a small causal language model from plain `nn` layers with dropout; prints JSON.

Run as a program: under PyTorch by `tools/make_training_snapshots.py`, under ours by `test_seeded_training.py`.
"""

import json

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 50
VOCABULARY, WIDTH, HEADS, TOKENS = 96, 48, 4, 24


class Block(nn.Module):
    """Pre-norm attention and feed-forward, dropout after each and inside the attention."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(4 * WIDTH, WIDTH),
        )
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x and the result: (batch, tokens, WIDTH)."""
        batch, tokens, _ = x.shape
        heads = self.qkv(self.norms[0](x)).view(batch, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        scores = heads[0] @ heads[1].transpose(-2, -1) / (WIDTH // HEADS) ** 0.5
        future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        weights = F.dropout(scores.masked_fill(future, float("-inf")).softmax(-1), 0.1, self.training)
        attended = (weights @ heads[2]).transpose(1, 2).reshape(batch, tokens, WIDTH)
        x = x + self.dropout(self.out(attended))
        return x + self.dropout(self.feed_forward(self.norms[1](x)))


class LanguageModel(nn.Module):
    """Embeddings, two blocks and a head that shares the embedding's weights."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Parameter(torch.randn(TOKENS, WIDTH) * 0.02)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm = nn.LayerNorm(WIDTH)
        nn.init.trunc_normal_(self.tokens.weight, std=0.05)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens: (batch, n) integers; the result: (batch, n, VOCABULARY) logits."""
        x = self.tokens(tokens) + self.positions[: tokens.shape[1]]
        return F.linear(self.norm(self.blocks(x)), self.tokens.weight)


def main() -> None:
    """Train and print `{"losses": [...], "start": {parameter: sum of its initial values}}`."""
    torch.manual_seed(7)
    model = LanguageModel()
    start = {name: parameter.detach().double().sum().item() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    losses = []
    for _ in range(STEPS):
        first = torch.randint(0, VOCABULARY, (8, 1))
        sequence = (first + torch.arange(TOKENS + 1) * torch.randint(1, 4, (8, 1))) % VOCABULARY
        logits = model(sequence[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), sequence[:, 1:].flatten(), label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    print(json.dumps({"losses": losses, "start": start}))


if __name__ == "__main__":
    main()
