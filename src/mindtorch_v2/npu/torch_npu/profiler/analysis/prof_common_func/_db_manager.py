"""Databases of SQLite, which a cycle is written to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from ._constant import print_error_msg, print_warn_msg

__all__ = ["DbManager", "EmptyClass"]


class EmptyClass:
    """A connection, or a cursor, that could not be made: it is False."""

    def __init__(self, info: str = "") -> None:
        self._info = info

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return ""


class DbManager:
    """Connections, tables and rows. What SQLite refuses is a warning, and the answer says that it was not done."""

    INSERT_SIZE = FETCH_SIZE = 10_000
    """How many rows are written, or read, at a time."""
    MAX_ROW_COUNT = 100_000_000
    """How many rows `fetch_all_data` reads at most, and some of the next part."""

    @staticmethod
    def create_connect_db(db_path: str) -> tuple[Any, Any]:
        """A connection and a cursor; two that are False where there can be none."""
        try:
            connection = sqlite3.connect(db_path, timeout=600, check_same_thread=False)
            return connection, connection.cursor()
        except sqlite3.Error:
            return EmptyClass("no connection"), EmptyClass("no cursor")

    @staticmethod
    def destroy_db_connect(conn: Any, cur: Any) -> None:
        """Close both; nothing where one is missing. RuntimeError if SQLite refuses."""
        if not conn or not cur:
            return
        try:
            cur.close()
            conn.close()
        except sqlite3.Error as error:
            raise RuntimeError(f"destroy_db_connect(): the database was not closed: {error}") from error

    @classmethod
    def execute_sql(cls, conn: Any, sql: str) -> bool:
        """Do a statement, for good; whether it was done."""
        return cls._done(conn, lambda cursor: cursor.execute(sql))

    @classmethod
    def executemany_sql(cls, conn: Any, sql: str, param: Any) -> bool:
        """Do a statement with each of several rows, for good; whether it was done."""
        return cls._done(conn, lambda cursor: cursor.executemany(sql, param))

    @staticmethod
    def _done(conn: Any, act: Any) -> bool:
        try:
            act(conn.cursor())
            conn.commit()
        except sqlite3.Error as error:
            print_error_msg(f"SQLite: {error}")
            return False
        return True

    @staticmethod
    def judge_table_exist(cur: Any, table_name: str) -> bool:
        """Whether there is such a table. RuntimeError if SQLite does not say."""
        try:
            cur.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", (table_name,))
            return bool(cur.fetchone()[0])
        except sqlite3.Error as error:
            raise RuntimeError(f"judge_table_exist(): the tables were not read: {error}") from error

    @classmethod
    def create_table_with_headers(
        cls, conn: Any, cur: Any, table_name: str, headers: Sequence[tuple[str, str]]
    ) -> None:
        """Make a table of (column, type) if there is none of the name. RuntimeError if SQLite refuses."""
        if cls.judge_table_exist(cur, table_name):
            return
        columns = ", ".join(f"{name} {kind}" for name, kind in headers)
        if not cls.execute_sql(conn, f"CREATE TABLE {table_name} ({columns})"):
            raise RuntimeError(f"create_table_with_headers(): the table {table_name} was not made")

    @classmethod
    def insert_data_into_table(cls, conn: Any, table_name: str, data: Sequence[Sequence[Any]]) -> None:
        """Add rows to a table. RuntimeError if SQLite refuses."""
        if not data:
            return
        sql = f"INSERT INTO {table_name} VALUES ({', '.join('?' * len(data[0]))})"
        for first in range(0, len(data), cls.INSERT_SIZE):
            if not cls.executemany_sql(conn, sql, data[first : first + cls.INSERT_SIZE]):
                raise RuntimeError(f"insert_data_into_table(): the rows of {table_name} were not written")

    @classmethod
    def clear_table_data(cls, conn: Any, cur: Any, table_name: str) -> None:
        """Remove the rows of a table, if there is one of the name. RuntimeError if SQLite refuses."""
        if table_name and cls.judge_table_exist(cur, table_name):
            if not cls.execute_sql(conn, f"DELETE FROM {table_name}"):
                raise RuntimeError(f"clear_table_data(): the rows of {table_name} were not removed")

    @classmethod
    def fetch_all_data(cls, cur: Any, sql: str) -> list[Any]:
        """The rows that a statement finds; none where SQLite refuses it."""
        found: list[Any] = []
        try:
            cur.execute(sql)
            for part in cls._parts(cur):
                found += part
                if len(found) > cls.MAX_ROW_COUNT:
                    print_warn_msg(f"fetch_all_data(): more than {cls.MAX_ROW_COUNT} rows; the others were not read")
                    break
        except sqlite3.Error as error:
            print_error_msg(f"SQLite: {error}")
            return []
        return found

    @classmethod
    def _parts(cls, cur: Any) -> Iterator[list[Any]]:
        part = None
        while part is None or len(part) >= cls.FETCH_SIZE:
            part = cur.fetchmany(cls.FETCH_SIZE)
            yield part

    @staticmethod
    def fetch_one_data(cur: Any, sql: str) -> Any:
        """The first row that a statement finds, None for none; an empty list where SQLite refuses it."""
        try:
            cur.execute(sql)
            return cur.fetchone()
        except sqlite3.Error as error:
            print_error_msg(f"SQLite: {error}")
            return []
