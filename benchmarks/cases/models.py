"""The networks that cases train: BERT by transformers, and a ResNet-50-shaped convolutional network."""

from types import ModuleType
from typing import Any

from transformers import BertConfig, BertForSequenceClassification
from transformers.models.bert.modeling_bert import BertLayer

# layers, hidden size, heads
BERT_SIZES = {"mini": (4, 256, 4), "base": (12, 768, 12)}
_RESNET_STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))  # blocks, width, stride


def bert(size: str) -> Any:
    """BertForSequenceClassification with random weights and dropout, in training mode."""
    layers, hidden, heads = BERT_SIZES[size]
    config = BertConfig(
        hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * hidden
    )
    return BertForSequenceClassification(config).train()


def bert_layer() -> Any:
    """One encoder layer of BERT-base, in training mode."""
    config = BertConfig()
    config._attn_implementation = "sdpa"
    return BertLayer(config).train()


def resnet50(torch: ModuleType) -> Any:
    """ResNet-50: bottleneck blocks of 1x1, 3x3 and 1x1 convolutions with batch norm (He et al., 2015)."""
    nn: Any = torch.nn

    class Bottleneck(nn.Module):
        def __init__(self, channels_in: int, width: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(channels_in, width, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
                nn.Conv2d(width, width, 3, stride, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
                nn.Conv2d(width, 4 * width, 1, bias=False),
                nn.BatchNorm2d(4 * width),
            )
            self.shortcut = nn.Identity()
            if stride != 1 or channels_in != 4 * width:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(channels_in, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
                )
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            return self.relu(self.body(x) + self.shortcut(x))

    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    blocks, channels = [], 64
    for count, width, stride in _RESNET_STAGES:
        for number in range(count):
            blocks.append(Bottleneck(channels, width, stride if number == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))
