"""Counters of what `torch.compile` did."""

import collections

__all__ = ["counters"]

counters: collections.defaultdict = collections.defaultdict(collections.Counter)
"""`counters["stats"]`: unique_graphs, calls_captured; `["frames"]`: total, ok; `["graph_break"]`: by reason;
`["recompiles"]`: by function; `["aot_autograd"]`: ok, not_ok."""
