"""What servers say is cut down to what people can read; what models say stays as it is."""

from hypothesis import given
from hypothesis import strategies as st

from app.llm.words import LONGEST, said, storable


def test_colours_paths_and_hidden_signs_go() -> None:
    text = (
        "\x1b[31mfailed\x1b[0m in /srv/models/secret/run.py at s3://bucket/loras\u202e\u200b\n ok"
    )
    assert said(text) == "failed in …/run.py at s3://bucket/loras ok"


def test_of_a_traceback_the_cause_is_left() -> None:
    text = 'Traceback (most recent call last):\n  File "/a/b.py", line 1, in f\nValueError: no\n\n'
    assert said(text) == "ValueError: no"


def test_a_key_is_never_said() -> None:
    assert said("key abcdefgh is wrong", hidden="abcdefgh") == "key *** is wrong"


@given(st.text(max_size=2_000))
def test_whatever_comes_is_one_short_line(text: str) -> None:
    found = said(text)
    assert len(found) <= LONGEST
    assert found == " ".join(found.split())


@given(st.text(st.characters(codec="utf-8")))
def test_a_models_words_are_kept_but_for_what_no_database_holds(text: str) -> None:
    kept = storable(text)
    assert kept == text.replace("\0", "\ufffd")


def test_two_halves_of_a_character_are_joined() -> None:
    assert storable("a\ud83d\ude00b\ud83d") == "a\U0001f600b\ufffd"
