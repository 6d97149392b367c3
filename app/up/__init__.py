"""`skydeck up`: everything on one machine, from one process that watches the others."""

from app.up.supervisor import run

__all__ = ["run"]
