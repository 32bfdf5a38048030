"""A sequence-to-sequence model with attention: embeddings, packed sequences, padding, masks."""

import random
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Final

import torch
from torch import LongTensor, Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, SequentialSampler, get_worker_info

PAD: Final = 0


class Vocabulary:
    def __init__(self, words: Sequence[str]) -> None:
        self.index = {word: i + 1 for i, (word, _) in enumerate(Counter(words).most_common())}

    def __len__(self) -> int:
        return len(self.index) + 1

    def encode(self, text: str) -> Tensor:
        return torch.tensor([self.index[word] for word in text.split()], dtype=torch.long)


class Stream(IterableDataset[Tensor]):
    def __init__(self, sentences: list[str], vocabulary: Vocabulary) -> None:
        self.sentences, self.vocabulary = sentences, vocabulary

    def __iter__(self):  # type: ignore[no-untyped-def]
        info = get_worker_info()
        step = 1 if info is None else info.num_workers
        for sentence in self.sentences[::step]:
            yield self.vocabulary.encode(sentence)


class Encoder(nn.Module):
    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size, hidden, padding_idx=PAD)
        self.rnn = nn.GRU(hidden, hidden, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)
        self.join = nn.Linear(2 * hidden, hidden, bias=False)

    def forward(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        packed: PackedSequence = pack_padded_sequence(
            self.embedding(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        out, state = self.rnn(packed)
        padded, _ = pad_packed_sequence(out, batch_first=True)
        return self.join(padded), state[-1]


class Decoder(nn.Module):
    def __init__(self, size: int, hidden: int, heads: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size, hidden)
        self.attention = nn.MultiheadAttention(hidden, heads, batch_first=True)
        self.cell = nn.LSTMCell(hidden, hidden)
        self.layers = nn.ModuleDict({"out": nn.Linear(hidden, size), "norm": nn.LayerNorm(hidden)})
        self.drops = nn.ModuleList([nn.Dropout(p) for p in (0.0, 0.1)])
        self.bias = nn.ParameterList([nn.Parameter(torch.zeros(size))])

    def forward(
        self, token: Tensor, memory: Tensor, mask: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = self.cell(self.embedding(token), state)
        context, weights = self.attention(h.unsqueeze(1), memory, memory, key_padding_mask=mask, need_weights=True)
        x = self.layers["norm"](context.squeeze(1) + h)
        for drop in self.drops:
            x = drop(x)
        return self.layers["out"](x) + self.bias[0], (h, c)


class Pair(nn.Module):
    def __init__(self, size: int, hidden: int = 8) -> None:
        super().__init__()
        self.encoder = Encoder(size, hidden)
        self.decoder = Decoder(size, hidden)

    def forward(self, tokens: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        memory, _ = self.encoder(tokens, lengths)
        mask = torch.arange(memory.size(1), device=tokens.device)[None, :] >= lengths[:, None]
        logits: list[Tensor] = []
        state: tuple[Tensor, Tensor] | None = None
        token = target[:, 0]
        for step in range(1, target.size(1)):
            out, state = self.decoder(token, memory, mask, state)
            logits.append(out)
            token = target[:, step] if random.random() < 0.5 else out.argmax(dim=-1)
        return torch.stack(logits, dim=1)

    @torch.no_grad()
    def greedy(self, tokens: Tensor, lengths: Tensor, steps: int) -> list[list[int]]:
        was = self.training
        self.eval()
        out = self(tokens, lengths, tokens.new_full((tokens.size(0), steps + 1), 1))
        self.train(was)
        best: list[list[int]] = out.argmax(-1).tolist()
        return best


def collate(rows: list[Tensor]) -> tuple[Tensor, Tensor]:
    return pad_sequence(rows, batch_first=True, padding_value=PAD), torch.tensor([len(row) for row in rows])


def main() -> None:
    random.seed(0)
    torch.manual_seed(0)
    sentences = ["a b c d", "b c", "d a b", "c c a d b", "a", "d d d"]
    vocabulary = Vocabulary(" ".join(sentences).split())
    model = Pair(len(vocabulary))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
    loss = torch.zeros(())
    for _ in range(3):
        for tokens, lengths in DataLoader(Stream(sentences, vocabulary), batch_size=3, collate_fn=collate):
            tokens, lengths = tokens[lengths > 1], lengths[lengths > 1]
            optimizer.zero_grad()
            logits = model(tokens, lengths, tokens)
            loss = criterion(logits.flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 1.0)
            optimizer.step()
    chosen = list(BatchSampler(SequentialSampler(range(5)), batch_size=2, drop_last=False))
    state = OrderedDict((k, v.clone()) for k, v in model.state_dict().items())
    top = torch.topk(F.softmax(logits, dim=-1), k=2)
    print(f"loss {loss.item():.3f}", chosen, len(state), top.values.shape, top.indices.dtype)
    tokens, lengths = collate([vocabulary.encode("a b c"), vocabulary.encode("d a")])
    print(model.greedy(tokens, lengths, 3))
    wanted: LongTensor = tokens.long()  # type: ignore[assignment]
    assert wanted.dtype is torch.int64
    causal = nn.Transformer.generate_square_subsequent_mask(4)
    attended = F.scaled_dot_product_attention(
        torch.randn(1, 2, 4, 8), torch.randn(1, 2, 4, 8), torch.randn(1, 2, 4, 8), attn_mask=causal
    )
    assert attended.shape == torch.Size([1, 2, 4, 8])


if __name__ == "__main__":
    main()
