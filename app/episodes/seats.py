"""Who plays in a lane, and where models come from."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Invalid, Problem
from app.llm.chat import ChatModel, Sampling
from app.maze.generate import size_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A model of an endpoint, named by its slug; or a person, where `endpoint` is None."""

    endpoint: str | None = None
    endpoint_name: str = ""
    model: str = ""
    max_model_len: int | None = None
    maze_size: tuple[int, int] | None = None
    """Height and width of the only mazes that it knows; None: not known, or any."""

    @property
    def is_person(self) -> bool:
        return self.endpoint is None

    @property
    def title(self) -> str:
        return "You" if self.is_person else self.model


PERSON = Seat()


def require_sizes(seats: Sequence[Seat], env_id: str, field: str) -> None:
    """Raises `Invalid` for models that know no mazes of this size, each at its place in `field`."""
    height, width = size_of(env_id)
    problems = []
    for place, seat in enumerate(seats):
        if seat.maze_size is None or seat.maze_size == (height, width):
            continue
        known = f"{seat.maze_size[0]} × {seat.maze_size[1]}"
        message = (
            f"only mazes of {known} cells are known to {seat.model} on {seat.endpoint_name}, and "
            f"these have {height} × {width}: choose an environment of {known}, or another model"
        )
        problems.append(Problem(f"{field}.{place}", "maze_size", message))
    if problems:
        raise Invalid("; ".join(each.message for each in problems), problems)


class ModelSource(Protocol):
    """Where the models are that episodes name."""

    async def seat(self, session: AsyncSession, endpoint: str, model: str) -> Seat:
        """A seat for a model. Raises `NotFound` or `Invalid` where there is no such one."""
        ...

    def open(self, seat: Seat) -> AbstractAsyncContextManager[ChatModel]:
        """The model itself, for a while. Entering raises `SkydeckError` if it cannot be asked."""
        ...


def sampling_of(values: Mapping[str, Any]) -> Sampling:
    """The values as they were stored; those that nobody knows any more are left out."""
    known = {each.name for each in fields(Sampling)}
    given = {key: value for key, value in values.items() if key in known}
    return Sampling(**given | {"stop": tuple(given.get("stop", ()))})


def stored_sampling(sampling: Sampling) -> dict[str, Any]:
    return asdict(sampling) | {"stop": list(sampling.stop)}
