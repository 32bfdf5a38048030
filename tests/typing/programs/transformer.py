"""A transformer encoder with masks and positions, trained to sort digits; scheduler, averaging of weights, saving."""

import io
import math

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.optim.swa_utils import AveragedModel


class Positions(nn.Module):
    table: Tensor

    def __init__(self, width: int, length: int = 64) -> None:
        super().__init__()
        at = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(length, width)
        table[:, 0::2] = torch.sin(at * rate)
        table[:, 1::2] = torch.cos(at * rate)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(1)]


class Sorter(nn.Module):
    def __init__(self, symbols: int, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.positions = Positions(width)
        layer = nn.TransformerEncoderLayer(width, heads, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.out = nn.Linear(width, symbols)

    def forward(self, tokens: Tensor, padding: Tensor | None = None) -> Tensor:
        hidden = self.positions(self.embed(tokens))
        hidden = self.encoder(hidden, src_key_padding_mask=padding)
        return self.out(hidden)


def main() -> None:
    torch.manual_seed(3)
    model = Sorter(10)
    averaged = AveragedModel(model)
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-2)
    schedule = SequentialLR(
        optimizer, [LinearLR(optimizer, 0.1, total_iters=5), CosineAnnealingLR(optimizer, T_max=15)], milestones=[5]
    )
    for step in range(20):
        tokens = torch.randint(10, (16, 6))
        target = tokens.sort(dim=1).values
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        averaged.update_parameters(model)
        if step % 10 == 9:
            print(step, round(loss.item(), 3), schedule.get_last_lr())
    buffer = io.BytesIO()
    torch.save(averaged.module.state_dict(), buffer)
    buffer.seek(0)
    missing, unexpected = model.load_state_dict(torch.load(buffer), strict=False)
    print(missing, unexpected)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    q = torch.randn(1, 2, 4, 8)
    attended = nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    print(attended.shape, mask.dtype == torch.float32)


if __name__ == "__main__":
    main()
