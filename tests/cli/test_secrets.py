"""`skydeck secret`: values come in by stdin and never by an argument."""

import io
import sys
from pathlib import Path

import pytest

from app.secrets import crypto
from tests.cli.conftest import Skydeck

VALUE = "hf_Zx81kkLmPq"


class Typed(io.StringIO):
    """What is piped into the command."""

    def isatty(self) -> bool:
        return False


@pytest.fixture
def set_secret(skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch) -> Skydeck:
    def call(*arguments: str) -> object:
        value, *others = arguments
        monkeypatch.setattr(sys, "stdin", Typed(value))
        return skydeck("secret", "set", *others)

    return call  # type: ignore[return-value]


def test_a_secret_is_set_listed_and_deleted(
    skydeck: Skydeck, set_secret: Skydeck, home: Path
) -> None:
    assert set_secret(f"{VALUE}\n", "HF_TOKEN").out == "HF_TOKEN set\n"
    assert set_secret("another value", "HF_TOKEN").out == "HF_TOKEN replaced\n"
    assert set_secret("of the site", "S3_KEY", "--site").status == 0
    listed = skydeck("secret", "list").out
    assert "HF_TOKEN" in listed
    assert "S3_KEY" not in listed
    assert VALUE not in listed
    assert "S3_KEY" in skydeck("secret", "list", "--site").out
    assert (home / "secret.keys").stat().st_mode & 0o777 == 0o600
    assert skydeck("secret", "delete", "HF_TOKEN", "--yes").out == "HF_TOKEN deleted\n"
    assert "HF_TOKEN" not in skydeck("secret", "list").out


def test_errors_are_one_line_without_the_value(skydeck: Skydeck, set_secret: Skydeck) -> None:
    for given, said in (
        (("tiny", "HF_TOKEN"), "at least 8 characters"),
        ((VALUE, "hf_token"), "capital letters"),
        ((VALUE, "HF_TOKEN", "--project", "nowhere"), "no project nowhere"),
    ):
        answer = set_secret(*given)
        assert answer.status == 1
        assert answer.err.count("\n") == 1
        assert said in answer.err
        assert VALUE not in answer.err
    assert skydeck("secret", "delete", "NO_SUCH", "--yes").err == (
        "skydeck: there is no secret NO_SUCH\n"
    )


def test_keys_are_rotated_and_forgotten(skydeck: Skydeck, set_secret: Skydeck, home: Path) -> None:
    set_secret(VALUE, "HF_TOKEN")
    [first] = crypto.read_keys(home / "secret.keys")
    assert "1 secrets encrypted with it" in skydeck("secret", "rotate").out
    assert len(crypto.read_keys(home / "secret.keys")) == 2
    assert skydeck("secret", "rotate", "--forget-old").out == f"forgot {crypto.key_id(first)}\n"
    assert skydeck("secret", "rotate", "--forget-old").out == "there was no older key\n"


def test_the_checkup_says_that_a_key_file_is_lost(
    skydeck: Skydeck, set_secret: Skydeck, home: Path
) -> None:
    set_secret(VALUE, "HF_TOKEN")
    assert "1 key, 1 secret" in skydeck("doctor").out
    (home / "secret.keys").unlink()
    said = skydeck("doctor").out
    assert "FAIL  secrets" in said
    assert "put it back from its copy" in said
    for command in (("web",), ("secret", "list"), ("secret", "rotate")):
        answer = skydeck(*command)
        assert answer.status == 1
        assert "is missing, and the database holds 1 secret" in answer.err
    assert not (home / "secret.keys").exists()
    assert skydeck("secret", "delete", "HF_TOKEN", "--yes").out == "HF_TOKEN deleted\n"
    assert "no secrets" in skydeck("doctor").out
