"""Finds elements of a page by role, label and text, as a reader does."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
_ROLES = {
    "a": "link",
    "button": "button",
    "h1": "heading",
    "h2": "heading",
    "h3": "heading",
    "nav": "navigation",
    "main": "main",
    "table": "table",
    "tr": "row",
    "td": "cell",
    "th": "columnheader",
    "select": "combobox",
    "dialog": "dialog",
    "li": "listitem",
}
_INPUT_ROLES = {"checkbox": "checkbox", "radio": "radio", "search": "searchbox"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside, blanks folded."""
        return " ".join(" ".join(self._texts()).split())

    @property
    def role(self) -> str:
        if "role" in self.attributes:
            return self.attributes["role"]
        if self.tag == "input":
            return _INPUT_ROLES.get(self.attributes.get("type", "text"), "textbox")
        return _ROLES.get(self.tag, "")

    def walk(self) -> Iterator["Element"]:
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def shown(self) -> Iterator["Element"]:
        """As `walk`, without what is hidden from everybody."""
        yield self
        for child in self.children:
            if isinstance(child, Element) and "hidden" not in child.attributes:
                yield from child.shown()

    def all(self, role: str, name: str | None = None) -> list["Element"]:
        """Elements of a role that are shown, whose text or label contains `name`."""
        found = [element for element in self.shown() if element.role == role]
        return [
            e for e in found if name is None or name in (e.attributes.get("aria-label") or e.text)
        ]

    def one(self, role: str, name: str | None = None) -> "Element":
        found = self.all(role, name)
        assert len(found) == 1, f"{len(found)} elements of role {role!r} named {name!r}"
        return found[0]

    def labelled(self, label: str) -> "Element":
        """The control that a `<label>` of this text names."""
        labels = [e for e in self.walk() if e.tag == "label" and e.text == label]
        assert len(labels) == 1, f"{len(labels)} labels read {label!r}"
        return self.by_id(labels[0].attributes["for"])

    def by_id(self, name: str) -> "Element":
        found = [e for e in self.walk() if e.attributes.get("id") == name]
        assert len(found) == 1, f"{len(found)} elements have the id {name!r}"
        return found[0]

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            elif child.tag not in ("script", "style"):
                yield from child._texts()


def parse(text: str) -> Element:
    """The page as a tree; its root has the tag ``."""
    builder = _Builder()
    builder.feed(text)
    builder.close()
    return builder.root


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Element(tag, {n: v or "" for n, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        for place in range(len(self._open) - 1, 0, -1):
            if self._open[place].tag == tag:
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)
