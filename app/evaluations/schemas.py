"""JSON shapes of eval sets."""

from app.api.schemas import Answer
from app.maze.parse import Dialect


class EvalSetAnswer(Answer):
    name: str
    env_id: str
    seeds: list[int]
    max_turns: int
    dialect: Dialect
    solvable_count: int
