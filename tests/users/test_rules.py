"""Names and passwords that are taken, and those that are not."""

import pytest

from app.users.devices import device_words
from app.users.rules import clean_name, name_problem, normalised, password_problem
from tests.users.people import FIREFOX


@pytest.mark.parametrize(
    "password",
    [
        "four unrelated words",
        "корова лошадь батарея",
        "x" * 6 + "y" * 6 + "zwv" * 3,
        "🐎🔋📎🐄🐎🔋📎🐄🐎🔋📎🌵",
        "the password of my aunt",
        "a" * 50 + "bcd efg hij",
    ],
)
def test_long_passwords_of_any_signs_are_taken(password: str) -> None:
    assert password_problem(password, "ada") is None


@pytest.mark.parametrize(
    ("password", "rule"),
    [
        ("eleven char", "length"),
        ("é" * 11 + "\u0301", "common"),
        ("", "length"),
        ("ab cd ef " * 23, "length"),
        ("password1234", "common"),
        ("Passw0rd!!!!", "common"),
        ("P@ssword 2026", "common"),
        ("123456789012", "common"),
        ("qwertyuiopqwerty", "common"),
        ("zyxwvutsrqponm", "common"),
        ("aaaaaaaaaaaab", "common"),
        ("skydeckskydeck", "common"),
        ("ada lovelace", "name"),
        ("Ada Lovelace 1", "name"),
    ],
)
def test_passwords_that_are_guessed_first_are_refused(password: str, rule: str) -> None:
    problem = password_problem(password, "Ada Lovelace")
    assert problem is not None
    assert (problem.field, problem.rule) == ("password", rule)


def test_one_sign_typed_in_two_ways_is_one_sign() -> None:
    assert normalised("e\u0301") == normalised("é")
    assert normalised("\ud800") == "?"
    assert normalised("a\0") == "a?"
    assert clean_name("  ada\u00a0 ") == "ada"


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("", "length"),
        ("x" * 65, "length"),
        *(
            (f"ada{sign}", "printable")
            for sign in "\x07\u00ad\u200b\u2060\u202e\ue000\u0378\U000e0041"
        ),
        *((f"ad{sign}a", "printable") for sign in "\n\u1680"),
        *((sign, "printable") for sign in "\u034f\u115f\u1160\u17b4\u3164\u2800\uffa0"),
        *((f"ada{sign}", "printable") for sign in "\u034f\u180b\ufe0f\U000e0100"),
        ("\u0301ada", "mark"),
        ("a \u0301b", "mark"),
        ("ada!\u0338", "mark"),
        ("аda", "scripts"),
        ("adα", "scripts"),
        ("аnя", "scripts"),
        ("名前я", "scripts"),
        (".", "path"),
        ("․.", "path"),
        ("ada/bob", "path"),
        ("ada／bob", "path"),
        ("ada\\bob", "path"),
        ("ada  lovelace", "blanks"),
        *((each, "reserved") for each in ("nobody", "Host", "SYSTEM", "ｗorker")),
    ],
)
def test_names_that_are_refused(name: str, rule: str) -> None:
    problem = name_problem(clean_name(name))
    assert problem is not None
    assert (problem.field, problem.rule) == ("name", rule)


@pytest.mark.parametrize(
    "name",
    [
        *("ada", "Ada Lovelace", "аня", "名前", "x" * 64, "a.b", "José", "Αθηνά", "O'Neil"),
        *("ボブ田中", "Kim 김", "佐々木さん", "हिन्दी", "ada 🐎", "user-7", "שָׁלוֹם", "kā ʻana"),
    ],
)
def test_names_that_are_taken(name: str) -> None:
    assert name_problem(clean_name(name)) is None


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 "
            "(KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
            "Safari on iPhone",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 "
            "(KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
            "Chrome on macOS",
        ),
        ("curl/8.9.1", "A program"),
        ("Something (X11)", "Unknown browser on Linux"),
        ("<script>", "Unknown browser"),
        ("", "Unknown browser"),
    ],
)
def test_devices_in_words(user_agent: str, words: str) -> None:
    assert device_words(user_agent) == words
