"""Labelled sentences: from the docstrings of Python's standard library, or from two CSV files of one's own.

A label is the package that a sentence was written for. The split is made so that the test asks for something the
model cannot have memorised: where a package has several modules, whole modules are held out; where it is a single
file, whole docstrings are.
"""

import ast
import collections
import csv
import hashlib
import json
import random
import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

PACKAGES = 20
TEST_SHARE = 0.15
TEST_SHARE_AT_MOST = 0.30
WORDS_AT_LEAST, WORDS_AT_MOST = 4, 64

# Tests and bundled third-party code say little about the package that they lie in.
_FOREIGN_FOLDERS = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__", "ensurepip"}

_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z])")


@dataclass(frozen=True)
class Sentence:
    """One example: its text, its label, and the module and docstring that it came from (empty for CSV rows)."""

    text: str
    label: str
    module: str = ""
    docstring: str = ""


@dataclass(frozen=True)
class Corpus:
    """The two halves and the label names; a label's number is its place in `labels`."""

    train: list[Sentence]
    test: list[Sentence]
    labels: list[str]

    def fingerprint(self) -> str:
        """A hash of every text and label, by which a checkpoint recognises its own data."""
        rows = [[s.text, s.label] for s in self.train + self.test]
        return hashlib.sha256(json.dumps([self.labels, len(self.train), rows]).encode()).hexdigest()


def from_standard_library(seed: int, packages: int = PACKAGES) -> Corpus:
    """The docstrings of the running Python's own standard library, of the `packages` packages with most text."""
    by_package = collections.defaultdict(list)
    for sentence in _standard_library_sentences(Path(sysconfig.get_path("stdlib"))):
        by_package[sentence.label].append(sentence)
    by_size = sorted(by_package, key=lambda name: (-sum(len(s.text) for s in by_package[name]), name))
    labels = sorted(by_size[:packages])
    train, test = [], []
    for label in labels:
        kept, held_out = _split(by_package[label], random.Random(f"{seed} {label}"))
        train += kept
        test += held_out
    return Corpus(train, test, labels)


def from_csv(train_path: Path, test_path: Path) -> Corpus:
    """Two CSV files whose first columns are text and label; a first row that reads `text,label` is taken as a heading.

    Raises ValueError, naming file and line, for a row that lacks one of the two, and for a test label that
    training never shows.
    """
    train, test = _read_csv(train_path), _read_csv(test_path)
    labels = sorted({s.label for s in train})
    unknown = sorted({s.label for s in test} - set(labels))
    if unknown:
        raise ValueError(f"{test_path}: labels that {train_path} does not have: {', '.join(unknown)}")
    if len(labels) < 2:
        raise ValueError(f"{train_path}: needs at least two different labels, has {len(labels)}")
    return Corpus(train, test, labels)


def _read_csv(path: Path) -> list[Sentence]:
    try:
        return _sentences_of_rows(path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected text in UTF-8, found byte {error.object[error.start]:#x}") from None
    except OSError as error:
        raise ValueError(f"{path}: expected a file of comma-separated values: {error.strerror}") from None
    except csv.Error as error:
        raise ValueError(f"{path}: expected comma-separated values, but {error}") from None


def _sentences_of_rows(path: Path) -> list[Sentence]:
    sentences = []
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        for row in reader:
            heading = [cell.strip().lower() for cell in row[:2]] if reader.line_num == 1 else []
            if not row or heading == ["text", "label"]:
                continue
            if {"text", "label"} & set(heading):
                raise ValueError(f"{path}, line 1: expected the heading text,label or none, found {','.join(row)}")
            if len(row) < 2 or not row[0].strip() or not row[1].strip():
                raise ValueError(f"{path}, line {reader.line_num}: expected a text and a label, found {row}")
            sentences.append(Sentence(row[0].strip(), row[1].strip()))
    if not sentences:
        raise ValueError(f"{path}: no rows")
    return sentences


def _standard_library_sentences(root: Path) -> list[Sentence]:
    """Every sentence of every docstring, each text once: the first module in alphabetical order keeps it."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if _FOREIGN_FOLDERS & set(relative.parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue  # templates and samples in odd encodings are part of some installations
        package = _package_name(relative)
        for number, docstring in enumerate(_docstrings(tree)):
            for text in _sentences(docstring):
                sentence = Sentence(text, package, relative.as_posix(), f"{relative.as_posix()}:{number}")
                found.setdefault(text.lower(), sentence)
    return list(found.values())


def _package_name(relative: Path) -> str:
    """`asyncio/events.py` -> asyncio; `_pydecimal.py`, the Python form of decimal, -> decimal."""
    name = relative.parts[0].removesuffix(".py")
    return name.removeprefix("_py") if name.startswith("_py") else name


def _docstrings(tree: ast.Module) -> list[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented))
    return [docstring for docstring in docstrings if docstring]


def _sentences(docstring: str) -> list[str]:
    """Cut at full stops and blank lines; interactive examples and lone words are left out."""
    sentences = []
    for paragraph in _PARAGRAPH.split(docstring):
        if ">>>" in paragraph:
            continue
        for sentence in _SENTENCE_END.split(" ".join(paragraph.split())):
            if WORDS_AT_LEAST <= len(sentence.split()) <= WORDS_AT_MOST:
                sentences.append(sentence)
    return sentences


def _split(sentences: list[Sentence], rng: random.Random) -> tuple[list[Sentence], list[Sentence]]:
    """Hold out about TEST_SHARE of one package: whole modules if that can be done, else whole docstrings."""
    for unit in ("module", "docstring"):
        held_out = _held_out([getattr(s, unit) for s in sentences], rng)
        if held_out:
            break
    return (
        [s for s in sentences if getattr(s, unit) not in held_out],
        [s for s in sentences if getattr(s, unit) in held_out],
    )


def _held_out(units: list[str], rng: random.Random) -> set[str]:
    """Units drawn at random until TEST_SHARE is reached, passing over those that would exceed the upper bound.

    Empty when no choice of units gives at least half of TEST_SHARE: one module holds nearly everything.
    """
    sizes = collections.Counter(units)
    order = sorted(sizes)
    rng.shuffle(order)
    held_out, held = set(), 0
    for unit in order:
        if held >= TEST_SHARE * len(units):
            break
        if held + sizes[unit] <= TEST_SHARE_AT_MOST * len(units):
            held_out.add(unit)
            held += sizes[unit]
    return held_out if held >= TEST_SHARE * len(units) / 2 else set()
