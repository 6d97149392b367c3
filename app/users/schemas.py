"""JSON shapes of API tokens."""

from datetime import datetime

from pydantic import AwareDatetime, Field

from app.access.permissions import Scope
from app.api.schemas import Answer, Body, Line
from app.users.service import TokenEntry


class TokenBody(Body):
    name: Line = Field(examples=["nightly sweep"])
    scope: Scope = Scope.WRITE
    project: Line | None = Field(
        default=None, description="Binds the token to one project", examples=["default"]
    )
    expires_at: AwareDatetime | None = Field(default=None, examples=["2027-01-01T00:00:00Z"])


class TokenAnswer(Answer):
    id: str = Field(examples=["tok-4hd8k2mz"])
    name: str
    prefix: str = Field(description="The readable head of the token", examples=["sky_x7Rf2k"])
    scope: Scope
    user: str | None = Field(description="Whose it is; null: of the service's own machine")
    project: str | None = Field(description="The one project it is bound to, if any")
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="Exact to a minute")

    @classmethod
    def of(cls, entry: TokenEntry) -> "TokenAnswer":
        return cls.model_validate(_named(entry))


class NewTokenAnswer(TokenAnswer):
    token: str | None = Field(
        default=None,
        description="The secret: shown here once; null when a call is repeated by its key",
    )

    @classmethod
    def made(cls, entry: TokenEntry, secret: str) -> "NewTokenAnswer":
        return cls.model_validate(_named(entry) | {"token": secret})


def _named(entry: TokenEntry) -> dict[str, object]:
    columns = ("name", "prefix", "scope", "created_at", "expires_at", "last_used_at")
    named: dict[str, object] = {name: getattr(entry.token, name) for name in columns}
    return named | {"id": entry.token.slug, "user": entry.user_name, "project": entry.project}
