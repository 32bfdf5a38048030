"""Kinds of files that CANN's profiler can write, and whether this package's can."""

from __future__ import annotations

__all__ = ["CannPackageManager"]


class CannPackageManager:
    """Databases are not written."""

    SUPPORT_EXPORT_DB = False

    @classmethod
    def is_support_default_export_db(cls) -> bool:
        """Whether databases are written beside the tables without being asked for."""
        return cls.SUPPORT_EXPORT_DB
