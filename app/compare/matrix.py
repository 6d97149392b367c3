"""The matrix of mazes: which of them each run, or each checkpoint of a run, has solved. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.compare.asked import Asked, letter_of
from app.compare.comparison import Comparison
from app.compare.contexts import Matrix, MatrixRow, MazeLine
from app.compare.measured import Measured
from app.models import Run
from app.web.run_table import colour_of, rate_figure

_LETTERS = 30


@dataclass(frozen=True, slots=True)
class Entry:
    """An evaluation that may become a row."""

    run: Run
    letter: str
    measured: Measured
    url: str = ""


def matrix_of_runs(asked: Asked, found: Comparison) -> Matrix | None:
    """One row a run: the evaluation that stands for it. None without any."""
    entries = [
        Entry(each.run, each.letter, evaluation, asked.of([each.run.slug]).url("/compare/mazes"))
        for each in found.runs
        if (evaluation := found.evaluation(each)) is not None
    ]
    return _matrix(entries, len(found.runs) - len(entries), "have no evaluation yet")


def matrix_of_checkpoints(found: Sequence[tuple[Run, list[Measured], int]]) -> Matrix | None:
    """One row an evaluation, by run and step."""
    entries = [
        Entry(run, letter_of(place), each)
        for place, (run, rows, _) in enumerate(found)
        for each in rows
    ]
    left = sum(count - len(rows) for _, rows, count in found)
    return _matrix(entries, left, "evaluations in between are left out")


def _matrix(entries: Sequence[Entry], missing: int, missing_words: str) -> Matrix | None:
    rated = [each for each in entries if each.measured.is_solved]
    if not rated:
        return None
    terms = rated[0].measured.terms
    alike = [each for each in rated if each.measured.terms == terms]
    apart = [f"{missing} {missing_words}"] if missing else []
    if others := len(rated) - len(alike):
        apart.append(f"{others} played another environment or turn limit")
    if several := len(entries) - len(rated):
        apart.append(f"{several} played a maze several times, or tell no seeds")
    mazes = _mazes(alike)
    env_id, max_turns = terms
    limit = f", at most {max_turns} turns" if max_turns else ""
    return Matrix(
        note=f"{len(mazes)} mazes of {env_id}{limit}; those that most solved come first",
        rows=[_row(each, mazes) for each in alike],
        mazes=mazes,
        apart=apart,
    )


def _mazes(entries: Sequence[Entry]) -> list[MazeLine]:
    seeds = dict.fromkeys(seed for each in entries for seed in each.measured.is_solved)
    lines = []
    for seed in seeds:
        played = [each for each in entries if seed in each.measured.is_solved]
        solvers = [each.letter for each in played if each.measured.is_solved[seed]]
        lines.append(MazeLine(seed, len(solvers), len(played), _letters(solvers)))
    return sorted(lines, key=lambda line: (-line.solved, line.seed))


def _letters(letters: Sequence[str]) -> str:
    """Each once; a run with several checkpoints is named once."""
    different = list(dict.fromkeys(letters))
    more = len(different) - _LETTERS
    return " ".join(different[:_LETTERS]) + (f" and {more} more" if more > 0 else "")


def _row(entry: Entry, mazes: Sequence[MazeLine]) -> MatrixRow:
    found = entry.measured
    states = [found.is_solved.get(maze.seed) for maze in mazes]
    return MatrixRow(
        title=entry.run.name,
        letter=entry.letter,
        colour=colour_of(entry.run),
        id=entry.run.slug,
        step=found.step,
        url=entry.url,
        figure=rate_figure(found.solved, found.n),
        solved=_squares([place for place, state in enumerate(states) if state]),
        unsolved=_squares([place for place, state in enumerate(states) if state is False]),
    )


def _squares(places: Sequence[int]) -> str:
    """One unit a column, with a gap: a path, since there may be many thousands."""
    return "".join(f"M{place + 0.1:g} .1h.8v.8h-.8z" for place in places)
