"""How much stronger than wanted the grip is, for what has slipped, and how it lets go again.   (theory 9)"""

from __future__ import annotations

import math

from pliant.control.options import ControlOptions

NOTICED = 1e-4  # centres of pressure that go farther than ever by so much still slip [m]
COARSE = 0.05  # the grip grows in steps of so much
WARY = 0.5  # of what may wander else is allowed while the grip lets go
SUDDEN = 0.4  # of what is allowed, from one frame to the next: more is a slip
LET_GO = 0.02  # a factor so little above its floor is the floor


class SlipReflex:
    """The factor on the wanted forces.

    At once ``factor = rest + slip_gain (s - allowed)``, s the slip since it was forgiven last; what has slipped from
    one frame to the next beyond a share of ``allowed`` counts as well, since things wander slowly and fall fast. When
    nothing has slipped for ``slip_calm``, s is forgiven and the factor falls to its floor as ``exp(-t / slip_fade)``.
    The floor is 1, until an object slips while the grip lets go: from then on it is the factor that has stopped it.

    Args:
        options: ``slip_gain``, ``grip_most``, ``slip_calm``, ``slip_fade``.
        allowed: what contacts may wander together while nothing slips [m].

    Attributes:
        factor: on the wanted forces, 1 or more.
        floor: it is never less again.
    """

    def __init__(self, options: ControlOptions, allowed: float) -> None:
        self.options, self.allowed = options, allowed
        self.factor = self.floor = 1.0
        self._rest, self._dead = 1.0, allowed
        self._farthest, self._moved_at, self._seen_at = 0.0, -math.inf, -math.inf
        self._lets_go = self._again = False

    def slips(self, shift: float, now: float, jump: float = 0.0) -> bool:
        """Whether the grip becomes stronger.

        Args:
            shift: how far the contacts have gone together since it was forgiven last [m].
            now: [s].
            jump: how far they have gone together since the frame before [m].
        """
        options = self.options
        if shift > self._farthest + NOTICED:
            self._farthest, self._moved_at = shift, now
        slipped = max(shift - self._dead, 0.0) + max(jump - SUDDEN * self.allowed, 0.0)
        factor = min(self._rest + options.slip_gain * slipped, options.grip_most)
        if factor <= self.factor + COARSE:
            return False
        self._again, self._lets_go = self._again or self._lets_go, False
        self.factor, self._moved_at = factor, now
        return True

    def lets_go(self, now: float) -> bool:
        """Let go as far as it is time for; whether what has slipped so far is to be forgiven."""
        since, self._seen_at = now - self._seen_at, now
        if self._lets_go:
            over = self.floor + (self.factor - self.floor) * math.exp(-since / self.options.slip_fade)
            self._lets_go = over > self.floor + LET_GO
            self.factor = self._rest = over if self._lets_go else self.floor
        elif self.factor > self.floor and now - self._moved_at >= self.options.slip_calm:
            self.floor = self.factor if self._again else self.floor
            self._lets_go, self._again = self.factor > self.floor, False
            self._rest = self.factor
        else:
            return False
        if self._lets_go and self._dead < self.allowed:
            return False
        self._dead = WARY * self.allowed if self._lets_go else self.allowed
        self._farthest = 0.0
        return True
