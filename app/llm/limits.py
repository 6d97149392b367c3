"""The limits of one call of a model."""

from dataclasses import dataclass

from app.outgoing.client import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatLimits:
    """`total_seconds` from start to end; `idle_seconds` between two pieces of a stream.

    `text_length` is of the answer's text in characters, `body_bytes` of all that is sent for it: a
    streamed token of four letters takes 250 bytes. `whole_bytes` is of an answer in one piece.
    """

    connect_seconds: float = 5.0
    idle_seconds: float = 60.0
    total_seconds: float = 120.0
    text_length: int = 256 * 1024
    body_bytes: int = 32 * 1024**2
    whole_bytes: int = 2 * 1024**2

    def outgoing(self) -> Limits:
        """The same for the client, which counts bytes; the time as a whole is kept by ours."""
        return Limits(
            connect_seconds=self.connect_seconds,
            read_seconds=self.idle_seconds,
            total_seconds=None,
            body_bytes=self.body_bytes,
        )


USUAL = ChatLimits()
