"""Losses that are element-wise before they are reduced, and their gradients."""

from __future__ import annotations
