"""Form fields as the templates need them: values as typed, with label, help and problem."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.datastructures import FormData

_NOT_ID = re.compile(r"[^a-zA-Z0-9]+")


@dataclass(frozen=True, slots=True)
class FormField:
    """One control. `value` is text as typed, so that nothing is lost when it is refused."""

    name: str
    label: str
    kind: str
    """`text`, `prose`, `code`, `number`, `flag`, `choice`, `date` or `password`."""
    value: str
    help: str = ""
    choices: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """What a choice is called, where its value is not for people."""
    problem: str = ""
    placeholder: str = ""
    autocomplete: str = "off"
    """What browsers and password managers may fill in: a token of HTML's `autocomplete`."""

    @property
    def id(self) -> str:
        return control_id(self.name)


def control_id(name: str) -> str:
    """The id of the control of that name."""
    return "field-" + _NOT_ID.sub("-", name).strip("-").lower()


def typed_values(form: FormData) -> dict[str, str]:
    """Each field's last value as text; a flag's hidden `false` comes before its `true`.

    Halves of a surrogate pair, which no answer and no database can hold, become question marks.
    """
    return {
        _encodable(name): _encodable(value)
        for name, value in form.multi_items()
        if isinstance(value, str)
    }


def looked_up(text: str) -> str:
    """What is typed to find something by: no database can be asked for a text with a NUL."""
    return _encodable(text).replace("\0", "\ufffd")


def as_text(value: object) -> str:
    """How a config value is shown in a control: lists and dicts in one line of JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def group_problems(
    problems: Mapping[str, str], fields: Sequence[FormField]
) -> list[tuple[str, str]]:
    """(control id or empty, sentence) for the summary on top; what fits no field comes last."""
    by_name = {f.name: f for f in fields}
    known = [(by_name[n].id, _named(by_name[n], m)) for n, m in problems.items() if n in by_name]
    return known + [("", message) for name, message in problems.items() if name not in by_name]


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _named(field: FormField, message: str) -> str:
    return message if message.startswith(field.label) else f"{field.label}: {message}"
