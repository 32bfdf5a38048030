"""How the threads of one parallel region wait for the next. Imported before the native core, for GNU OpenMP reads it once.

GNU OpenMP lets an idle thread spin for about 15 ms. Between two operators of a Python program that burns a core, and on
a machine with other work it is worse: the spinning threads take the time of those that they wait for
(docs/decisions/waiting-threads.md). Here they spin for about 0.05 ms, then sleep. ``GOMP_SPINCOUNT`` and
``OMP_WAIT_POLICY`` in the environment win.
"""

import os
from typing import Any

from .first_aid import raise_with_remedy

SPIN_COUNT = "1000"


def load_core() -> Any:
    """Import and return the native core, with :data:`SPIN_COUNT` in the environment for just that long."""
    chosen = "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ
    if not chosen:
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
    try:
        from .. import _C  # OpenMP reads the environment when it is loaded
    except ImportError as error:
        raise_with_remedy(error)
    finally:
        if not chosen:
            del os.environ["GOMP_SPINCOUNT"]
    return _C
