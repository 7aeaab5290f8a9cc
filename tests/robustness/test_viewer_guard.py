"""Who may talk to a page: own tabs and programs of this machine; from elsewhere who has the token, once for all."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest

from pliant.viewer.scene.guard import Guard, is_loopback
from pliant.viewer.scene.server import ServedPage

UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Version": "13",
}


@pytest.fixture(scope="module", params=["127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0"])
def page(request: pytest.FixtureRequest) -> Iterator[ServedPage]:
    with ServedPage(request.param, 0) as running:
        yield running


def asked(page: ServedPage, path: str = "/", **headers: str) -> http.client.HTTPResponse:
    """The answer to a request; ``Host`` is the page's own unless given."""
    host, port = page.server.get_host(), page.server.get_port()
    line = http.client.HTTPConnection("127.0.0.1" if host in ("0.0.0.0", "localhost") else host, port, timeout=20)
    line.request("GET", path, headers={"Host": f"127.0.0.1:{port}", **headers})
    answer = line.getresponse()
    line.close()
    return answer


def tab(page: ServedPage, **headers: str) -> int:
    return asked(page, **UPGRADE, **headers).status


def own(page: ServedPage, name: str = "127.0.0.1") -> dict[str, str]:
    host = f"{name}:{page.server.get_port()}"
    return {"Host": host, "Origin": f"http://{host}"}


def entry(page: ServedPage) -> dict[str, str]:
    """What a visitor shows who came by the printed address: a cookie where there is a token."""
    path = page.address.removeprefix("http://").partition("/")[2]
    if not path:
        return {}
    answer = asked(page, f"/{path}")
    assert answer.status == 303 and answer.getheader("Location") == "/"  # the token does not stay in the address
    cookie = answer.getheader("Set-Cookie", "")
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie
    return {"Cookie": cookie.partition(";")[0]}


def test_own_pages_are_let_in_and_pages_of_other_sites_and_ports_are_not(page: ServedPage) -> None:
    port, shown = page.server.get_port(), entry(page)
    assert asked(page, **shown).status == 200
    assert tab(page, **shown, **own(page)) == 101
    assert tab(page, **shown, **own(page, "localhost")) == 101
    forwarded = {"Host": "localhost:9000", "Origin": "http://localhost:9000"}  # through a tunnel, such as ssh -L
    assert tab(page, **shown, **forwarded) == (101 if not shown else 403)  # a cookie is of one port
    for origin in (
        "http://evil.example",
        f"http://evil.example:{port}",
        f"http://127.0.0.1:{port + 1}",  # another server of this machine shows pages of its own
        f"http://127.0.0.1.evil.example:{port}",
        "null",
        "",
    ):
        assert tab(page, **shown, Origin=origin) == 403, origin


def test_programs_of_this_machine_send_no_origin_and_are_let_in_where_nobody_else_can_come(page: ServedPage) -> None:
    assert tab(page) == (403 if "token" in page.address else 101)


def test_a_name_of_a_site_that_leads_to_this_machine_is_refused(page: ServedPage) -> None:
    """DNS rebinding: for the browser, page and server are then of one site."""
    port = page.server.get_port()
    rebound = {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"}
    assert tab(page, **rebound) == 403
    assert asked(page, Host=f"evil.example:{port}").status == 403
    for odd in (
        f"127.0.0.1:{port}, evil.example",
        f"127.0.0.1/evil.example:{port}",
        f"evil@127.0.0.1:{port}",
        "127.1",
        "",
    ):
        assert tab(page, Host=odd, Origin=f"http://{odd}") == 403, odd


def test_where_other_machines_can_come_nothing_is_given_without_the_token(page: ServedPage) -> None:
    if "token" not in page.address:
        assert is_loopback(page.server.get_host())
        return
    cookie = entry(page)["Cookie"]
    name, _, token = cookie.partition("=")
    for wrong in ({}, {"Cookie": f"{name}="}, {"Cookie": f"{name}={token[:-1]}"}, {"Cookie": f"other={token}"}):
        assert asked(page, **wrong).status == 403, wrong
        assert tab(page, **wrong, **own(page)) == 403, wrong
    for path in ("/?token=", f"/?token={token[:-1]}", "/?token=%00", "/?Token=" + token, f"/{token}"):
        assert asked(page, path).status == 403, path
    assert tab(page, Cookie=f"a=b; {cookie}; c=d", **own(page)) == 101
    assert page.address.count(token) == 1


def test_every_server_has_a_token_of_its_own() -> None:
    tokens = {Guard(host).token for host in ("0.0.0.0", "::", "192.0.2.1", "some.name", "10.0.0.1") for _ in range(20)}
    assert len(tokens) == 100 and all(len(token) >= 24 for token in tokens)
    assert not any(Guard(host).token for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost", "LOCALHOST"))
