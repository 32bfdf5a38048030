"""From sentences to padded batches: encoding, an order that depends on seed and epoch alone, and the data loader."""

from collections.abc import Iterator
from typing import Any

import torch
from corpus import Sentence
from transformers import PreTrainedTokenizerBase

MAX_TOKENS = 64
# Batches are cut from runs of this many batches sorted by length: little padding, still a different mix every epoch.
_SORTED_RUN = 50


class EncodedSentences(torch.utils.data.Dataset):
    """Token numbers and label number of each sentence, encoded once."""

    def __init__(self, sentences: list[Sentence], labels: list[str], tokenizer: PreTrainedTokenizerBase):
        texts = [sentence.text for sentence in sentences]
        self.tokens = tokenizer(texts, truncation=True, max_length=MAX_TOKENS)["input_ids"]
        numbers = {label: number for number, label in enumerate(labels)}
        self.labels = [numbers[sentence.label] for sentence in sentences]

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> tuple[list[int], int]:
        return self.tokens[index], self.labels[index]


class ShuffledBatches(torch.utils.data.Sampler):
    """The batches of one epoch, shuffled by (seed, epoch), from batch number `start` on.

    Nothing is remembered between epochs, so a position in training is two numbers, and a resumed run sees the
    batches that an unbroken one would have seen.
    """

    def __init__(self, lengths: list[int], batch_size: int, seed: int, epoch: int, start: int = 0):
        self.batch_count = -(-len(lengths) // batch_size)
        self.start = start
        generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
        order = torch.randperm(len(lengths), generator=generator).tolist()
        run = _SORTED_RUN * batch_size
        order = [
            index for i in range(0, len(order), run) for index in sorted(order[i : i + run], key=lengths.__getitem__)
        ]
        batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
        self.batches = [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]

    def __len__(self) -> int:
        return self.batch_count - self.start

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batches[self.start :])


class PaddedBatch:
    """Collate function: pads to the longest sentence of the batch and marks the padding."""

    def __init__(self, padding: int):
        self.padding = padding

    def __call__(self, examples: list[tuple[list[int], int]]) -> dict[str, torch.Tensor]:
        width = max(len(tokens) for tokens, _ in examples)
        input_ids = torch.full((len(examples), width), self.padding, dtype=torch.long)
        attention_mask = torch.zeros((len(examples), width), dtype=torch.long)
        for row, (tokens, _) in enumerate(examples):
            input_ids[row, : len(tokens)] = torch.tensor(tokens)
            attention_mask[row, : len(tokens)] = 1
        labels = torch.tensor([label for _, label in examples])
        return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


def training_batches(
    data: EncodedSentences, padding: int, batch_size: int, seed: int, epoch: int, start: int
) -> torch.utils.data.DataLoader:
    """The batches of `epoch` from number `start` on."""
    sampler = ShuffledBatches([len(tokens) for tokens in data.tokens], batch_size, seed, epoch, start)
    return _loader(data, padding, batch_sampler=sampler)


def test_batches(data: EncodedSentences, padding: int, batch_size: int) -> torch.utils.data.DataLoader:
    """All of `data`, in order."""
    return _loader(data, padding, batch_size=batch_size)


def _loader(data: EncodedSentences, padding: int, **how: Any) -> torch.utils.data.DataLoader:
    """A loader with a generator of its own.

    Every pass draws a seed for its workers; drawn from the global generator, it would make dropout depend on how
    often the loaders were started, and a resumed run would differ from an unbroken one.
    """
    return torch.utils.data.DataLoader(data, collate_fn=PaddedBatch(padding), generator=torch.Generator(), **how)
