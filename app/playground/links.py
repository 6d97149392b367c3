"""Links to the form of a new episode, and the form as such a link asks for it."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from app.endpoints.offered import ModelGroup
from app.episodes.engine import Task
from app.playground import form
from app.playground.form import Draft

MODEL = "model"
_MAZE = (form.ENV, form.SEED, form.TURNS, form.DIALECT)
_LONGEST = 100


def play_url(task: Task | None = None, *, models: Sequence[str] = ()) -> str:
    """The form on the maze of `task`, with `models` side by side, named as `chosen` finds them."""
    query = [(MODEL, each) for each in models]
    if task is not None:
        values = (task.env_id, task.seed, task.max_turns, task.dialect)
        query += [(name, str(value)) for name, value in zip(_MAZE, values, strict=True)]
    return f"/playground?{urlencode(query)}#new"


def chosen(
    draft: Draft, models: Sequence[str], groups: Sequence[ModelGroup]
) -> tuple[Draft, list[str]]:
    """The draft with `models` in its lanes, and those of them that nobody offers right now.

    A model is named with its endpoint, as in the form, or by its id alone: then the first endpoint
    that offers it is taken.
    """
    options = [option for group in groups for option in group.options]
    found, missing = dict(draft.values), []
    for name, model in zip(form.LANES, models, strict=False):
        value = next((each.value for each in options if model in (each.value, each.label)), "")
        found[name] = value
        if not value:
            endpoint, _, model_id = model.partition(" ")
            missing.append(model_id or endpoint)
    return Draft(found), missing


def maze_of(values: Mapping[str, str]) -> Draft:
    """The form on a link's maze; what the link does not say is as usual."""
    given = {name: text[:_LONGEST] for name in _MAZE if (text := values.get(name, ""))}
    chosen_env = form.environment(given[form.ENV]) if form.ENV in given else {}
    return Draft(given | chosen_env)
