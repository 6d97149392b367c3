"""What people write is shown, and runs nothing: checked on the parsed HTML, not on its text."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.markdown import LONGEST, markdown

SAFE_URLS = ("http://", "https://", "mailto:")


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Elements()
    parser.feed(markdown(text))
    return parser.found


def check_harmless(text: str) -> None:
    for tag, attributes in elements(text):
        assert tag not in {"script", "img", "iframe", "style", "svg", "form", "h1", "object"}
        assert attributes.keys() <= {"href", "title", "start", "rel"}
        href = attributes.get("href")
        # A relative address stays on this site.
        assert href is None or href.startswith(SAFE_URLS) or ":" not in href.partition("/")[0]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVa&#x53;cript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x)",
        "![x](https://elsewhere.test/pixel.png)",
        '[x](https://a.test "x\\" onmouseover=alert(1)")',
        "<https://a.test/\"onclick='alert(1)'>",
        "[a]: javascript:alert(1)\n\n[a]",
        "# Title\n\n<svg/onload=alert(1)>",
        "| a |\n| --- |\n| <b onclick=x> |",
    ],
)
def test_hostile_text_makes_no_hostile_element(text: str) -> None:
    check_harmless(text)


@given(st.text(alphabet="<>\"'()[]!#&:;/=\\ \n`*_-|abjscriptonerhfd01", max_size=120))
def test_no_text_makes_a_hostile_element(text: str) -> None:
    check_harmless(text)


def test_what_people_mean_is_shown() -> None:
    html = markdown("# Why\n\n- **lr** `3e-6`\n\n[paper](https://a.test/x)\n\n1 < 2")
    assert "<h2>Why</h2>" in html
    assert "<strong>lr</strong> <code>3e-6</code>" in html
    assert '<a href="https://a.test/x" rel="noopener noreferrer nofollow">paper</a>' in html
    assert "1 &lt; 2" in html


def test_a_long_text_is_cut() -> None:
    assert len(markdown("a" * (LONGEST + 10))) < LONGEST + 20
