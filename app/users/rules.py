"""Which names and passwords are taken. Pure.

Length is what counts (OWASP's cheat sheet on authentication, NIST SP 800-63B): no kinds of signs
are asked for. Refused besides are the passwords that everybody tries first.
"""

import string
import unicodedata

from app.errors import Problem
from app.users.spelling import spelling_problem

MIN_PASSWORD, MAX_PASSWORD = 12, 200
MAX_NAME = 64
_LONGEST_INPUT = 1_000
_FEWEST_SIGNS = 5
_FEWEST_BESIDES_NAME = 8
_ROWS = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_ADDED = string.digits + string.punctuation
_COMMON = (
    *("password", "passwort", "passw0rd", "p@ssword", "p@ssw0rd", "motdepasse", "contrasena"),
    *("letmein", "welcome", "changeme", "iloveyou", "trustno", "secret", "login", "default"),
    *("admin", "administrator", "root", "guest", "user", "test", "skydeck", "example"),
    *("qwerty", "qwertz", "azerty", "qwertyuiop", "asdf", "qazwsx", "1q2w3e4r", "abc", "abcd"),
    *("dragon", "monkey", "football", "baseball", "superman", "batman", "sunshine", "princess"),
)


def normalised(text: str) -> str:
    """NFKC, so that the same sign typed on two keyboards is the same; nothing is left out.

    What no database holds becomes a question mark. Very long input is cut: it is no password.
    """
    plain = text[:_LONGEST_INPUT].encode(errors="replace").decode().replace("\0", "?")
    return unicodedata.normalize("NFKC", plain)


def clean_name(name: str) -> str:
    """A name as it is stored and looked up: normalised, without blanks around it."""
    return normalised(name).strip()


def name_problem(name: str) -> Problem | None:
    """What is wrong with a cleaned name of a new user; None if nothing is."""
    if not 0 < len(name) <= MAX_NAME:
        return Problem("name", "length", f"give a name of 1 to {MAX_NAME} characters")
    broken = spelling_problem(name)
    return Problem("name", *broken) if broken else None


def password_problem(password: str, name: str, *, field: str = "password") -> Problem | None:
    """What is wrong with a new password of the user called `name`; None if nothing is."""
    text = normalised(password)
    if len(text) < MIN_PASSWORD:
        few = f"use at least {MIN_PASSWORD} characters; four unrelated words are easy to remember"
        return Problem(field, "length", few)
    if len(text) > MAX_PASSWORD:
        return Problem(field, "length", f"use at most {MAX_PASSWORD} characters")
    if _is_about_name(text, name):
        return Problem(field, "name", "this is mostly the user's name, which is guessed first")
    if _is_common(text):
        common = "this is among the first that anybody tries; four unrelated words do better"
        return Problem(field, "common", common)
    return None


def _is_about_name(password: str, name: str) -> bool:
    own = clean_name(name).casefold()
    if len(own) < 3 or own not in password.casefold():
        return False
    return len(password.casefold().replace(own, "")) < _FEWEST_BESIDES_NAME


def _is_common(password: str) -> bool:
    text = password.casefold()
    if len(set(text)) < _FEWEST_SIGNS or any(_runs_along(text, row) for row in _ROWS):
        return True
    # "Password1234!" is "password" with what people add to be allowed to use it.
    letters = "".join(sign for sign in text if sign.isalpha() or sign == "@")
    core = "".join(text.split()).strip(_ADDED)
    return any(_is_repeated(each, word) for each in (letters, core) for word in _COMMON)


def _runs_along(text: str, row: str) -> bool:
    line = row * (MAX_PASSWORD // len(row) + 2)
    return text in line or text[::-1] in line


def _is_repeated(text: str, word: str) -> bool:
    return bool(text) and not text.replace(word, "")
