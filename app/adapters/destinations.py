"""Where adapters go, and what is served from there: known before anything is copied."""

from dataclasses import dataclass

from app.errors import Invalid, Problem

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Destination:
    """A place for adapters and the limits of the endpoint that serves it; None: not known.

    `bases` are the names by which adapters call its base model, `model` its id at the endpoint.
    """

    name: str
    title: str
    model: str
    bases: frozenset[str] | None = None
    max_rank: int | None = None
    max_weights_bytes: int | None = None
    max_config_bytes: int | None = None
    takes_extras: bool = True
    """Whether adapters may need more than plain LoRA (`app.checkpoints.exports.Export.extras`)."""

    def model_id(self, adapter: str) -> str:
        """What requests to the endpoint call the adapter."""
        return f"{self.model}:{adapter}"

    def beside_base(self, adapter: str) -> list[str]:
        """Base and adapter as forms name what may play: endpoint and model."""
        return [f"{self.name} {self.model}", f"{self.name} {self.model_id(adapter)}"]


DESTINATIONS = {
    # A test holds these to `worker/serving`, which the app may not import.
    EMBEDDED: Destination(
        name=EMBEDDED,
        title="this machine's endpoint",
        model="maze-base",
        bases=frozenset({"skydeck-maze-base"}),
        max_rank=1024,
        max_weights_bytes=4 * 2**20,
        max_config_bytes=64 * 2**10,
        takes_extras=False,
    )
}


def of(name: str) -> Destination:
    """The destination that an adapter went to, although it may be known no more."""
    return DESTINATIONS.get(name) or Destination(name=name, title=name, model=name)


def get(name: str | None) -> Destination:
    """The embedded one unless another is named. Raises `Invalid`."""
    found = DESTINATIONS.get(name or EMBEDDED)
    if found is None:
        message = f"there is no destination {name}: known are {', '.join(DESTINATIONS)}"
        raise Invalid(message, [Problem("destination", "choices", message)])
    return found
