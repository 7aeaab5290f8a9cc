"""Who may talk to a page: its own tabs and programs of this machine; from elsewhere only who has its token.

A browser lets any page of any site connect to this machine, and says in ``Origin`` where that page came from. A name of
a site can be made to lead to this machine (DNS rebinding), which ``Host`` shows. viser checks neither.
"""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Callable, Iterator
from http import HTTPStatus
from inspect import isawaitable
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOCAL = ("127.0.0.1", "localhost", "::1")
"""Names of this machine that no other one can reach."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z.-]+)(?::[0-9]{1,5})?")


class Guard:
    """Decides on every request to a page.

    Attributes:
        token: what a visitor must show, in the address (``/?token=...``) and from then on as a cookie; empty where the
            page cannot be reached from other machines.

    Args:
        host: where the page listens.
    """

    def __init__(self, host: str) -> None:
        self.names = (*LOCAL, host.lower()) if is_loopback(host) else ()
        self.token = "" if self.names else secrets.token_urlsafe(18)

    def refusal(self, request: Any) -> str:
        """Why a request is refused; empty if it is not.

        Programs send no ``Origin``; of this machine they are let in.
        """
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if len(hosts) != 1 or (self.names and _name(hosts[0]) not in self.names):
            return "this page has another address"
        if origins and origins not in ([f"{scheme}://{hosts[0]}"] for scheme in ("http", "https")):
            return "pages of other addresses may not connect"
        if self.token and not self.shown(request) and not self._has_cookie(request):
            return "the address that was printed has a token: use all of it"
        return ""

    def shown(self, request: Any) -> bool:
        """Whether the token is in the address that is asked for."""
        given = parse_qs(urlsplit(request.path).query).get("token", [])
        return bool(self.token) and any(_same(value, self.token) for value in given)

    def cookie(self, request: Any) -> str:
        """What the browser is to show from now on; pages of other sites cannot make it do so."""
        return f"{_cookie_name(request)}={self.token}; HttpOnly; SameSite=Lax; Path=/"

    def _has_cookie(self, request: Any) -> bool:
        given = "; ".join(request.headers.get_all("Cookie")).split("; ")
        return any(_same(value, f"{_cookie_name(request)}={self.token}") for value in given)


def is_loopback(host: str) -> bool:
    """Whether no other machine can reach what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@contextlib.contextmanager
def guarded(guard: Guard, answering: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """A server that viser begins meanwhile asks ``guard`` first.

    viser has no place for that, so the function with which it starts to listen gets one.

    Args:
        answering: makes of viser's function that answers requests for files the one that does.
    """
    import websockets.asyncio.server as library

    listen = library.serve

    def serve(*arguments: Any, process_request: Any, **options: Any) -> Any:
        answered = answering(process_request)

        async def ask(connection: Any, request: Any) -> Any:
            if why := guard.refusal(request):
                return connection.respond(HTTPStatus.FORBIDDEN, f"{why}\n")
            if guard.shown(request):
                answer = connection.respond(HTTPStatus.SEE_OTHER, "")
                answer.headers["Location"] = "/"  # without the token, which shall not stay where it can be read
                answer.headers["Set-Cookie"] = guard.cookie(request)
                return answer
            answer = answered(connection, request)
            return await answer if isawaitable(answer) else answer

        return listen(*arguments, process_request=ask, **options)

    library.serve = serve  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        library.serve = listen  # type: ignore[misc]


def _name(host: str) -> str:
    """The name in ``name:port``; empty for anything else, such as a list of names."""
    found = _HOST.fullmatch(host)
    return found[1].strip("[]").lower() if found else ""


def _cookie_name(request: Any) -> str:
    """One for each port: cookies are shared by all servers of a machine."""
    port = request.headers["Host"].rpartition(":")[2]
    return f"pliant_{port if port.isdigit() else 80}"


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
