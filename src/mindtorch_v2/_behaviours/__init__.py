"""Handlers of dispatch keys, one folder each: siblings that never import each other."""
