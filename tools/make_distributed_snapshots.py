"""Make `tests/snapshots/distributed/*.json`: what the installed PyTorch's Gloo gives for the programs of `tests/distributed`.

    python tools/make_distributed_snapshots.py [NAME ...]      # all by default

Needs PyTorch, transformers and accelerate.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "distributed"))

import ranks


def main() -> None:
    """Write those that are named, or all."""
    named = sys.argv[1:] or [*ranks.RUNS, "trainer"]
    for name in named:
        if name == "trainer":
            found = ranks.launch("trainer.py", "torch.distributed.run")
            (ranks.SNAPSHOTS / "trainer.json").write_text(json.dumps(found) + "\n")
            continue
        path = ranks.SNAPSHOTS / f"{name}.json"
        found = {key: ranks.results(*key.split("|"), launcher=ranks.PYTORCH) for key in ranks.RUNS[name]}
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
        path.write_text(f"{{\n{lines}\n}}\n")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
