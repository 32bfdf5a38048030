"""The training loop: steps, epochs, evaluation, and the state from which a broken-off run goes on bit for bit."""

import math
import pickle
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import checkpoint
import torch
from batches import EncodedSentences, test_batches, training_batches
from stopping import Request, Stopped
from tqdm import tqdm
from transformers import get_linear_schedule_with_warmup

WEIGHT_DECAY = 0.01
WARMUP_SHARE = 0.1
GRADIENT_NORM = 1.0
_TEST_BATCH_SIZE = 128
_PROGRESS = "epoch batch seconds loss_sum correct seen step_losses history best_epoch".split()


class LossNotFiniteError(ArithmeticError):
    """The training loss became NaN or infinite."""


class WrongCheckpointError(ValueError):
    """A checkpoint that was made by other settings or from other data."""


class UnreadableCheckpointError(ValueError):
    """A file that is no checkpoint, or a damaged one."""


@dataclass(frozen=True)
class Settings:
    """Settings that decide the numbers of a run; a checkpoint goes on only under the settings that it was made with."""

    size: str
    epochs: int
    batch_size: int
    learning_rate: float
    seed: int
    fingerprint: str


class Training:
    """One run: model, optimizer, schedule, position and history.

    `epoch` and `batch` say which batch comes next; `step_losses` holds one loss per step taken and `history` one
    dict per finished epoch (train_loss, train_accuracy, test_loss, test_accuracy, seconds). `best` are the weights of
    `best_epoch`, whose accuracy on the test sentences is highest (the first of several): those are exported.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        train: EncodedSentences,
        test: EncodedSentences,
        padding: int,
        settings: Settings,
        device: torch.device,
        path: Path,
        checkpoint_seconds: float,
    ):
        self.model, self.train, self.test, self.padding = model.to(device), train, test, padding
        self.settings, self.device, self.path, self.checkpoint_seconds = settings, device, path, checkpoint_seconds
        self.optimizer = torch.optim.AdamW(_decayed_apart(model), lr=settings.learning_rate)
        steps = settings.epochs * -(-len(train) // settings.batch_size)
        self.schedule = get_linear_schedule_with_warmup(self.optimizer, int(WARMUP_SHARE * steps), steps)
        self.epoch = self.batch = 0
        self.seconds = self.loss_sum = 0.0
        self.correct = self.seen = 0
        self.step_losses: list[float] = []
        self.history: list[dict[str, float]] = []
        self.best_epoch = 0
        self.best: dict[str, torch.Tensor] = {}
        self._asked: Request | None = None
        self._saved_at, self._saved_step = time.monotonic(), 0

    def run(self, asked: Request | None = None) -> None:
        """Train to the last epoch. Raises LossNotFiniteError; the last checkpoint then is from before that step.

        Raises Stopped, the state saved, soon after `asked` says that somebody wants it to stop.
        """
        self._asked = asked
        while self.epoch < self.settings.epochs:
            self._run_epoch()
            test_loss, test_accuracy, _ = self.evaluate()
            if not self.best or test_accuracy > self.history[self.best_epoch]["test_accuracy"]:
                self.best_epoch = self.epoch
                self.best = {name: tensor.to("cpu", copy=True) for name, tensor in self.model.state_dict().items()}
            self.history.append(
                {
                    "train_loss": self.loss_sum / self.seen,
                    "train_accuracy": self.correct / self.seen,
                    "test_loss": test_loss,
                    "test_accuracy": test_accuracy,
                    "seconds": self.seconds,
                }
            )
            self.epoch, self.batch = self.epoch + 1, 0
            self.seconds, self.loss_sum, self.correct, self.seen = 0.0, 0.0, 0, 0
            self.save()
            self._print_epoch()

    def take_best(self) -> None:
        """Give the model the weights of the best epoch."""
        self.model.load_state_dict(self.best)

    def what_is_lost(self) -> str:
        """A sentence for somebody who ends the program now."""
        done = len(self.step_losses)
        if not self._saved_step:
            return f"no checkpoint was written yet, so that the {done} steps are lost"
        lost = f"the {done - self._saved_step} steps since are lost" if done > self._saved_step else "no step is lost"
        return f"--resume goes on from {self.path}, written after step {self._saved_step}; {lost}"

    def _stop_if_asked(self) -> None:
        if self._asked is not None and self._asked.made:
            self.save()
            raise Stopped

    @torch.no_grad()
    def evaluate(self) -> tuple[float, float, list[int]]:
        """Loss, accuracy and predicted label numbers on the test sentences."""
        self.model.eval()
        loss, predicted = 0.0, []
        for batch in test_batches(self.test, self.padding, _TEST_BATCH_SIZE):
            self._stop_if_asked()
            batch = {name: tensor.to(self.device) for name, tensor in batch.items()}
            output = self.model(**batch)
            loss += output.loss.item() * len(batch["labels"])
            predicted += output.logits.argmax(-1).tolist()
        correct = sum(guess == label for guess, label in zip(predicted, self.test.labels, strict=True))
        return loss / len(predicted), correct / len(predicted), predicted

    def save(self) -> None:
        """Write the checkpoint: everything that the next step depends on."""
        state = {
            "settings": asdict(self.settings),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "cpu_rng": torch.get_rng_state(),
            "best": self.best,
            "progress": {name: getattr(self, name) for name in _PROGRESS},
        }
        if self.device.type != "cpu":
            state["device_rng"] = torch.get_device_module(self.device).get_rng_state(self.device)
        checkpoint.save(state, self.path)
        self._saved_at, self._saved_step = time.monotonic(), len(self.step_losses)

    def restore(self) -> None:
        """Take up the run that wrote the checkpoint.

        Raises WrongCheckpointError if it was another one, UnreadableCheckpointError if the file is none or damaged.
        """
        try:
            state = checkpoint.load(self.path)
        except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
            said = str(error).strip().splitlines()
            reason = said[0] if said else type(error).__name__
            raise UnreadableCheckpointError(
                f"{self.path} is no checkpoint, or a damaged one ({reason}); without --resume training begins anew"
            ) from None
        if not isinstance(state, dict) or not {"settings", "model", "optimizer", "best", "progress"} <= state.keys():
            raise UnreadableCheckpointError(f"{self.path} holds no run of this program")
        theirs, ours = state["settings"], asdict(self.settings)
        different = [name for name in ours if theirs.get(name) != ours[name]]
        if different:
            what = ", ".join(
                "the data or the vocabulary"
                if name == "fingerprint"
                else f"{name} {theirs.get(name)}, not {ours[name]}"
                for name in different
            )
            raise WrongCheckpointError(f"{self.path} belongs to another run, which differs in: {what}")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["cpu_rng"])
        if self.device.type != "cpu":
            torch.get_device_module(self.device).set_rng_state(state["device_rng"], self.device)
        self.best = state["best"]
        for name, value in state["progress"].items():
            setattr(self, name, value)
        self._saved_step = len(self.step_losses)

    def _run_epoch(self) -> None:
        self.model.train()
        loader = training_batches(
            self.train, self.padding, self.settings.batch_size, self.settings.seed, self.epoch, self.batch
        )
        total = self.batch + len(loader)
        with tqdm(
            total=total, initial=self.batch, desc=self._epoch_name(), unit="batch", leave=False, disable=None
        ) as bar:
            for batch in loader:
                started = time.monotonic()
                self._step({name: tensor.to(self.device) for name, tensor in batch.items()})
                self.seconds += time.monotonic() - started
                bar.update()
                bar.set_postfix(loss=f"{self.loss_sum / self.seen:.3f}", accuracy=f"{self.correct / self.seen:.1%}")
                self._stop_if_asked()
                if time.monotonic() - self._saved_at >= self.checkpoint_seconds:
                    self.save()

    def _step(self, batch: dict[str, torch.Tensor]) -> None:
        output = self.model(**batch)
        loss = output.loss.item()
        if not math.isfinite(loss):
            raise LossNotFiniteError(self._not_finite(loss))
        output.loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), GRADIENT_NORM)
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad()
        count = len(batch["labels"])
        self.loss_sum += loss * count
        self.correct += (output.logits.argmax(-1) == batch["labels"]).sum().item()
        self.seen += count
        self.batch += 1
        self.step_losses.append(loss)

    def _not_finite(self, loss: float) -> str:
        before = f"{self.step_losses[-1]:.4g} one step earlier" if self.step_losses else "the first step"
        rate = self.optimizer.param_groups[0]["lr"]
        return (
            f"the loss became {loss} at step {len(self.step_losses) + 1}"
            f" (epoch {self.epoch + 1}, batch {self.batch + 1}; {before}; learning rate {rate:.3g}). Training has stopped before that step changed the weights."
            f" A smaller --learning-rate usually helps."
        )

    def _epoch_name(self) -> str:
        return f"epoch {self.epoch + 1:>{len(str(self.settings.epochs))}}/{self.settings.epochs}"

    def _print_epoch(self) -> None:
        last = self.history[-1]
        number = f"{self.epoch:>{len(str(self.settings.epochs))}}/{self.settings.epochs}"
        print(
            f"epoch {number}   train: loss {last['train_loss']:.3f}, accuracy {last['train_accuracy']:6.1%}"
            f"   test: loss {last['test_loss']:.3f}, accuracy {last['test_accuracy']:6.1%}   {last['seconds']:.0f} s",
            flush=True,
        )


def _decayed_apart(model: torch.nn.Module) -> list[dict]:
    """Two parameter groups: weight decay for matrices, none for biases and layer norms, as BERT was trained."""
    matrices = [parameter for parameter in model.parameters() if parameter.ndim >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.ndim < 2]
    return [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": vectors, "weight_decay": 0.0}]
