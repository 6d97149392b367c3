"""JSON shapes of links that share a run."""

from datetime import datetime

from pydantic import Field

from app.api.schemas import Answer, Body
from app.models import ShareLink
from app.sharing.service import DEFAULT_DAYS


class ShareBody(Body):
    days: int = Field(default=DEFAULT_DAYS, description="1, 7, 30 or 90", examples=[7])


class ShareAnswer(Answer):
    id: str = Field(examples=["share-4hd8k2mz"])
    created_by: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None = Field(description="Exact to a minute")

    @classmethod
    def of(cls, link: ShareLink) -> "ShareAnswer":
        return cls.model_validate(_named(link))


class NewShareAnswer(ShareAnswer):
    url: str | None = Field(
        default=None,
        description="The link: shown here once; null when a call is repeated by its key",
        examples=["https://skydeck.example/shared/…"],
    )

    @classmethod
    def made(cls, link: ShareLink, url: str) -> "NewShareAnswer":
        return cls.model_validate(_named(link) | {"url": url})


def _named(link: ShareLink) -> dict[str, object]:
    columns = ("created_by", "created_at", "expires_at", "last_used_at")
    return {"id": link.slug} | {name: getattr(link, name) for name in columns}
