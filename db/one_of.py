"""`column IN (...)` for lists of any length: a job may have more hosts than a statement has parameters (SQLite 32 766,
PostgreSQL 65 535). A long list is one parameter: JSON on SQLite, an array on PostgreSQL.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Self

from sqlalchemy import BigInteger, Boolean, ColumnElement, Dialect, Text, TypeDecorator, bindparam
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

__all__ = ["one_of"]

_SHORT = 1000  # values that are parameters of their own


def one_of(column: ColumnElement[Any], values: Collection[int] | Collection[str]) -> ColumnElement[bool]:
    """Whether a column has one of these values, which are all texts or all whole numbers."""
    if len(values) <= _SHORT:
        return column.in_(list(values))
    return _OneOf(column, bindparam(None, list(values), type_=_List(isinstance(next(iter(values)), str))))


class _List(TypeDecorator[Any]):
    """A list as one parameter."""

    impl = Text
    cache_ok = True

    def __init__(self, of_text: bool = True) -> None:
        super().__init__()
        self.of_text = of_text

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.ARRAY(Text() if self.of_text else BigInteger()))
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: list[Any] | None, dialect: Dialect) -> Any:  # noqa: ANN401 (as the driver takes it)
        return value if dialect.name == "postgresql" else json.dumps(value)


class _OneOf(FunctionElement[bool]):
    """Of a column and a list; see one_of."""

    type = Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> Self:  # noqa: ANN401
        """As it is: SQLAlchemy would write `... = 1` for SQLite, for which there is no index."""
        return self


@compiles(_OneOf, "postgresql")
def _as_array(element: _OneOf, compiler: SQLCompiler, **words: Any) -> str:  # noqa: ANN401
    column, values = (compiler.process(clause, **words) for clause in element.clauses)
    return f"{column} = ANY ({values})"


@compiles(_OneOf, "sqlite")
def _as_json(element: _OneOf, compiler: SQLCompiler, **words: Any) -> str:  # noqa: ANN401
    column, values = (compiler.process(clause, **words) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({values}))"  # noqa: S608 (both are rendered by SQLAlchemy)
