"""Episodes of many mazes at once.

The policy sees nothing but the picture, and the picture follows from the maze and the agent's
state. So log-probabilities are computed once for each (maze, state) that is met, however many
rollouts meet it, and are kept for the update.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from worker.jobs.maze_grpo import pixels
from worker.jobs.maze_grpo.answers import STOP
from worker.jobs.maze_grpo.mazes import CELLS, STATES, Board
from worker.jobs.maze_grpo.model import ANSWERS, Policy
from worker.jobs.maze_grpo.vectors import Bools, Floats, Ints


class LogProbs:
    """Log-probabilities of a policy for the states of `mazes`, computed when first asked for."""

    def __init__(self, policy: Policy, mazes: Board) -> None:
        self._policy, self._mazes = policy, mazes
        self._table = np.empty((len(mazes) * STATES, ANSWERS), np.float32)
        self._known = np.zeros(len(mazes) * STATES, bool)

    def of(self, rows: Ints, states: Ints) -> Floats:
        """(m, 5) for maze `rows[i]` in `states[i]`."""
        places = rows * STATES + states
        fresh = np.unique(places[~self._known[places]])
        if len(fresh):
            inputs = self._mazes.kinds(fresh // STATES, fresh % STATES)
            self._table[fresh] = self._policy.log_probs(pixels.from_kinds(inputs))
            self._known[fresh] = True
        found: Floats = self._table[places]
        return found


@dataclass(frozen=True, slots=True)
class Episodes:
    """Rollouts, `samples` of each maze side by side: episode e plays maze e // samples."""

    samples: int
    states: Ints
    """Agent's state before each turn, (episodes, turns)."""
    answers: Ints
    """Answer of each turn, (episodes, turns)."""
    turns: Ints
    """Turns played, (episodes,)."""
    rewards: Floats
    """1 for a stop on the target, else 0, (episodes,)."""

    @property
    def mazes(self) -> Ints:
        """The maze of each episode, (episodes,)."""
        return np.arange(len(self.turns)) // self.samples

    @property
    def played(self) -> Bools:
        """Which turns were played, (episodes, turns)."""
        return np.arange(self.states.shape[1]) < self.turns[:, None]


def roll(
    log_probs: LogProbs,
    mazes: Board,
    *,
    samples: int,
    turns: int,
    rng: np.random.Generator | None,
    check: Callable[[], None] = lambda: None,
) -> Episodes:
    """Plays each maze `samples` times: sampled with `rng`, or with the likeliest answers.

    `check` runs before each turn and may raise.
    """
    rows = np.repeat(np.arange(len(mazes)), samples)
    state, alive = mazes.starts[rows], np.ones(len(rows), bool)
    states = np.zeros((len(rows), turns), np.int64)
    answers = np.zeros((len(rows), turns), np.int64)
    played = np.zeros(len(rows), np.int64)
    rewards = np.zeros(len(rows), np.float32)
    for turn in range(turns):
        check()
        active = np.flatnonzero(alive)
        if not len(active):
            break
        chosen = _choose(log_probs.of(rows[active], state[active]), rng)
        states[active, turn], answers[active, turn] = state[active], chosen
        played[active] += 1
        stopped = active[chosen == STOP]
        rewards[stopped] = state[stopped] % CELLS == mazes.targets[rows[stopped]]
        alive[stopped] = False
        moved = active[chosen != STOP]
        state[moved] = _moved(mazes, rows[moved], state[moved], chosen[chosen != STOP])
    return Episodes(samples, states, answers, played, rewards)


def _choose(log_probs: Floats, rng: np.random.Generator | None) -> Ints:
    """Gumbel-max: the largest log-probability plus noise is a sample."""
    if rng is not None:
        log_probs = log_probs + rng.gumbel(size=log_probs.shape).astype(np.float32)
    choice: Ints = log_probs.argmax(1)
    return choice


def _moved(mazes: Board, rows: Ints, states: Ints, moves: Ints) -> Ints:
    cells = states % CELLS
    after = mazes.next_cells[rows, cells, moves]
    left_target = (cells == mazes.targets[rows]) & (after != cells)
    moved: Ints = after + CELLS * ((states >= CELLS) | left_target)
    return moved
