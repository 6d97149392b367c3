"""The built-in evaluation sets: fixed mazes, turn limit and dialect."""

from dataclasses import dataclass

from app.maze.parse import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSet:
    """`solvable_count` is how many of the mazes can be solved in `max_turns` at all."""

    name: str
    env_id: str
    seeds: tuple[int, ...]
    max_turns: int
    dialect: Dialect
    solvable_count: int


# Below 87; their shortest paths have 16 moves or more, which 15 turns do not allow.
_LONG_MAZES = {1, 4, 6, 8, 14, 17, 20, 23, 25, 29, 34, 36}
_LONG_MAZES |= {59, 62, 65, 69, 70, 71, 72, 75, 76, 82, 83}

EASY_SOLVABLE_15 = EvalSet(
    name="easy-solvable-15",
    env_id="maze_2d/easy",
    seeds=tuple(seed for seed in range(87) if seed not in _LONG_MAZES),
    max_turns=15,
    dialect=Dialect.KEYWORD,
    solvable_count=64,
)
"""The first 64 seeds whose shortest path has at most 14 moves: default of the embedded cluster."""

EASY_0_63_T15 = EvalSet(
    name="easy-0-63-t15",
    env_id="maze_2d/easy",
    seeds=tuple(range(64)),
    max_turns=15,
    dialect=Dialect.TUPLE,
    solvable_count=50,
)
"""The mazes and turn limit of the SkyRL tutorial."""

EASY_0_63_T18 = EvalSet(
    name="easy-0-63-t18",
    env_id="maze_2d/easy",
    seeds=tuple(range(64)),
    max_turns=18,
    dialect=Dialect.KEYWORD,
    solvable_count=64,
)
"""The mazes and turn limit of SkyRL's instruct recipe."""

EVAL_SETS = {each.name: each for each in (EASY_SOLVABLE_15, EASY_0_63_T15, EASY_0_63_T18)}
"""Built-in sets by name."""
