"""JSON shapes of API tokens."""

from datetime import datetime

from pydantic import AwareDatetime, Field

from app.access.permissions import Scope
from app.api.schemas import Answer, Body, Line
from app.models import ApiToken


class TokenBody(Body):
    name: Line = Field(examples=["nightly sweep"])
    scope: Scope = Scope.WRITE
    expires_at: AwareDatetime | None = Field(default=None, examples=["2027-01-01T00:00:00Z"])


class TokenAnswer(Answer):
    id: str = Field(examples=["tok-4hd8k2mz"])
    name: str
    prefix: str = Field(description="The readable head of the token", examples=["sky_x7Rf2k"])
    scope: Scope
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="Exact to a minute")

    @classmethod
    def of(cls, token: ApiToken) -> "TokenAnswer":
        return cls.model_validate(_named(token))


class NewTokenAnswer(TokenAnswer):
    token: str | None = Field(
        default=None,
        description="The secret: shown here once; null when a call is repeated by its key",
    )

    @classmethod
    def made(cls, token: ApiToken, secret: str) -> "NewTokenAnswer":
        return cls.model_validate(_named(token) | {"token": secret})


def _named(token: ApiToken) -> dict[str, object]:
    columns = ("name", "prefix", "scope", "created_at", "expires_at", "last_used_at")
    return {"id": token.slug} | {name: getattr(token, name) for name in columns}
