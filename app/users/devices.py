"""From which browser and address somebody is signed in, in words."""

import re
from dataclasses import dataclass, field

from app.access.principal import Actor, Origin
from app.models import User

_BROWSERS = (
    ("Edge", r"Edg(?:e|A|iOS)?/"),
    ("Opera", r"OPR/|Opera"),
    ("Samsung Internet", r"SamsungBrowser/"),
    ("Firefox", r"Firefox/|FxiOS/"),
    ("Chrome", r"Chrome/|CriOS/|Chromium/"),
    ("Safari", r"Version/[\d.]+ .*Safari/"),
    ("a program", r"^(?:curl|python|Wget|Go-http|okhttp|httpx)"),
)
_SYSTEMS = (
    ("iPhone", r"iPhone"),
    ("iPad", r"iPad"),
    ("Android", r"Android"),
    ("ChromeOS", r"CrOS"),
    ("Windows", r"Windows"),
    ("macOS", r"Macintosh|Mac OS X"),
    ("Linux", r"Linux|X11"),
)
_USER_AGENT_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Device:
    """Where somebody signs in from. All empty for the command line."""

    origin: Origin = field(default_factory=Origin)
    user_agent: str = ""

    @property
    def stored_user_agent(self) -> str:
        return self.user_agent[:_USER_AGENT_LENGTH]

    def actor(self, user: User) -> Actor:
        """The user as the audit log names them, at this device."""
        return Actor.at(self.origin, name=user.name, key=f"user:{user.id}")

    def nobody(self) -> Actor:
        """Whoever is at this device and is not signed in."""
        return Actor.at(self.origin, name="nobody", key="")


def device_words(user_agent: str) -> str:
    """`Firefox on Linux`; `Unknown browser` for what says nothing known."""
    browser = _first(_BROWSERS, user_agent)
    system = _first(_SYSTEMS, user_agent)
    words = f"{browser or 'unknown browser'} on {system}" if system else browser
    return (words[:1].upper() + words[1:]) if words else "Unknown browser"


def _first(table: tuple[tuple[str, str], ...], user_agent: str) -> str:
    return next((name for name, mark in table if re.search(mark, user_agent)), "")
