"""The example's job, some steps long: transformers' BERT learns packages from docstrings; prints the losses as JSON.

    bert_text.py DEVICE STEPS [SIZE]

Everything is the example's own but the dropout, which is 0: devices draw different random numbers.
"""

import itertools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "bert_docstrings"))

import torch
import transformers
from batches import MAX_TOKENS, EncodedSentences, training_batches
from corpus import from_standard_library
from sizes import SIZES, bert_config
from training import Settings, Training
from wordpiece import train_tokenizer

BATCH = 16


def main(device: str, steps: int, size_name: str = "tiny") -> None:
    """Train and print `{"losses": [...]}`."""
    corpus = from_standard_library(0)
    sentences = corpus.train[: steps * BATCH]
    tokenizer = train_tokenizer(sentence.text for sentence in sentences)
    torch.manual_seed(0)
    size = SIZES[size_name]
    config = bert_config(size, corpus.labels, len(tokenizer), MAX_TOKENS, tokenizer.pad_token_id)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    model = transformers.BertForSequenceClassification(config)
    training = Training(
        model,
        EncodedSentences(sentences, corpus.labels, tokenizer),
        EncodedSentences(corpus.test[:8], corpus.labels, tokenizer),
        tokenizer.pad_token_id,
        Settings(size_name, 1, BATCH, size.learning_rate, 0, ""),
        torch.device(device),
        Path("unused"),
        float("inf"),
    )
    training.model.train()
    for batch in itertools.islice(training_batches(training.train, training.padding, BATCH, 0, 0, 0), steps):
        training._step({name: tensor.to(training.device) for name, tensor in batch.items()})
    print(json.dumps({"losses": training.step_losses, "device": str(next(model.parameters()).device)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
