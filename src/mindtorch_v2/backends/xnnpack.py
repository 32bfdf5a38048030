"""XNNPACK, which is absent."""

enabled = False
