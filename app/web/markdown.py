"""Markdown of people (CommonMark), as HTML that can run nothing and loads nothing.

The parser takes no HTML; what it makes is cleaned once more, by a list of what may stay.
"""

from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LONGEST = 20_000
_TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote"),
    *("h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
# A page has one h1, its own.
_LOWER = {"h1": "h2", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h6", "h6": "h6"}


def markdown(text: str) -> Markup:
    """Safe HTML of a text of at most `LONGEST` characters; more is cut off.

    Links lead to http, https or mailto only, tell nobody where they were, and lend no reputation.
    Pictures are dropped: they would tell another site who reads this.
    """
    # As the parser, loaded with the first text: many processes never show one.
    import nh3

    parser = _parser()
    tokens = parser.parse(text[:LONGEST])
    for token in tokens:
        token.tag = _LOWER.get(token.tag, token.tag)
    html = parser.renderer.render(tokens, parser.options, {})
    return Markup(  # noqa: S704 - cleaned by nh3
        nh3.clean(
            html,
            tags=_TAGS,
            attributes=_ATTRIBUTES,
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer nofollow",
        )
    )


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
