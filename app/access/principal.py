"""Who makes a request, and what they may do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from app.access.permissions import OF_ROLE, OF_SCOPE, Permission, Scope
from app.errors import Forbidden, NotFound
from app.models import Role

_NEEDED = {
    Permission.READ: "a viewer",
    Permission.WRITE: "a member",
    Permission.MANAGE: "an administrator",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request came from. All empty for the command line and for workers."""

    address: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did something, as events and the audit log name them.

    `key` is stable and unique (a token's slug or `user:<id>`), `name` is for people.
    """

    name: str
    key: str
    address: str = ""
    request_id: str = ""

    @classmethod
    def at(cls, origin: Origin, *, name: str, key: str) -> "Actor":
        return cls(name, key, origin.address, origin.request_id)


@dataclass(frozen=True, slots=True)
class OnlyRun:
    """The run, and its attempt, that a token may log to."""

    run_id: UUID
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A signed-in person or a token, with all their rights.

    `roles` are memberships by project; `only_project_id` binds a token to one project;
    `scope` is the most that a token may do (`admin` for a person). A token with `only_run` may do
    nothing but log to that run: what `app.tracking` lets it do, and push points.
    """

    actor: Actor
    user_id: UUID | None = None
    is_site_admin: bool = False
    scope: Scope = Scope.ADMIN
    roles: Mapping[UUID, Role] = field(default_factory=dict)
    only_project_id: UUID | None = None
    only_run: OnlyRun | None = None

    @property
    def key(self) -> str:
        return self.actor.key

    @property
    def name(self) -> str:
        return self.actor.name

    def allows(self, permission: Permission, project_id: UUID | None = None) -> bool:
        """Whether this may be done; `project_id` None asks whether it may be done anywhere."""
        if self.only_run is not None or permission not in OF_SCOPE[self.scope]:
            return False
        if permission is Permission.ACCOUNT:
            # One bound to a project could else make itself one that is not.
            if self.only_project_id is not None:
                return False
            # A token of the service's machine makes and ends tokens, as a person does.
            return self.user_id is not None or self.is_site_admin
        if permission is Permission.ADMINISTER:
            return self.is_site_admin and self.only_project_id is None
        projects = self.projects(permission)
        if project_id is None:
            # Somebody without any project may still see that there is nothing.
            return projects is None or bool(projects) or permission is Permission.READ
        return projects is None or project_id in projects

    def projects(self, permission: Permission) -> frozenset[UUID] | None:
        """The projects in which this may be done; None: in all. Lists are narrowed to these."""
        if self.only_run is not None or permission not in OF_SCOPE[self.scope]:
            return frozenset()
        if self.is_site_admin:
            return None if self.only_project_id is None else frozenset({self.only_project_id})
        return frozenset(
            project_id
            for project_id, role in self.roles.items()
            if permission in OF_ROLE[role] and self.only_project_id in (None, project_id)
        )

    def role_in(self, project_id: UUID) -> Role | None:
        """What they amount to in a project; None if they may not even read it."""
        grants = {p for p in Permission if self.allows(p, project_id)}
        return next((role for role in reversed(Role) if OF_ROLE[role] <= grants), None)

    def require(
        self, permission: Permission, project_id: UUID | None = None, *, what: str = "this"
    ) -> None:
        """Raises `NotFound` for what lies in a project that cannot even be read, else `Forbidden`.

        So nobody learns which names there are in projects of others. `what` names the thing.
        """
        if self.allows(permission, project_id):
            return
        if project_id is not None and not self.allows(Permission.READ, project_id):
            raise NotFound(f"there is no {what}", is_hidden=True)
        raise Forbidden(self._reason(permission, project_id))

    def _reason(self, permission: Permission, project_id: UUID | None) -> str:
        if self.only_run is not None:
            return "this token is of one run, and only logs to it"
        if permission not in OF_SCOPE[self.scope]:
            needed = next(scope for scope in Scope if permission in OF_SCOPE[scope])
            return f"this needs a token of scope {needed}, yours has {self.scope}"
        if permission is Permission.ACCOUNT:
            return "this belongs to a person's account; this token is not for all of one"
        if permission is Permission.ADMINISTER:
            return "this needs an administrator of the site"
        return f"this needs {_NEEDED[permission]} of {'the' if project_id else 'a'} project"
