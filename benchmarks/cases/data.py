"""The DataLoader: a pass over a small data set, in this process and with two workers; saving and loading."""

import io
from collections.abc import Callable
from types import ModuleType
from typing import Any

from cases.registry import case

_ROWS, _BATCH = 2048, 32


def _passes(torch: ModuleType, workers: int) -> Callable[[], Any]:
    data = torch.utils.data.TensorDataset(torch.rand(_ROWS, 64), torch.randint(0, 9, (_ROWS,)))
    loader = torch.utils.data.DataLoader(
        data, batch_size=_BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )

    def one_pass() -> None:
        for _ in loader:
            pass

    return one_pass


@case("DataLoader, 2048 rows", "data")
def _in_process(torch: ModuleType) -> Callable[[], Any]:
    return _passes(torch, workers=0)


@case("DataLoader, 2048 rows, two workers", "data", slow=True)
def _with_workers(torch: ModuleType) -> Callable[[], Any]:
    return _passes(torch, workers=2)


@case("save and load 12 MB", "data")
def _save_and_load(torch: ModuleType) -> Callable[[], Any]:
    state = {f"weight{i}": torch.rand(1024, 768) for i in range(4)}

    def round_trip() -> None:
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        torch.load(file, weights_only=True)

    return round_trip
