"""docs/audit.md names each action, and nothing that is none."""

import re

from app.audit.actions import Action
from app.audit.export import COLUMNS
from app.settings import ROOT

PAGE = (ROOT / "docs/audit.md").read_text()


def test_each_action_has_its_row() -> None:
    table = PAGE.partition("## Actions")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)` \| \S", table, re.MULTILINE)
    assert rows == [action.value for action in Action]


def test_each_field_of_a_row_is_explained() -> None:
    table = PAGE.partition("## What a row holds")[2].partition("\n## ")[0]
    assert set(COLUMNS) <= set(re.findall(r"`(\w+)`", table))


def test_each_action_is_written_somewhere() -> None:
    sources = "\n".join(
        file.read_text()
        for file in (ROOT / "app").rglob("*.py")
        if file != ROOT / "app/audit/actions.py"
    )
    assert [action for action in Action if f"Action.{action.name}" not in sources] == []
