"""The three sizes of BERT that the demo knows, after the published miniatures (Turc et al., 2019)."""

from dataclasses import dataclass

from transformers import BertConfig


@dataclass(frozen=True)
class Size:
    """A model's shape and the training settings that suit it from random weights."""

    layers: int
    hidden: int
    heads: int
    epochs: int
    learning_rate: float


SIZES = {
    "tiny": Size(layers=2, hidden=128, heads=2, epochs=6, learning_rate=1e-3),
    "mini": Size(layers=4, hidden=256, heads=4, epochs=5, learning_rate=5e-4),
    "base": Size(layers=12, hidden=768, heads=12, epochs=4, learning_rate=5e-5),
}


def bert_config(size: Size, labels: list[str], vocabulary_size: int, tokens: int, padding: int) -> BertConfig:
    """BERT of this size with a classification head for `labels`, reading at most `tokens` tokens."""
    return BertConfig(
        vocab_size=vocabulary_size,
        hidden_size=size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.hidden,
        max_position_embeddings=tokens,
        pad_token_id=padding,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
