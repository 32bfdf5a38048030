"""Counters of what `torch.compile` did."""

import collections

__all__ = ["counters"]

counters: collections.defaultdict = collections.defaultdict(collections.Counter)
"""`counters["stats"]`: unique_graphs, calls_captured; `["frames"]`: total, ok; `["not_captured_whole"]` and
`["graph_break"]` (where a program that is not breaks): by reason;
`["recompiles"]`: by function; `["aot_autograd"]`: ok, not_ok."""
