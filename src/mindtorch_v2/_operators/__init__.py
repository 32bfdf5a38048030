"""Operators: rows (one per schema), composites, and the names under which Python reaches them."""
