"""Say which package sentences belong to, by the model that train.py exported.

python predict.py "return the event loop of the current thread"
python predict.py --model out/bert_docstrings/model < sentences.txt
"""

import argparse
import sys
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

GUESSES = 3


def main() -> None:
    """Read the command line, load the export, print one line per sentence."""
    parser = argparse.ArgumentParser(description="Classify sentences by the model that train.py exported.")
    parser.add_argument(
        "sentences", nargs="*", help="sentences; read from standard input, one a line, if none is given"
    )
    parser.add_argument("--model", type=Path, default=Path("out/bert_docstrings/model"), help="the exported model")
    options = parser.parse_args()
    if not (options.model / "config.json").is_file():
        parser.error(f"no exported model in {options.model}; train.py makes one")
    sentences = options.sentences or [line.strip() for line in sys.stdin if line.strip()]
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModelForSequenceClassification.from_pretrained(options.model)
    print_predictions(model, tokenizer, sentences)


def print_predictions(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sentences: list[str]) -> None:
    """One line per sentence: the likeliest labels with their probabilities."""
    for sentence, guesses in zip(sentences, predict(model, tokenizer, sentences), strict=True):
        print(f'"{sentence}"\n    -> ' + ", ".join(f"{label} {probability:.0%}" for label, probability in guesses))


@torch.no_grad()
def predict(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sentences: list[str]
) -> list[list[tuple[str, float]]]:
    """For each sentence its GUESSES likeliest labels with their probabilities, likeliest first."""
    if not sentences:
        return []
    model.eval()
    longest = model.config.max_position_embeddings
    batch = tokenizer(sentences, padding=True, truncation=True, max_length=longest, return_tensors="pt")
    logits = model(**batch.to(model.device)).logits
    top = torch.softmax(logits.float(), dim=-1).topk(min(GUESSES, logits.shape[-1]))
    names = model.config.id2label
    return [
        [(names[number], probability) for number, probability in zip(numbers, probabilities, strict=True)]
        for numbers, probabilities in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    ]


if __name__ == "__main__":
    main()
