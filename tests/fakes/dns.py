"""A resolver whose answers are written down, and may change from one question to the next."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address

from app.outgoing.errors import NameNotResolved
from app.outgoing.zones import IPAddress


class FakeDns:
    """`answers` maps a name to its answers in turn, each a list of addresses; the last stays."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._answers = {name: list(turns) for name, turns in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, name: str) -> list[IPAddress]:
        self.asked.append(name)
        if name not in self._answers:
            raise NameNotResolved(name, "name or service not known")
        turns = self._answers[name]
        answer = turns.pop(0) if len(turns) > 1 else turns[0]
        return [ip_address(text) for text in answer]
