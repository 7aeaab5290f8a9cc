"""The viewer's server against raw sockets: it listens on this machine only and outlives whatever is sent to it."""

from __future__ import annotations

import base64
import os
import socket
import struct
import urllib.request
from collections.abc import Iterator

import pytest
import viser

from made_plans import ball_plan
from pliant.viewer import Viewer


@pytest.fixture(scope="module")
def viewer() -> Iterator[Viewer]:
    with Viewer(port=0) as running:
        running.open_plan(ball_plan())
        yield running


def place(viewer: Viewer) -> tuple[str, int]:
    return "127.0.0.1", int(viewer.address.rpartition(":")[2])


def send(viewer: Viewer, data: bytes, then: bytes = b"", *, wait: float = 1.0, most: int = 200_000) -> bytes:
    """Send bytes on a connection of their own, more after the first answer, and read what comes within a while."""
    with socket.create_connection(place(viewer), timeout=wait) as line:
        got = b""
        try:
            line.sendall(data)
            if then:
                line.settimeout(20.0)
                got = line.recv(65536)
                line.settimeout(wait)
                line.sendall(then)
            while len(got) < most and (piece := line.recv(65536)):
                got += piece
        except OSError:
            pass  # silence, or a closed door: both are fair answers
        return got


def alive(viewer: Viewer) -> None:
    with urllib.request.urlopen(viewer.address, timeout=20) as page:
        assert page.status == 200 and b"<html" in page.read(2000).lower()


def upgrade(viewer: Viewer, *, origin: str | None = None, protocol: str = "") -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        "GET / HTTP/1.1",
        f"Host: 127.0.0.1:{place(viewer)[1]}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Protocol: {protocol or f'viser-v{viser.__version__}'}",
    ]
    if origin is not None:
        lines.append(f"Origin: {origin}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def frame(data: bytes, *, kind: int = 2, masked: bool = True, length: int | None = None) -> bytes:
    """A websocket frame; ``length`` is what it claims to carry."""
    claimed = len(data) if length is None else length
    head = bytes([0x80 | kind, (0x80 if masked else 0) | 127]) + struct.pack(">Q", claimed)
    return head + (bytes(4) if masked else b"") + data


def test_nobody_but_this_machine_can_connect(viewer: Viewer) -> None:
    _, port = place(viewer)
    assert viewer.server.get_host() == "127.0.0.1"
    outside = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)} - {"127.0.0.1", "::1"}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # the address that packets would leave from
        try:
            probe.connect(("192.0.2.1", 9))
            outside.add(probe.getsockname()[0])
        except OSError:
            pass
    for address in outside:
        if not str(address).startswith("127."):
            with pytest.raises(OSError):
                socket.create_connection((str(address), port), timeout=2).close()


@pytest.mark.parametrize(
    "request_line",
    [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/..\\..\\etc\\passwd",
        "//etc/passwd",
        "file:///etc/passwd",
        "/assets/../../../../../etc/passwd",
        "/%00",
        "/" + "a" * 5000,
    ],
)
def test_no_file_of_the_machine_is_served(viewer: Viewer, request_line: str) -> None:
    answer = send(viewer, f"GET {request_line} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    assert b"root:" not in answer
    assert b" 200 " not in answer[:40] or b"<html" in answer.lower()
    alive(viewer)


GARBAGE = {
    "nothing": b"",
    "noise": bytes(range(256)) * 40,
    "half_a_request": b"GET / HTTP/1.1\r\nHost: x",
    "no_http": b"HELO there\r\n\r\n",
    "endless_line": b"GET /" + b"a" * 1_000_000,
    "endless_headers": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000,
    "post": b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\nx",
    "tls": bytes.fromhex("1603010200010001fc0303") + bytes(500),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_instead_of_a_request_is_survived(viewer: Viewer, name: str) -> None:
    send(viewer, GARBAGE[name], wait=0.5)
    alive(viewer)


FRAMES = {
    "noise": bytes(range(256)) * 20,
    "no_mask": frame(b"hello", masked=False),
    "not_msgpack": frame(b"\xc1" * 100),
    "msgpack_of_no_message": frame(b"\x81\xa4type\xa7Unknown"),
    "msgpack_number": frame(b"\x2a"),
    "deep_msgpack": frame(b"\x91" * 100_000),
    "claims_a_billion_elements": frame(b"\xdd\xff\xff\xff\xff"),
    "text": frame(b'{"type": "GuiUpdateMessage"}', kind=1),
    "bad_utf8": frame(b"\xff\xfe", kind=1),
    "claims_to_be_huge": frame(b"x", length=2**62),
    "unknown_kind": frame(b"x", kind=7),
    "close_with_odd_code": frame(struct.pack(">H", 1), kind=8),
    "long_ping": frame(b"x" * 5000, kind=9),
    "field_of_another_type": frame(b"\x83\xa4type\xb0GuiUpdateMessage\xa4uuid\x01\xa7updates\x90"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_tab_that_talks_nonsense_does_no_harm(viewer: Viewer, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    answer = send(viewer, upgrade(viewer), FRAMES[name], wait=0.5, most=2000)
    assert b"101 Switching Protocols" in answer[:60]
    alive(viewer)
    capfd.readouterr()  # what the server says about it is not of interest here


def test_a_page_of_another_site_cannot_talk_to_the_viewer(viewer: Viewer) -> None:
    """A browser would let it: any page may open a connection to 127.0.0.1."""
    for origin in ("http://evil.example", "https://127.0.0.1.evil.example", "null", "http://evil.example:8080"):
        assert b"403" in send(viewer, upgrade(viewer, origin=origin), most=200)[:40], origin
    for origin in (viewer.address, None):  # more of this in test_viewer_guard
        assert b"101 Switching" in send(viewer, upgrade(viewer, origin=origin), most=200)[:40], origin
    alive(viewer)


def test_a_hundred_visitors_who_leave_at_once_leave_nothing(viewer: Viewer) -> None:
    for _ in range(100):
        with socket.create_connection(place(viewer), timeout=5) as line:
            line.sendall(upgrade(viewer)[:100])
    alive(viewer)
    assert len(viewer.tabs) <= 20
