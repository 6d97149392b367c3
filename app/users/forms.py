"""The forms of accounts: their fields, and what was typed into them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum

from app.access.permissions import Scope
from app.access.service import Membership
from app.errors import Invalid, Problem
from app.models import Role
from app.users.rules import MIN_PASSWORD, clean_name, name_problem, password_problem
from app.web.filters import sentence
from app.web.forms import FormField

EVERYWHERE = "all projects"
NOWHERE = "no project yet"
_PASSWORD_HELP = (
    f"At least {MIN_PASSWORD} characters, of any kind. Four unrelated words are easy to remember."
)


class Expiry(StrEnum):
    """How long a token lasts."""

    WEEK = "7 days"
    MONTH = "30 days"
    QUARTER = "90 days"
    DATE = "until a date"
    NEVER = "never"


_DAYS = {Expiry.WEEK: 7, Expiry.MONTH: 30, Expiry.QUARTER: 90}


def problems_of(error: Invalid) -> dict[str, str]:
    """Each refused field with its sentence; an error without fields is the form's own."""
    found = {problem.field: sentence(problem.message) for problem in error.problems}
    return found or {"": sentence(error.message)}


def sign_in_fields(name: str = "", *, is_refused: bool = False) -> list[FormField]:
    problem = "This name and password do not belong together." if is_refused else ""
    return [
        FormField("name", "Name", "text", name, autocomplete="username", problem=problem),
        FormField("password", "Password", "password", "", autocomplete="current-password"),
    ]


def name_field(name: str, problems: Mapping[str, str]) -> FormField:
    return FormField(
        "name",
        "Name",
        "text",
        name,
        help="You sign in with it; others see it beside your runs.",
        problem=problems.get("name", ""),
        autocomplete="username",
    )


def new_password_fields(
    problems: Mapping[str, str], *, is_optional: bool = False
) -> list[FormField]:
    """A new password, typed twice: what was typed is never sent back."""
    suffix = " Leave it empty to sign in by links only." if is_optional else ""
    return [
        FormField(
            "password",
            "New password",
            "password",
            "",
            help=_PASSWORD_HELP + suffix,
            problem=problems.get("password", ""),
            autocomplete="new-password",
        ),
        FormField(
            "repeat",
            "Once more",
            "password",
            "",
            problem=problems.get("repeat", ""),
            autocomplete="new-password",
        ),
    ]


def change_fields(problems: Mapping[str, str], *, has_password: bool) -> list[FormField]:
    present = FormField(
        "present",
        "Present password",
        "password",
        "",
        problem=problems.get("present", ""),
        autocomplete="current-password",
    )
    return [*([present] if has_password else []), *new_password_fields(problems)]


def check_new_password(password: str, repeat: str, name: str) -> None:
    """Raises `Invalid` with a problem for each field that is refused."""
    problems = [found] if (found := password_problem(password, name)) else []
    if password != repeat:
        problems.append(Problem("repeat", "differs", "these two differ: type it once more"))
    if problems:
        raise Invalid("this password cannot be taken", problems)


def check_new_account(name: str, password: str, repeat: str) -> None:
    """As `check_new_password`, and for the name as far as it can be judged alone."""
    problems = [found] if (found := name_problem(clean_name(name))) else []
    try:
        check_new_password(password, repeat, name)
    except Invalid as error:
        problems += error.problems
    if problems:
        raise Invalid("this account cannot be made", problems)


def token_fields(
    typed: Mapping[str, str],
    problems: Mapping[str, str],
    *,
    projects: Sequence[Membership],
    may_last: bool,
) -> list[FormField]:
    """`may_last`: whether a token without an end may be chosen."""
    expiries = [each for each in Expiry if may_last or each is not Expiry.NEVER]
    return [
        FormField(
            "name",
            "Name",
            "text",
            typed.get("name", ""),
            help="What will use it, such as “laptop”.",
            problem=problems.get("name", ""),
        ),
        FormField(
            "scope",
            "Scope",
            "choice",
            typed.get("scope", Scope.WRITE),
            help="Read sees; write also launches and stops; admin can do all that you can.",
            choices=list(Scope),
            problem=problems.get("scope", ""),
        ),
        FormField(
            "project",
            "Project",
            "choice",
            typed.get("project", EVERYWHERE),
            help="Where it may be used. It never sees more than you do.",
            choices=[EVERYWHERE, *(each.slug for each in projects)],
            problem=problems.get("project", ""),
        ),
        FormField(
            "expiry",
            "Lasts",
            "choice",
            typed.get("expiry", Expiry.QUARTER),
            choices=expiries,
            problem=problems.get("expiry", ""),
        ),
        FormField(
            "until",
            "Until",
            "date",
            typed.get("until", ""),
            help="Counts where “until a date” is chosen.",
            problem=problems.get("expires_at", ""),
        ),
    ]


def expires_at(expiry: str, until: str, now: datetime) -> datetime | None:
    """When a token ends, by what was chosen. Raises `Invalid`."""
    if expiry not in list(Expiry):
        message = f"choose one of: {', '.join(Expiry)}"
        raise Invalid(message, [Problem("expiry", "choice", message)])
    chosen = Expiry(expiry)
    if chosen is Expiry.DATE:
        return _end_of(until)
    return None if chosen is Expiry.NEVER else now + timedelta(days=_DAYS[chosen])


def _end_of(day: str) -> datetime:
    try:
        return datetime.combine(date.fromisoformat(day), time.max, UTC)
    except ValueError:
        message = "give a day, such as 2027-01-31"
        raise Invalid(message, [Problem("expires_at", "date", message)]) from None


def invite_fields(
    typed: Mapping[str, str], problems: Mapping[str, str], *, projects: Sequence[Membership] | None
) -> list[FormField]:
    """`projects` None: the project is fixed by the page."""
    place = FormField(
        "project",
        "Project",
        "choice",
        typed.get("project", NOWHERE),
        help="What the new person joins.",
        choices=[NOWHERE, *(each.slug for each in projects or ())],
    )
    role = FormField(
        "role",
        "Role",
        "choice",
        typed.get("role", Role.MEMBER),
        help="Viewers look; members launch and stop; administrators also manage people.",
        choices=list(Role),
    )
    note = FormField(
        "note",
        "Note",
        "text",
        typed.get("note", ""),
        help="For whom it is. Only administrators see it.",
        problem=problems.get("note", ""),
    )
    return [*([place] if projects is not None else []), role, note]
