from uuid import UUID, uuid4

import pytest

from app.access.permissions import OF_SCOPE, Permission, Scope
from app.access.principal import Actor, Principal
from app.errors import Forbidden, NotFound
from app.models import Role

OWN, OTHER = uuid4(), uuid4()
PROJECT = (Permission.READ, Permission.WRITE, Permission.MANAGE)


def person(role: Role | None = None, **more: object) -> Principal:
    roles = {OWN: role} if role else {}
    return Principal(actor=Actor("ada", "user:1"), user_id=uuid4(), roles=roles, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("scope", list(Scope))
def test_each_scope_holds_those_before_it(scope: Scope) -> None:
    order = list(Scope)
    smaller = [each for each in order if OF_SCOPE[each] <= OF_SCOPE[scope]]
    assert smaller == order[: order.index(scope) + 1]


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (None, ()),
        (Role.VIEWER, PROJECT[:1]),
        (Role.MEMBER, PROJECT[:2]),
        (Role.ADMINISTRATOR, PROJECT),
    ],
)
def test_a_role_counts_in_its_own_project_only(
    role: Role | None, allowed: tuple[Permission, ...]
) -> None:
    who = person(role)
    assert tuple(p for p in PROJECT if who.allows(p, OWN)) == allowed
    assert not any(who.allows(p, OTHER) for p in PROJECT)
    assert not who.allows(Permission.ADMINISTER)


@pytest.mark.parametrize("project_id", [OWN, OTHER, None])
def test_an_administrator_of_the_site_may_do_all(project_id: UUID | None) -> None:
    who = person(is_site_admin=True)
    assert all(who.allows(permission, project_id) for permission in Permission)
    assert who.projects(Permission.READ) is None


@pytest.mark.parametrize("scope", list(Scope))
def test_a_token_is_bound_by_its_scope(scope: Scope) -> None:
    token = person(Role.ADMINISTRATOR, scope=scope)
    assert {p for p in PROJECT if token.allows(p, OWN)} == OF_SCOPE[scope] & set(PROJECT)
    writable = frozenset[UUID]() if scope is Scope.READ else frozenset({OWN})
    assert token.projects(Permission.WRITE) == writable


def test_a_token_of_one_project_sees_no_other_and_administers_nothing() -> None:
    token = person(is_site_admin=True, only_project_id=OWN)
    assert token.projects(Permission.READ) == frozenset({OWN})
    assert token.allows(Permission.MANAGE, OWN)
    assert not token.allows(Permission.READ, OTHER)
    assert not token.allows(Permission.ADMINISTER)


def test_somebody_without_projects_may_see_that_there_is_nothing_but_not_write() -> None:
    assert person().allows(Permission.READ)
    assert not person().allows(Permission.WRITE)


def test_what_cannot_be_read_is_not_there() -> None:
    with pytest.raises(NotFound, match="there is no run run-x") as hidden:
        person().require(Permission.WRITE, OWN, what="run run-x")
    assert hidden.value.is_hidden
    with pytest.raises(Forbidden, match="a member of the project"):
        person(Role.VIEWER).require(Permission.WRITE, OWN)
    with pytest.raises(Forbidden, match="token of scope write, yours has read"):
        person(Role.MEMBER, scope=Scope.READ).require(Permission.WRITE, OWN)


@pytest.mark.parametrize("role", list(Role))
def test_a_role_is_read_back_from_what_it_allows(role: Role) -> None:
    assert person(role).role_in(OWN) is role
    assert person(role).role_in(OTHER) is None
    assert person(role, scope=Scope.READ).role_in(OWN) is Role.VIEWER


def test_a_token_of_one_project_is_not_for_an_account() -> None:
    bound = person(Role.ADMINISTRATOR, only_project_id=OWN)
    assert not bound.allows(Permission.ACCOUNT)
    assert bound.allows(Permission.MANAGE, OWN)
