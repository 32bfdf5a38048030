"""Make `tests/snapshots/distributed/*.json`: what the installed PyTorch's Gloo gives for the programs of `tests/distributed`.

    python tools/make_distributed_snapshots.py

Needs PyTorch, transformers and accelerate.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "distributed"))

import ranks


def main() -> None:
    """Write them all."""
    for name in ("collectives", "training"):
        path = ranks.SNAPSHOTS / f"{name}.json"
        found = {key: ranks.results(*key.split("|"), launcher=ranks.PYTORCH) for key in ranks.RUNS[name]}
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
        path.write_text(f"{{\n{lines}\n}}\n")
        print(f"{path.name}: {path.stat().st_size} bytes")
    found = ranks.launch("trainer.py", "torch.distributed.run")
    (ranks.SNAPSHOTS / "trainer.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
