"""Teach BERT, from random weights, which package of the standard library a sentence of documentation belongs to.

    python train.py                                     the docstrings of this Python
    python train.py --data train.csv test.csv           sentences of one's own: columns text, label
    python train.py "return the event loop of the current thread"
    python train.py --resume                            go on after a kill, bit for bit

Everything is written below --out: the checkpoint, the exported model (safetensors), loss.png, confusion.png and
results.json. Runs unchanged under PyTorch and under anything that is imported as `torch`.
"""

# ruff: noqa: E402  (Ctrl-C is answered from the first import on)
import stopping

stopping.nothing_lost_yet()

import argparse
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # forked workers and its threads do not mix

import options as command_line
import report
import torch
import transformers
from batches import MAX_TOKENS, EncodedSentences
from corpus import Corpus, from_csv, from_standard_library
from predict import print_predictions
from sizes import SIZES, bert_config
from training import LossNotFiniteError, Settings, Training, UnreadableCheckpointError, WrongCheckpointError
from wordpiece import train_tokenizer

_ASKED_ANYWAY = [
    "return the event loop of the current thread",
    "add a header field to the message",
    "raise this to fail the test immediately",
    "draw a circle with the given radius",
    "parse the url into its components",
]


def main() -> int:
    """Train, report, export, predict. The status is 1 after a named failure, 130 after Ctrl-C."""
    options = command_line.read(__doc__.splitlines()[0])
    try:
        corpus = from_csv(*options.data) if options.data else from_standard_library(options.seed)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    tokenizer = train_tokenizer(sentence.text for sentence in corpus.train)
    _describe(corpus, options)

    torch.manual_seed(options.seed)
    size = SIZES[options.size]
    config = bert_config(size, corpus.labels, len(tokenizer), MAX_TOKENS, tokenizer.pad_token_id)
    model = transformers.BertForSequenceClassification(config)
    print(f"model    BERT-{options.size}, {sum(p.numel() for p in model.parameters()):,} parameters, random weights\n")
    training = Training(
        model,
        EncodedSentences(corpus.train, corpus.labels, tokenizer),
        EncodedSentences(corpus.test, corpus.labels, tokenizer),
        tokenizer.pad_token_id,
        Settings(
            size=options.size,
            epochs=options.epochs or size.epochs,
            batch_size=options.batch_size,
            learning_rate=options.learning_rate or size.learning_rate,
            seed=options.seed,
            fingerprint=_fingerprint(corpus, tokenizer.get_vocab()),
        ),
        options.device,
        options.out / "checkpoint.pt",
        options.checkpoint_seconds,
    )
    if options.resume and training.path.exists():
        try:
            training.restore()
        except (WrongCheckpointError, UnreadableCheckpointError) as error:
            print(error, file=sys.stderr)
            return 1
        print(f"resumed after step {len(training.step_losses)} (epoch {training.epoch + 1}, batch {training.batch})")
    try:
        with stopping.Request() as asked:
            training.run(asked)
            training.take_best()
            _finish(training, corpus, tokenizer, options.out)
    except LossNotFiniteError as error:
        print(f"\nstopped: {error}", file=sys.stderr)
        return 1
    except stopping.Stopped:
        print(f"saved after step {len(training.step_losses)}; --resume goes on from there", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print(f"\ninterrupted: {training.what_is_lost()}", file=sys.stderr)
        return 130
    print()
    print_predictions(model, tokenizer, options.sentences or ([] if options.data else _ASKED_ANYWAY))
    return 0


def _describe(corpus: Corpus, options: argparse.Namespace) -> None:
    commonest = max(sum(s.label == label for s in corpus.test) for label in corpus.labels) / len(corpus.test)
    source = (
        f"{options.data[0]}, {options.data[1]}" if options.data else f"docstrings of Python {sys.version.split()[0]}"
    )
    print(f"torch    {torch.__version__} ({Path(torch.__file__).parent}), device {options.device}")
    print(f"data     {source}")
    print(f"         {len(corpus.train)} sentences to learn from, {len(corpus.test)} to be tested on")
    print(f"labels   {len(corpus.labels)}: {', '.join(corpus.labels[:30])}{' ...' if len(corpus.labels) > 30 else ''}")
    print(f"         always naming the commonest would be right in {commonest:.1%}")


def _fingerprint(corpus: Corpus, vocabulary: dict[str, int]) -> str:
    return hashlib.sha256((corpus.fingerprint() + json.dumps(sorted(vocabulary.items()))).encode()).hexdigest()


def _finish(training: Training, corpus: Corpus, tokenizer: transformers.PreTrainedTokenizerBase, out: Path) -> None:
    """Write the pictures, the numbers and the export of the best epoch, and print the confusion summary."""
    loss, accuracy, predicted = training.evaluate()
    actual = training.test.labels
    print("\n" + report.confusion_summary(actual, predicted, corpus.labels))
    best = training.best_epoch + 1
    print(f"\ntest accuracy {accuracy:.2%}, loss {loss:.4f}, of epoch {best}, the best of {len(training.history)}")
    report.save_loss_curve(training.step_losses, training.history, out / "loss.png")
    report.save_confusion(actual, predicted, corpus.labels, out / "confusion.png", accuracy)
    report.save_numbers(
        out / "results.json",
        torch=torch.__version__,
        best_epoch=best,
        test_accuracy=accuracy,
        test_loss=loss,
        history=training.history,
        step_losses=training.step_losses,
        predicted=predicted,
    )
    _export(training.model, tokenizer, out / "model")
    print(f"written to {out}: checkpoint.pt, model/ (safetensors), loss.png, confusion.png, results.json")


def _export(model: transformers.PreTrainedModel, tokenizer: transformers.PreTrainedTokenizerBase, folder: Path) -> None:
    """Model and tokenizer as from_pretrained reads them; the folder appears only when it is complete."""
    aside = folder.with_name(folder.name + ".part")
    shutil.rmtree(aside, ignore_errors=True)
    model.save_pretrained(aside)
    tokenizer.save_pretrained(aside)
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)


if __name__ == "__main__":
    sys.exit(main())
