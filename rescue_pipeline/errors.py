"""The errors a user can meet.

An error says what went wrong, where (file, record, field), what was expected and found, and what to type next.
`cli.main` prints it and exits with its `exit_code`: 0 done, 1 failed, 2 usage, 3 finished but incomplete.
"""

from __future__ import annotations


class RescueError(Exception):
    """Something failed that the user can understand and mend."""

    exit_code = 1

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        found: str | None = None,
        advice: str | None = None,
    ) -> None:
        self.what, self.where, self.expected, self.found, self.advice = what, where, expected, found, advice
        super().__init__(str(self))

    def lines(self) -> list[tuple[str, str]]:
        """The labelled parts that were given, in reading order."""
        parts = [
            ("where", self.where),
            ("expected", self.expected),
            ("found", self.found),
            ("try", self.advice),
        ]
        return [(label, text) for label, text in parts if text is not None]

    def __str__(self) -> str:
        return "; ".join([self.what, *(f"{label}: {text}" for label, text in self.lines())])


class UsageError(RescueError):
    """The command or a configuration file is wrong; nothing was started."""

    exit_code = 2
