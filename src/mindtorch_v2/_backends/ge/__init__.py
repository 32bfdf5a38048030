"""Ascend's graph engine (GE): graphs of operators become GE graphs, are written as `.air`, and run. docs/ge.md is the guide."""
