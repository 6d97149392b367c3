"""The page about calls to other hosts names each error and each kind of address."""

from collections.abc import Iterator

from app.outgoing import errors
from app.outgoing.zones import Zone
from app.settings import ROOT

TEXT = (ROOT / "docs/outgoing.md").read_text()


def leaves(kind: type[errors.OutgoingError]) -> Iterator[type[errors.OutgoingError]]:
    below = kind.__subclasses__()
    if not below:
        yield kind
    for each in below:
        yield from leaves(each)


def test_each_error_is_explained() -> None:
    codes = {kind.code for kind in leaves(errors.OutgoingError)}
    assert len(codes) > 5
    assert [code for code in codes if f"| `{code}` |" not in TEXT] == []


def test_each_kind_of_address_is_explained() -> None:
    assert [zone.value for zone in Zone if f"`{zone}`" not in TEXT] == []
