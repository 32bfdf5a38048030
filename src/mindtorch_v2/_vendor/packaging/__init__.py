"""The package `packaging`."""

from packaging import version as version
