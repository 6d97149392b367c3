"""What can be wrong with a call to another host, each with a sentence that says what to do.

OutgoingError
├── AddressRefused       by our rules; nothing was sent. `rule` is a stable id
│   ├── BadAddress       no address that may be called at all
│   ├── HostRefused      leads to an inner network
│   ├── PortRefused      the port of another kind of service
│   └── PlainHttpRefused http to a host that no administrator allowed
├── RedirectRefused      the answer sends us where we do not go
├── NameNotResolved      DNS gave no address in time
├── AnswerTooLarge       body or headers
├── AnswerTooSlow        the whole call took too long
├── AnswerUnreadable     a compression that was not asked for, or a damaged one
└── AllowListUnreadable  the database did not answer, so nothing is called

They are errors of httpx too: code that minds a failed call also minds a refused one. A message
names hosts, ports and addresses; never a path, a query or a password, which may be secret.
"""

import httpx

from app.errors import SkydeckError

WHERE = "Settings, Outgoing hosts"


class OutgoingError(SkydeckError, httpx.TransportError):
    """Base of all errors about calls to other hosts."""

    code = "outgoing_error"
    status = 502


class AddressRefused(OutgoingError):
    """Refused by our rules."""

    code = "outgoing_refused"
    status = 422

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class BadAddress(AddressRefused):
    """The text names no address that may be called, whatever is allowed."""

    code = "outgoing_bad_address"


class HostRefused(AddressRefused):
    """The host is, or resolves to, an address that is not on the public internet."""

    code = "outgoing_host_refused"


class PortRefused(AddressRefused):
    """The port belongs to another kind of service."""

    code = "outgoing_port_refused"

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} is not one that Skydeck calls. An administrator can allow "
            f"“{host}:{port}” under {WHERE}.",
            rule="port",
        )


class PlainHttpRefused(AddressRefused):
    """Without TLS anybody on the way could read the token."""

    code = "outgoing_plain_http"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} must be called by https. An administrator can allow “{host}” for http "
            f"under {WHERE}.",
            rule="plain-http",
        )


class RedirectRefused(OutgoingError):
    """The answer is a redirect that is not followed; what was sent so far has been sent."""

    code = "outgoing_redirect_refused"

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class NameNotResolved(OutgoingError):
    """DNS has no address for the name, or did not answer in time."""

    code = "outgoing_name_not_resolved"
    status = 503

    def __init__(self, host: str, cause: str) -> None:
        super().__init__(f"The name {host} could not be resolved: {cause}. Check its spelling.")


class AnswerTooLarge(OutgoingError):
    """The rest of the answer was not read."""

    code = "outgoing_answer_too_large"

    def __init__(self, host: str, part: str, limit: int) -> None:
        super().__init__(
            f"The answer of {host} was cut off: its {part} is larger than {limit:,} bytes."
        )


class AnswerTooSlow(OutgoingError):
    """The call as a whole ran out of its time. Whether the host acted on it is open."""

    code = "outgoing_answer_too_slow"
    status = 504

    def __init__(self, host: str, seconds: float) -> None:
        super().__init__(f"{host} did not answer completely within {seconds:g} s. Try again later.")


class AnswerUnreadable(OutgoingError):
    """The body cannot be unpacked."""

    code = "outgoing_answer_unreadable"

    def __init__(self, host: str, cause: str) -> None:
        super().__init__(f"The answer of {host} cannot be read: {cause}.")


class AllowListUnreadable(OutgoingError):
    """Without the list of allowed hosts nothing is called."""

    code = "outgoing_allow_list_unreadable"
    status = 503

    def __init__(self) -> None:
        super().__init__(
            "The list of outgoing hosts cannot be read from the database right now, so nothing "
            "was called. Try again."
        )
