"""What a run may spend: one hard cap over all its answers and judgements."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from uuid import uuid4


@dataclass(frozen=True)
class Spending:
    """What a run may spend. run_id is stored with every response, so that all steps of a run share one cap.

    budget_usd: None permits nothing that costs money.
    """

    run_id: str = field(default_factory=lambda: str(uuid4()))
    budget_usd: float | None = None


class Budget:
    """The cap while requests are in flight: what a call may cost at most is set aside before it is sent.

    So what is spent passes the cap by no more than the calls in flight cost beyond the most that was thought of: by
    nothing when the provider counts as we do. Belongs to one event loop.
    """

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self.limit_usd, self.spent_usd, self.reserved_usd = limit_usd, spent_usd, 0.0
        self._settled = asyncio.Condition()
        self._in_flight = 0

    async def reserve(self, usd: float) -> bool:
        """Set `usd` aside, waiting for calls in flight when there is no room; False when there will be none."""
        if usd <= 0:
            return True
        async with self._settled:
            while not self._fits(usd):
                if self._in_flight == 0:
                    self._settled.notify_all()  # nothing will come back any more for the others who wait either
                    return False
                await self._settled.wait()
            self.reserved_usd += usd
            self._in_flight += 1
            return True

    async def settle(self, reserved_usd: float, actual_usd: float | None) -> None:
        """Exchange a reservation for what the call really cost; None: the provider did not say, so all that was set
        aside counts as spent. A call that never came back settles with 0."""
        if reserved_usd <= 0:
            return  # a model that costs nothing
        # no await before this is done: an interrupt must not leave money set aside for a call that is over
        self.spent_usd += reserved_usd if actual_usd is None else actual_usd
        self.reserved_usd -= reserved_usd
        self._in_flight -= 1
        async with self._settled:
            self._settled.notify_all()

    @property
    def used_up(self) -> str:
        """Why no more is asked, in words."""
        limit = 0.0 if self.limit_usd is None else self.limit_usd
        return (
            f"the budget is used up: {self.spent_usd:.4f} of {limit:.2f} USD are spent, and the next question could "
            "cost more than what is left; what is answered is kept, a larger --budget goes on"
        )

    def _fits(self, usd: float) -> bool:
        return self.limit_usd is not None and self.spent_usd + self.reserved_usd + usd <= self.limit_usd
