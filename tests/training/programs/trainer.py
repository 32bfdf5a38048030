"""Fifty steps of transformers' own `Trainer`: accumulation, warm-up, clipping, evaluation, a checkpoint; prints JSON.

Run as a program: under PyTorch by `tools/make_training_snapshots.py`, under ours by `test_seeded_training.py`.
"""

import json
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
    set_seed,
)

STEPS = 50
VOCABULARY = 128


class Sentences(Dataset):
    """Sentences of 8 to 20 tokens; the label is the parity of the first token."""

    def __init__(self, count: int, first: int) -> None:
        self.count, self.first = count, first

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict:
        generator = torch.Generator().manual_seed(self.first + index)
        tokens = torch.randint(1, VOCABULARY, (8 + index % 13,), generator=generator)
        return {"input_ids": tokens, "labels": int(tokens[0]) % 2}


def collate(rows: list[dict]) -> dict[str, torch.Tensor]:
    """Rows padded with zeros to the longest."""
    tokens = torch.nn.utils.rnn.pad_sequence([row["input_ids"] for row in rows], batch_first=True)
    return {
        "input_ids": tokens,
        "attention_mask": (tokens > 0).long(),
        "labels": torch.tensor([r["labels"] for r in rows]),
    }


def main() -> None:
    """Train and print the losses, in the order of the steps, and the parameters' sums at the start."""
    set_seed(7)
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=VOCABULARY, dim=32, hidden_dim=64, n_layers=2, n_heads=4, max_position_embeddings=32
        )
    )
    start = {name: parameter.detach().double().sum().item() for name, parameter in model.named_parameters()}
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model,
            TrainingArguments(
                folder,
                max_steps=STEPS,
                per_device_train_batch_size=4,
                gradient_accumulation_steps=2,
                learning_rate=3e-3,
                lr_scheduler_type="cosine",
                warmup_steps=5,
                max_grad_norm=0.5,
                weight_decay=0.01,
                logging_steps=1,
                eval_strategy="steps",
                eval_steps=25,
                save_steps=25,
                disable_tqdm=True,
                report_to=[],
                use_cpu=True,
                dataloader_pin_memory=False,
            ),
            train_dataset=Sentences(120, 0),
            eval_dataset=Sentences(24, 1000),
            data_collator=collate,
        )
        trainer.remove_callback(PrinterCallback)  # prints every row
        trainer.train()
        again = DistilBertForSequenceClassification.from_pretrained(f"{folder}/checkpoint-{STEPS}")
    for name, parameter in again.named_parameters():
        assert torch.equal(parameter, model.get_parameter(name)), name
    history = trainer.state.log_history
    print(
        json.dumps(
            {
                "losses": [row["loss"] for row in history if "loss" in row],
                "evaluated": [row["eval_loss"] for row in history if "eval_loss" in row],
                "start": start,
            }
        )
    )


if __name__ == "__main__":
    main()
