"""What is said while a command waits: a line that is written over, or a line a change."""

import io
from typing import Any

import pytest

from app.commands.progress import Progress, evaluation_line, promotion_line

WAITS = "it goes on"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    out = Terminal()
    with Progress(goes_on=WAITS, out=out) as progress:
        for line in ("one", "one", "twelve letters"):
            progress.tell(line)
    assert out.getvalue() == "\rone\x1b[K\rtwelve le\x1b[K\n"


def test_elsewhere_each_change_is_a_line() -> None:
    out = io.StringIO()
    with Progress(goes_on=WAITS, out=out) as progress:
        for line in ("one", "one", "two\nlines"):
            progress.tell(line)
    assert out.getvalue() == "one\ntwo lines\n"


def test_nothing_told_leaves_nothing() -> None:
    out = Terminal()
    with Progress(goes_on=WAITS, out=out):
        pass
    assert out.getvalue() == ""


def test_whoever_stops_waiting_is_told_that_it_goes_on() -> None:
    out = Terminal()
    with pytest.raises(KeyboardInterrupt):
        _leave(out)
    assert out.getvalue().endswith("\nit goes on\n")


def _leave(out: Terminal) -> None:
    with Progress(goes_on=WAITS, out=out) as progress:
        progress.tell("one")
        raise KeyboardInterrupt


def test_an_evaluation_says_what_it_waits_for() -> None:
    found: dict[str, Any] = {
        "id": "evl-1",
        "status": "running",
        "progress": {"played": 3, "total": 64},
        "conditions": [{"message": "fake does not answer"}],
    }
    assert evaluation_line(found) == "evl-1 running: 3 of 64 episodes; fake does not answer"


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        ("running", None, "prm-1 running: 40% copied"),
        ("running", {"message": "no room"}, "prm-1 running: 40% copied; no room"),
        ("failed", {"message": "no room"}, "prm-1 failed: 40% copied"),
    ],
)
def test_a_promotion_says_what_its_last_try_met(
    status: str, error: dict[str, str] | None, words: str
) -> None:
    found = {"id": "prm-1", "status": status, "progress": {"fraction": 0.4}, "error": error}
    assert promotion_line(found) == words
