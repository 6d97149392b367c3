"""`docs/projects.md` names each role, scope, command and address there is."""

import re

import pytest

from app.access.permissions import Scope
from app.models import Role
from app.projects.api import router
from app.settings import ROOT
from tests.cli.conftest import Skydeck, home, skydeck

__all__ = ["home", "skydeck"]
TEXT = (ROOT / "docs/projects.md").read_text()


@pytest.mark.parametrize("name", [*Role, *Scope])
def test_each_role_and_scope_has_a_row(name: str) -> None:
    assert f"| `{name}` |" in TEXT


def test_each_command_is_shown_and_no_other(skydeck: Skydeck) -> None:
    listed = skydeck("project", "--help").out.partition("Commands:")[2]
    there = set(re.findall(r"^  ([a-z]+)", listed, re.M))
    assert there
    assert set(re.findall(r"skydeck project ([a-z]+)", TEXT)) == there


def test_each_address_of_the_api_is_named() -> None:
    for route in router.routes:
        path = getattr(route, "path", "")
        shown = path.replace("{project_id}", "<id>").replace("{name:path}", "<user>")
        assert f"/api/v1{shown}`" in TEXT, path
