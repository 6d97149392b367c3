"""Long texts, made so that a careless pattern takes the square of their length."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.errors import Invalid
from app.recipes import service
from app.recipes.numbers import find_number
from app.recipes.skyrl.values import render_value
from tests.processor import processor_under

BLANKS = " " * 60_000
TEXTS = {
    "blanks within an override": f"trainer.run_name=a{BLANKS}b",
    "tabs within an override": "trainer.run_name=a" + "\t" * 60_000 + "b",
    "blanks behind dirname": f"X=$(dirname{BLANKS};)",
    "blanks behind pwd": f"X=$(dirname x && pwd{BLANKS};)",
    "many times dirname": "X=$(" + "dirname " * 8_000 + ";)",
    "blanks behind date": f"X=$(date{BLANKS};)",
    "options of bash": "bash -" + "c" * 60_000 + "1 x",
    "dots of a key": "trainer" + "." * 60_000 + "x\n",
    "colons behind a group": "trainer." + ":" * 60_000 + "x\n",
    "digits before a redirection": "python x " + "1" * 60_000 + " 2>&1",
    "sixties": "trainer.run_name=" + "1:" * 50_000 + "1",
    "backslashes": "trainer.run_name='" + "\\" * 60_000 + "'",
}


@contextmanager
def soon() -> Iterator[None]:
    """A second of this process; the square of these lengths takes many."""
    with processor_under(1):
        yield


@pytest.mark.parametrize("name", TEXTS)
def test_a_long_text_is_read_at_once(name: str) -> None:
    with soon():
        found = service.import_text(TEXTS[name])
    assert found.config or found.unresolved


def test_a_long_row_of_digits_is_no_number_at_once() -> None:
    with soon():
        assert find_number("1" * 60_000 + "x") is None
    assert [find_number(text) for text in ("1.", ".5", "1.5e3", "1e", ".")] == [
        1.0, 0.5, 1500.0, None, None,
    ]  # fmt: skip


def test_a_number_of_many_sixties_is_refused_at_once() -> None:
    with soon(), pytest.raises(Invalid, match="too many digits"):
        service.import_text("trainer.epochs: " + "1:" * 50_000 + "1")


def test_backslashes_are_written_at_once() -> None:
    with soon():
        assert render_value("\\" * 60_000) == '"' + "\\" * 120_000 + '"'
    assert render_value("a\\${b}") == '"a' + "\\" * 6 + '${b}"'


def test_blanks_between_overrides_belong_to_none_of_them() -> None:
    found = service.import_text("trainer.run_name=a  b  \t trainer.seed=4")
    assert found.config == {"trainer.run_name": "a  b", "trainer.seed": 4}


@pytest.mark.parametrize(
    ("folder", "is_known"),
    [
        ('$(cd -- "$(dirname -- "$0")" && pwd -P)', True),
        ("$(dirname $0)", True),
        ("$(cd $(dirname $0); pwd)", False),
        ("$(cat dirnames)", False),
    ],
)
def test_the_folder_of_the_script(folder: str, is_known: bool) -> None:
    text = f"X={folder}\npython -m skyrl.main trainer.run_name=x/$X/y"
    assert service.import_text(text).config.get("trainer.run_name") == (
        "x/./y" if is_known else None
    )


@pytest.mark.parametrize(("count", "said"), [(21, "and 1 more key is"), (2_000, "and 1,980 more")])
def test_many_unknown_keys_are_told_at_once_and_together(count: int, said: str) -> None:
    config = {f"trainer.policy.optimizer_config.l{n}": 1 for n in range(count)}
    with soon():
        errors = service.validate(service.get("embedded-maze-grpo"), config).errors
    assert [each.rule for each in errors] == ["unknown_key"] * 21
    assert all("optimizer_config.lr" in (each.fix or "") for each in errors[:20])
    assert said in errors[20].message
    assert {key for each in errors for key in each.fields} == set(config)


def test_twenty_unknown_keys_are_told_one_by_one() -> None:
    config = {f"job.strange_{n}": 1 for n in range(20)}
    errors = service.validate(service.get("command"), config).errors
    assert [each.fields for each in errors] == [(key,) for key in config]
