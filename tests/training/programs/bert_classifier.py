"""Fifty AdamW steps of transformers' own BERT with dropout on seeded sentences; prints losses and start as JSON.

Run as a program: under PyTorch by `tools/make_training_snapshots.py`, under ours by `test_seeded_training.py`.
"""

import json

import torch
from transformers import BertConfig, BertForSequenceClassification

STEPS = 50


def sentences(count: int, width: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Seeded token numbers, padding masks and labels; the tokens decide the label, so there is something to learn."""
    generator = torch.Generator().manual_seed(11)
    tokens = torch.randint(5, 512, (count, width), generator=generator)
    lengths = torch.randint(width // 2, width + 1, (count, 1), generator=generator)
    mask = (torch.arange(width) < lengths).long()
    labels = (tokens * mask).sum(1) % 4
    return tokens * mask, mask, labels


def main() -> None:
    """Train and print `{"losses": [...], "start": {parameter: sum of its initial values}}`."""
    torch.manual_seed(2024)
    config = BertConfig(
        vocab_size=512,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        max_position_embeddings=48,
        num_labels=4,
    )
    model = BertForSequenceClassification(config)
    start = {name: parameter.detach().double().sum().item() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    tokens, mask, labels = sentences(64, 32)
    losses = []
    model.train()
    for _ in range(STEPS):
        rows = torch.randperm(len(tokens))[:16]
        loss = model(input_ids=tokens[rows], attention_mask=mask[rows], labels=labels[rows]).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    print(json.dumps({"losses": losses, "start": start}))


if __name__ == "__main__":
    main()
