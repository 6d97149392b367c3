"""`skydeck project`: projects and members without a running service."""

from pathlib import Path

from app.clock import utcnow
from app.models import User
from tests.cli.conftest import Skydeck
from tests.cli.test_users import add_users


def test_a_project_is_made_and_filled(skydeck: Skydeck, home: Path) -> None:
    add_users(home, *(User(name=name, created_at=utcnow()) for name in ("ada", "ben")))
    made = skydeck("project", "create", "Big vision", "--administrator", "ada")
    assert (made.status, made.out) == (0, "big-vision\n")
    assert skydeck("project", "member", "big-vision", "ben", "viewer").status == 0
    assert skydeck("project", "member", "big-vision", "ben", "member").status == 0
    rows = skydeck("project", "members", "big-vision").out.splitlines()
    assert [row.split()[:2] for row in rows[1:]] == [["ada", "administrator"], ["ben", "member"]]
    listed = skydeck("project", "list").out.splitlines()[1].split()
    assert listed[:3] == ["big-vision", "2", "0"]
    assert skydeck("project", "remove", "big-vision", "ben").status == 0
    refused = skydeck("project", "remove", "big-vision", "ada")
    assert refused.status == 1
    assert "last administrator" in refused.err


def test_what_cannot_be_is_said_in_a_line(skydeck: Skydeck, home: Path) -> None:
    for arguments in (
        ("create", "Vision", "--administrator", "ghost"),
        ("create", "Vision", "--id", "No Slug"),
        ("members", "nowhere"),
        ("remove", "nowhere", "ada"),
    ):
        answer = skydeck("project", *arguments)
        assert answer.status == 1, arguments
        assert len(answer.err.splitlines()) == 1
    assert len(skydeck("project", "list").out.splitlines()) == 1
