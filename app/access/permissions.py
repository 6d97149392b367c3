"""What may be done, and by whom: the whole table of rights. Pure; knows no database.

Five permissions are enough: three of a project, one of the site, one of one's own account.
"""

from enum import StrEnum

from app.models import Role


class Permission(StrEnum):
    """Each route names exactly one.

    `account`: one's own account, for anybody signed in. `read`, `write`, `manage`: a project and
    all that is in it; its viewers, members and administrators. `administer`: the site.
    """

    ACCOUNT = "account"
    READ = "read"
    WRITE = "write"
    MANAGE = "manage"
    ADMINISTER = "administer"


class Scope(StrEnum):
    """The most that a token may do, whoever's it is; each holds what the ones before it do."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


OF_ROLE = {
    Role.VIEWER: frozenset({Permission.READ}),
    Role.MEMBER: frozenset({Permission.READ, Permission.WRITE}),
    Role.ADMINISTRATOR: frozenset({Permission.READ, Permission.WRITE, Permission.MANAGE}),
}
OF_SCOPE = {
    Scope.READ: frozenset({Permission.READ}),
    Scope.WRITE: frozenset({Permission.READ, Permission.WRITE}),
    Scope.ADMIN: frozenset(Permission),
}
"""A token of scope `admin` can do all that its user can."""
