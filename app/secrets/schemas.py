"""JSON shapes of secrets. No answer holds a value."""

from datetime import datetime

from pydantic import Field

from app.api.schemas import Answer, Body
from app.secrets.service import MAX_BYTES, Listed


class SecretBody(Body):
    value: str = Field(
        max_length=MAX_BYTES,
        description="8 characters to 16,000 bytes; it is never given back",
        json_schema_extra={"writeOnly": True},
    )


class SecretAnswer(Answer):
    name: str = Field(examples=["HF_TOKEN"])
    created_by: str
    created_at: datetime
    changed_at: datetime
    last_used_at: datetime | None = Field(description="When a job was last given it")
    config_count: int | None = Field(description="Configs that name it; null for the site's")

    @classmethod
    def of(cls, listed: Listed) -> "SecretAnswer":
        return cls.model_validate(listed)
