"""A WordPiece vocabulary learnt from the training sentences, wrapped as a transformers tokenizer."""

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

VOCABULARY_SIZE = 4096
_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def train_tokenizer(texts: Iterable[str], vocabulary_size: int = VOCABULARY_SIZE) -> PreTrainedTokenizerFast:
    """Learn a lower-case vocabulary from `texts`; the same texts give the same vocabulary.

    An underscore joins words in Python's names, so `_` is cut off as punctuation is: `run_until_complete` shares
    its pieces with "run until complete".
    """
    tokenizer = _untrained({})
    tokenizer = _untrained(_learn_vocabulary(tokenizer, list(texts), vocabulary_size))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def _untrained(vocabulary: dict[str, int]) -> Tokenizer:
    """BERT's way of cutting text into words, and words into the pieces of `vocabulary`."""
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def _learn_vocabulary(tokenizer: Tokenizer, texts: list[str], size: int) -> dict[str, int]:
    """Train `tokenizer` and return its vocabulary, which the caller gives to a fresh one.

    The trainer numbers the pieces of one character in the order of a hash table, which changes from process to
    process, and breaks ties between merges by number. Pieces that are there beforehand keep their numbers, so all of
    one character are handed in, sorted, as if they were special tokens.
    """
    characters = sorted(set("".join(tokenizer.normalizer.normalize_str(text) for text in texts)) - {" "})
    beforehand = _SPECIAL + characters + [f"##{character}" for character in characters]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, special_tokens=beforehand, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer.get_vocab()
