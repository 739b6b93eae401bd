"""What is said when settings are wrong.

Every problem of a start is reported at once, and a misspelt name comes with the one that was meant.
What may be a secret is never repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from riverlog.errors import ConfigError, RiverlogError

_SECRET = re.compile(r"passw|secret|jaas|credential|passphrase|token|\.key$", re.IGNORECASE)


class CombinedConfigError(ConfigError):
    """Several wrong settings, reported together; `problems` has them one by one."""

    def __init__(self, problems: Sequence[ConfigError]) -> None:
        first = problems[0]
        lines = "".join(f"\n  {problem}" for problem in problems)
        RiverlogError.__init__(self, f"{len(problems)} settings are not accepted:{lines}")
        self.problems = tuple(problems)
        self.setting = first.setting
        self.value = first.value
        self.accepted = first.accepted
        self.source = first.source


def each_problem(error: ConfigError) -> Sequence[ConfigError]:
    """List what an error reports: itself, or the several it stands for."""
    return error.problems if isinstance(error, CombinedConfigError) else (error,)


def raise_problems(problems: Sequence[ConfigError]) -> None:
    """Raise what was found: nothing, the one problem, or all of them together."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise CombinedConfigError(problems)


def resembling(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that somebody may have meant."""
    from difflib import get_close_matches  # only paid for by a start that fails or warns

    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.75)), None)


def unknown_setting(
    name: str, value: object, known: Iterable[str], *, source: str = "", what: str = "setting"
) -> ConfigError:
    """Say that a name is not known, and which known one it resembles."""
    close = resembling(name, known)
    hint = f"; did you mean {close}?" if close else ""
    shown = "(hidden)" if _SECRET.search(name) else value
    return ConfigError(name, shown, f"the name of a {what}{hint}", source=source)
