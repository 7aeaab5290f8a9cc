"""DDS on the loopback interface only, in a domain of this process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pliant.ros import Ros2Link

LOOPBACK = """<CycloneDDS><Domain Id="any">
<General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces>
<AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>30</MaxAutoParticipantIndex>
<Peers><Peer address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"""


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("CYCLONEDDS_URI", LOOPBACK)
    return 10 + os.getpid() % 200


@pytest.fixture
def links(domain: int) -> Iterator[tuple[Ros2Link, Ros2Link]]:
    """Two participants that see each other."""
    pair = Ros2Link(domain), Ros2Link(domain)
    yield pair
    for link in pair:
        link.close()
