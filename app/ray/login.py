"""What proves to a dashboard who we are, and how it is renewed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, eq=False)
class Login:
    """`base_url` is where the dashboard is, without a slash at its end."""

    base_url: str
    headers: Mapping[str, str] = field(repr=False)


class Logins(Protocol):
    """`address` names the cluster in messages."""

    address: str

    async def current(self) -> Login:
        """The one in use, or a first one. Raises `RayError`."""
        ...

    async def renew(self, refused: Login) -> Login | None:
        """Another one instead of one that was refused, or None: there can be none.

        Raises `RayError`.
        """
        ...

    def not_signed_in(self) -> str:
        """What is refused, and what to do about it, for people."""
        ...

    async def aclose(self) -> None: ...


class FixedLogin:
    """An address that is called as it is, with a bearer token or without one."""

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address = address.rstrip("/")
        self._has_token = token is not None
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._login = Login(self.address, headers)

    async def current(self) -> Login:
        return self._login

    async def renew(self, refused: Login) -> Login | None:
        return None

    def not_signed_in(self) -> str:
        fix = "Set the right token" if self._has_token else "Set a token"
        what = "refused our token" if self._has_token else "asks for a token"
        return f"The Ray cluster at {self.address} {what}. {fix} on the cluster's page."

    async def aclose(self) -> None:
        return
