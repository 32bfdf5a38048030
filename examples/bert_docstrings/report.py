"""The files that a run leaves to look at: the loss curve, the confusion summary and a JSON file with the numbers."""

import json
from collections import Counter
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only: a display is neither needed nor waited for

from matplotlib import pyplot

_SMOOTHING = 0.95
_NUMBERED = 40  # more labels than this leave no room for numbers


def save_loss_curve(step_losses: list[float], history: list[dict[str, float]], path: Path) -> None:
    """Left: the loss of every step, faint and smoothed, with the test loss of every epoch. Right: the accuracies."""
    figure, (losses, accuracies) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    steps = range(1, len(step_losses) + 1)
    ends = [len(step_losses) * (epoch + 1) / len(history) for epoch in range(len(history))]
    losses.plot(steps, step_losses, color="tab:blue", alpha=0.2, linewidth=0.6)
    losses.plot(steps, _smoothed(step_losses), color="tab:blue", label="train")
    losses.plot(ends, [epoch["test_loss"] for epoch in history], "o-", color="tab:orange", label="test")
    losses.set(xlabel="step", ylabel="cross entropy", ylim=(0, None), title="loss")
    epochs = range(1, len(history) + 1)
    for half, colour in (("train", "tab:blue"), ("test", "tab:orange")):
        percent = [100 * epoch[f"{half}_accuracy"] for epoch in history]
        accuracies.plot(epochs, percent, "o-", color=colour, label=half)
    accuracies.set(xlabel="epoch", ylabel="%", ylim=(0, 100), title="accuracy")
    for axes in (losses, accuracies):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def save_confusion(actual: list[int], predicted: list[int], labels: list[str], path: Path, accuracy: float) -> None:
    """One square per pair of labels: how many of the row's sentences went to the column, shaded by their share."""
    counts = Counter(zip(actual, predicted, strict=True))
    totals = Counter(actual)
    everyone = range(len(labels))
    shares = [[counts[row, column] / max(totals[row], 1) for column in everyone] for row in everyone]
    side = 3 + 0.4 * len(labels)
    figure, axes = pyplot.subplots(figsize=(side + 1, side), layout="constrained")
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    figure.colorbar(image, ax=axes, label="share of the label's test sentences", shrink=0.8)
    axes.set_xticks(everyone, labels, rotation=90)
    axes.set_yticks(everyone, [f"{label} ({totals[row]})" for row, label in enumerate(labels)])
    axes.set(xlabel="predicted", ylabel="actual (test sentences)")
    axes.set_title(f"What test sentences were taken for: {accuracy:.1%} right of {len(actual)}")
    if len(labels) <= _NUMBERED:
        for (row, column), count in counts.items():
            shade = "white" if shares[row][column] > 0.5 else "black"
            axes.text(column, row, count, ha="center", va="center", fontsize=8, color=shade)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def confusion_summary(actual: list[int], predicted: list[int], labels: list[str]) -> str:
    """A line per label, best first: how many test sentences, how many were right, what the others were taken for."""
    totals, right, taken_for = Counter(actual), Counter(), {}
    for label, guess in zip(actual, predicted, strict=True):
        if label == guess:
            right[label] += 1
        else:
            taken_for.setdefault(label, Counter())[guess] += 1
    width = max(map(len, labels))
    lines = [f"{'label':<{width}}  test   right  most often taken for"]
    for label in sorted(totals, key=lambda number: (-right[number] / totals[number], labels[number])):
        others = ", ".join(f"{labels[guess]} ({n})" for guess, n in taken_for.get(label, Counter()).most_common(3))
        lines.append(f"{labels[label]:<{width}}  {totals[label]:>4}  {right[label] / totals[label]:>6.1%}  {others}")
    return "\n".join(lines)


def save_numbers(path: Path, **numbers: object) -> None:
    """Everything measured, as JSON, floats in full precision."""
    path.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def _smoothed(values: list[float]) -> list[float]:
    """The exponential moving average, corrected for its start at zero."""
    average, smoothed = 0.0, []
    for count, value in enumerate(values, 1):
        average = _SMOOTHING * average + (1 - _SMOOTHING) * value
        smoothed.append(average / (1 - _SMOOTHING**count))
    return smoothed
