"""Turns evaluations into what the pages show. No database."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from string import ascii_uppercase
from urllib.parse import urlencode

from app.episodes.states import Outcome
from app.episodes.words import OUTCOMES, environment_words
from app.evaluations import progress, service
from app.evaluations.contexts import (
    Bar,
    BarRow,
    Cell,
    Chip,
    EvaluationPage,
    EvaluationRow,
    Key,
    MazeRow,
    ModelLine,
    PlayLink,
    ResultRow,
)
from app.evaluations.results import Comparison, Counts, ModelResult, PlayedItem
from app.evaluations.results import compare as compare_models
from app.evaluations.results import results as results_of
from app.maze.eval_sets import EASY_0_63_T15
from app.maze.generate import size_of
from app.metrics.statistics import Pairing
from app.models import Evaluation, EvaluationStatus
from app.web.filters import percent
from app.web.run_table import Condition, rate_figure
from app.web.svg import MazePicture, maze_picture

MAX_CELLS = 256
"""Mazes of the grid and of the table; the CSV has all."""
_MAX_DRAWN = 31 * 31
_BINS = 20
_UNKNOWN = "–"
_WAITING, _SOLVED, _UNSOLVED, _SOME = "waiting", "solved", "unsolved", "some"
_KIND_OF = {
    Pairing.BOTH: _SOLVED,
    Pairing.ONLY_AFTER: "gained",
    Pairing.ONLY_BEFORE: "lost",
    Pairing.NONE: _UNSOLVED,
    Pairing.OPEN: _WAITING,
}


def evaluation_row(
    evaluation: Evaluation, counts: Mapping[int, Counts], *, project: str
) -> EvaluationRow:
    found = [counts.get(number, Counts()) for number in range(len(evaluation.models))]
    return EvaluationRow(
        slug=evaluation.slug,
        name=evaluation.name,
        project=project,
        eval_set=evaluation.eval_set,
        status=evaluation.status,
        played=sum(each.played for each in found),
        total=service.episode_count(evaluation),
        is_live=evaluation.status not in progress.ENDED,
        models=[
            ModelLine(
                service.title(evaluation, number),
                rate_figure(each.solved, each.n) if each.n else None,
            )
            for number, each in enumerate(found)
        ],
        owner=evaluation.owner,
        created_at=evaluation.created_at,
    )


def evaluation_page(
    evaluation: Evaluation, items: Sequence[PlayedItem], *, after: int, can_write: bool
) -> EvaluationPage:
    """`after` is the number of the model that is shown, compared with the first if it is another.

    A number that there is not means the last model.
    """
    last = len(evaluation.models) - 1
    shown = after if 0 <= after <= last else last
    found = results_of(items, len(evaluation.models))
    pair = None
    if service.comparable(evaluation) and shown:
        pair = compare_models(items, evaluation.seeds, before=0, after=shown)
    cells = _cells(evaluation, items, pair, shown)
    is_live = evaluation.status not in progress.ENDED
    count = len(evaluation.seeds)
    return EvaluationPage(
        slug=evaluation.slug,
        name=evaluation.name,
        project_slug=evaluation.project.slug,
        project_name=evaluation.project.name,
        status=evaluation.status,
        reason=evaluation.status_reason,
        words=_words(evaluation, len(items)),
        played=len(items),
        total=service.episode_count(evaluation),
        owner=evaluation.owner,
        created_at=evaluation.created_at,
        set_words=_set_words(evaluation),
        settings_words=_settings_words(evaluation),
        conditions=[_condition(each) for each in evaluation.conditions],
        results=[_result_row(evaluation, each, items) for each in found],
        published=evaluation.eval_set == EASY_0_63_T15.name,
        summary=_summary(evaluation, pair),
        chips=_chips(evaluation, shown),
        grid_title=_grid_title(evaluation, pair, shown),
        cells=cells[:MAX_CELLS],
        key=_key(evaluation, pair, shown, cells),
        grid_note=f"The first {MAX_CELLS} of {count} mazes." if count > MAX_CELLS else "",
        outcomes=_outcomes(found),
        turns=_turns(evaluation, found),
        mazes=_mazes(evaluation, items)[:MAX_CELLS],
        mazes_note=(
            f"The first {MAX_CELLS} of {count} mazes; the CSV has all." if count > MAX_CELLS else ""
        ),
        live_url=_live_url(evaluation, shown) if is_live else "",
        can_stop=can_write and evaluation.status in progress.OPEN,
        can_resume=can_write
        and evaluation.status in (EvaluationStatus.STOPPED, EvaluationStatus.FAILED),
    )


def letter(number: int) -> str:
    """`A` of the first model; sentences and cells name models so."""
    return ascii_uppercase[number]


def _words(evaluation: Evaluation, played: int) -> str:
    total = service.episode_count(evaluation)
    done = f"{played} of {total} episodes played"
    match evaluation.status:
        case EvaluationStatus.QUEUED:
            return f"Waits for a worker · {done}" if played else "Waits for a worker"
        case EvaluationStatus.STOPPING:
            return f"Stopping · {done}"
        case _:
            return done


def _set_words(evaluation: Evaluation) -> str:
    count = len(evaluation.seeds)
    return (
        f"{environment_words(evaluation.env_id)} · {count} maze{'s' * (count != 1)}, "
        f"{evaluation.solvable_count} solvable in {evaluation.max_turns} turns · "
        f"{evaluation.dialect} dialect"
    )


def _settings_words(evaluation: Evaluation) -> str:
    samples = "" if evaluation.samples == 1 else f" · {evaluation.samples} episodes a maze"
    return (
        f"temperature {evaluation.temperature:g}{samples} · "
        f"at most {evaluation.concurrency} at a time"
    )


def _condition(item: Mapping[str, object]) -> Condition:
    return Condition(
        kind=str(item["kind"]),
        since=datetime.fromisoformat(str(item["since"])),
        message=str(item["message"]),
    )


def _result_row(
    evaluation: Evaluation, found: ModelResult, items: Sequence[PlayedItem]
) -> ResultRow:
    number = found.model_number
    change = ""
    if number and service.comparable(evaluation):
        pair = compare_models(items, evaluation.seeds, before=0, after=number)
        change = pair.short_words()
    return ResultRow(
        letter=letter(number),
        title=str(evaluation.models[number]["model"]),
        endpoint=str(evaluation.models[number]["endpoint_name"]),
        rate=rate_figure(found.solved, found.n) if found.n else None,
        pass_at_1=_pass_words(evaluation, found),
        mean_turns=_UNKNOWN if found.mean_turns is None else f"{found.mean_turns:.1f}",
        errors=found.errors,
        change=change,
    )


def _pass_words(evaluation: Evaluation, found: ModelResult) -> str:
    """`28/64 · 43.8 %`; with several samples a maze, the mean over mazes."""
    if found.pass_at_1 is None:
        return _UNKNOWN
    if evaluation.samples > 1:
        return percent(found.pass_at_1)
    return f"{found.passed}/{found.n} · {percent(found.pass_at_1)}"


def _summary(evaluation: Evaluation, pair: Comparison | None) -> str:
    if pair is not None:
        return pair.words(letter(pair.before), letter(pair.after))
    if len(evaluation.models) > 1 and evaluation.samples > 1:
        return (
            "McNemar's test needs one episode a maze of each model; here each maze was played "
            f"{evaluation.samples} times. The intervals take all episodes as independent."
        )
    return ""


def _chips(evaluation: Evaluation, shown: int) -> list[Chip]:
    if len(evaluation.models) < 2 or (
        service.comparable(evaluation) and len(evaluation.models) < 3
    ):
        return []
    first = 1 if service.comparable(evaluation) else 0
    return [
        Chip(
            f"A and {letter(number)}" if first else letter(number),
            f"/evaluations/{evaluation.slug}?after={number}",
            number == shown,
        )
        for number in range(first, len(evaluation.models))
    ]


def _grid_title(evaluation: Evaluation, pair: Comparison | None, shown: int) -> str:
    if pair is not None:
        return f"Mazes solved by A and {letter(shown)}"
    return f"Mazes solved by {letter(shown)}" if len(evaluation.models) > 1 else "Mazes"


def _cells(
    evaluation: Evaluation, items: Sequence[PlayedItem], pair: Comparison | None, shown: int
) -> list[Cell]:
    by_seed: defaultdict[int, list[PlayedItem]] = defaultdict(list)
    for item in items:
        if item.model_number == shown:
            by_seed[item.seed].append(item)
    draw = _is_drawn(evaluation)
    return [_cell(evaluation, seed, by_seed[seed], pair, shown, draw) for seed in evaluation.seeds]


def _cell(
    evaluation: Evaluation,
    seed: int,
    plays: Sequence[PlayedItem],
    pair: Comparison | None,
    shown: int,
    draw: bool,
) -> Cell:
    kind, mark = _look(plays), ""
    how = {_WAITING: "not played yet", _SOLVED: "solved", _UNSOLVED: "not solved"}.get(kind, "")
    if kind == _SOME:
        how = f"solved {sum(each.is_solved for each in plays)} of {len(plays)} times"
    if pair is not None:
        pairing = pair.pairs[seed]
        kind = _KIND_OF[pairing]
        mark = {Pairing.ONLY_AFTER: letter(shown), Pairing.ONLY_BEFORE: letter(0)}.get(pairing, "")
        how = _pair_words(pairing, shown)
    first = next((each for each in plays if each.episode), None)
    return Cell(
        kind=kind,
        label=f"Maze {seed}: {how}",
        mark=mark,
        url=_episode_url(first),
        picture=_picture(evaluation.env_id, seed) if draw else None,
    )


def _look(plays: Sequence[PlayedItem]) -> str:
    counted = [each.is_solved for each in plays if each.is_counted]
    if not counted:
        return _WAITING
    if all(counted):
        return _SOLVED
    return _SOME if any(counted) else _UNSOLVED


def _pair_words(pairing: Pairing, shown: int) -> str:
    return {
        Pairing.BOTH: "solved by both",
        Pairing.ONLY_AFTER: f"solved by {letter(shown)} only",
        Pairing.ONLY_BEFORE: f"solved by {letter(0)} only",
        Pairing.NONE: "solved by none",
        Pairing.OPEN: "not played by both yet",
    }[pairing]


def _key(
    evaluation: Evaluation, pair: Comparison | None, shown: int, cells: Sequence[Cell]
) -> list[Key]:
    """What each look means; a look that no cell has is left out, unless it is one of a pair."""
    counts = Counter(cell.kind for cell in cells)
    marks = {cell.kind: cell.mark for cell in cells}
    if pair is not None:
        named = [(_KIND_OF[each], _pair_words(each, shown)) for each in Pairing]
    else:
        named = [(_SOLVED, "solved"), (_SOME, "solved in some episodes")]
        named += [(_UNSOLVED, "not solved"), (_WAITING, "not played yet")]
    return [
        Key(kind, words, counts[kind], marks.get(kind, ""))
        for kind, words in named
        if counts[kind] or (pair is not None and kind != _WAITING)
    ]


def _outcomes(found: Sequence[ModelResult]) -> list[BarRow]:
    largest = max((n for each in found for n in each.outcomes.values()), default=0)
    return [
        BarRow(OUTCOMES[outcome], [_bar(each.outcomes.get(outcome, 0), largest) for each in found])
        for outcome in Outcome
        if any(each.outcomes.get(outcome) for each in found)
    ]


def _turns(evaluation: Evaluation, found: Sequence[ModelResult]) -> list[BarRow]:
    """Counted episodes by number of turns, in at most 20 stretches of equal length."""
    if not any(each.n for each in found):
        return []
    width = -(-evaluation.max_turns // _BINS)
    starts = range(1, evaluation.max_turns + 1, width)
    counted = [Counter[int]() for _ in found]
    for each, counts in zip(found, counted, strict=True):
        for turns, count in each.turns.items():
            counts[max(0, turns - 1) // width] += count
    largest = max(count for counts in counted for count in counts.values())
    return [
        BarRow(
            str(start) if width == 1 else f"{start}–{min(start + width - 1, evaluation.max_turns)}",
            [_bar(counts[place], largest) for counts in counted],
        )
        for place, start in enumerate(starts)
    ]


def _bar(count: int, largest: int) -> Bar:
    return Bar(count, round(100 * count / largest, 1) if largest else 0.0)


def _mazes(evaluation: Evaluation, items: Sequence[PlayedItem]) -> list[MazeRow]:
    plays: defaultdict[tuple[int, int], list[PlayLink]] = defaultdict(list)
    for item in items:
        plays[item.seed, item.model_number].append(_play_link(item))
    numbers = range(len(evaluation.models))
    return [MazeRow(seed, [plays[seed, number] for number in numbers]) for seed in evaluation.seeds]


def _play_link(item: PlayedItem) -> PlayLink:
    words = OUTCOMES[item.outcome]
    if item.is_counted:
        words = f"{words} · {item.turns} turn{'s' * (item.turns != 1)}"
    return PlayLink(words, _episode_url(item), item.is_solved)


def _episode_url(item: PlayedItem | None) -> str:
    return f"/playground/{item.episode}" if item is not None and item.episode else ""


def _live_url(evaluation: Evaluation, shown: int) -> str:
    query = urlencode({"after": shown, "since": evaluation.revision})
    return f"/evaluations/{evaluation.slug}?{query}"


def _is_drawn(evaluation: Evaluation) -> bool:
    try:
        height, width = size_of(evaluation.env_id)
    except ValueError:
        return False
    return height * width <= _MAX_DRAWN


def _picture(env_id: str, seed: int) -> MazePicture:
    return maze_picture(env_id, seed)
