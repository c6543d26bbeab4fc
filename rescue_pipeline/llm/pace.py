"""How fast: an even pace at a known rate, and the rate of an endpoint that never told us, learnt from its refusals.

Arithmetic on the clock only; who waits, and for what, is decided in limits.py.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

SECONDS_PER_MINUTE = 60.0
_NO_TIME = 1e-6
"""Seconds; what is left over by rounding is not waited for."""


class TokenBucket:
    """Lets `rate` units a second through, evenly: at most `burst` of them at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._balance, self._updated = burst, time.monotonic()

    @classmethod
    def per_minute(cls, units: float) -> TokenBucket:
        rate = units / SECONDS_PER_MINUTE
        return cls(rate, max(rate, 1.0))

    def seconds_until(self, units: float) -> float:
        """How long until `units` may be taken. More than the burst waits for a full bucket, then goes into debt."""
        self._refill()
        seconds = (min(units, self.burst) - self._balance) / self.rate
        return seconds if seconds > _NO_TIME else 0.0

    def take(self, units: float) -> None:
        self._refill()
        self._balance -= units

    def give_back(self, units: float) -> None:
        """Return what was taken and not used; a negative number takes what was used beyond it."""
        self._balance = min(self.burst, self._balance + units)

    def change(self, rate: float, burst: float) -> None:
        """Another rate from now on."""
        self._refill()
        self.rate, self.burst = rate, burst

    def _refill(self) -> None:
        now = time.monotonic()
        self._balance = min(self.burst, self._balance + (now - self._updated) * self.rate)
        self._updated = now


@dataclass
class _Span:
    """The time between two refusals: how long, how many requests were taken, and the pace at its end (a second)."""

    seconds: float
    taken: int
    last_rate: float


class LearnedPace:
    """The rate an endpoint takes, learnt from when it refuses for haste (429).

    Providers limit by token bucket: a refusal means that the bucket is empty. So what was taken between two refusals,
    divided by the time between them, is the rate at which it fills, whatever its size; too little where the bucket ran
    over meanwhile, in a long pause. The pace at the second refusal is too much. In between the rate is searched for, a
    few refusals long; then we stay just below what was taken, and rise slowly until the next refusal measures anew.
    Before the first refusal there is no limit to keep.
    """

    BELOW, BACK, AT_MOST = 0.97, 0.84, 1.08
    """Where to go on after a refusal: below what was taken on average; not far below the pace at its end, which was
    hardly too much for a small bucket; and never far above the average, which is right for a large one."""
    CLOSE, MOST_SEARCHES = 1.25, 6
    """The search ends when its bounds are so close, or after so many refusals."""
    ENOUGH = 20
    """Requests that make a measurement: it is wrong by about one of them."""
    DOUBLING = 8.0
    """Seconds in which the rate doubles while it is searched for."""
    PROBE_SECONDS, PROBE_REQUESTS = 8.0, 150
    """When the measured rate is passed again, at the earliest. So a refusal is one request in some hundreds, and rarer
    where its pause is long."""

    def __init__(self) -> None:
        self.measured = False
        self._since: float | None = None
        """The last refusal; before the first one, when asking began."""
        self._sent, self._searches = 0, 0
        self._base: float | None = None
        self._before: tuple[float | None, bool] = (None, False)
        self._span, self._scale = _Span(0.0, 0, 0.0), self.PROBE_SECONDS
        self._bucket: TokenBucket | None = None
        self._recent, self._recent_at = 0.0, 0.0

    def seconds_until_next(self) -> float:
        rate = self.rate()
        if rate is None:
            return 0.0
        burst = max(1.0, rate * 0.05)  # a timer is not exact: what it comes late may be caught up
        if self._bucket is None:
            self._bucket = TokenBucket(rate, 1.0)
        self._bucket.change(rate, burst)
        return self._bucket.seconds_until(1)

    def sent(self) -> None:
        now = time.monotonic()
        if self._since is None:
            self._since = now
        self._sent += 1
        self._recent = self._recent_rate(now) + 1 / self._memory()
        self._recent_at = now
        if self._bucket is not None:
            self._bucket.take(1)

    def refused(self, *, pause_seconds: float) -> None:
        """A refusal that is news: of a request sent after the last one."""
        now = time.monotonic()
        since = now if self._since is None else self._since
        rate = self._recent_rate(now) if self._base is None else self.rate()
        self._span = _Span(max(now - since, _NO_TIME), self._sent - 1, rate or 0.0)
        self._before, self._scale = (self._base, self.measured), self.PROBE_SECONDS * max(1.0, pause_seconds)
        self._searches += 1
        self._since, self._sent, self._bucket = now, 0, None
        self._conclude()

    def refused_too(self) -> None:
        """One more refusal of the same moment: a request that was counted as taken."""
        self._span.taken -= 1
        self._conclude()

    def rate(self) -> float | None:
        """Requests a second to send now; None: as fast as the window lets."""
        if self._base is None or self._since is None:
            return None
        now = time.monotonic()
        quiet = now - self._since
        if self.measured:
            progress = min(quiet / self._scale, self._sent / self.PROBE_REQUESTS)
            risen = self._base * (1 + (1 - self.BELOW) * progress**3)
        else:
            risen = self._base * 2 ** min(20.0, quiet / self.DOUBLING)
        # a rate that nobody makes use of proves nothing
        return float(max(self._base, min(risen, 1.5 * self._recent_rate(now))))

    def _conclude(self) -> None:
        """The rate to start from after a refusal."""
        (base, measured), span = self._before, self._span
        least = max(span.taken, 0) / span.seconds
        most = max(least, span.last_rate)
        if measured and base is not None:
            enough = span.taken >= self.ENOUGH
            back = min(max(self.BELOW * least, self.BACK * most), self.AT_MOST * least)
            self._base = back if enough else self.BELOW * base
        elif base is None:
            self._base = least or None
        elif least == 0:
            self._base = base / 2
        else:
            self.measured = most <= self.CLOSE * least or self._searches >= self.MOST_SEARCHES
            self._base = self.BELOW * least if most <= self.CLOSE * least else math.sqrt(least * most)

    def _memory(self) -> float:
        """Seconds over which the recent rate is looked at: some ten requests."""
        return 1.0 if self._base is None else min(60.0, max(1.0, 10 / self._base))

    def _recent_rate(self, now: float) -> float:
        return self._recent * math.exp((self._recent_at - now) / self._memory())
