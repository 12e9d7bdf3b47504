"""The recordings of a frozen function: which there are, which are tried first, which
go, and when they are checked.
"""

from __future__ import annotations

from typing import Any

# Recordings for inputs that differ in sizes only: more are dropped.
_SIZES = 8

# Recordings that are tried without a key.
_RECENT = 4

# Recording.check, see frozen.h.
UNASKED, NEVER = -1, -2
FIRST_CHECK = 2

# Checks that found something else, after which the function is called each time.
_DIFFERENCES = 3


class Kept:
    """``_core._FrozenFunctionBase`` reads ``by_key`` and ``recent``: they stay the same
    objects.

    Threads may call one function at a time: what is iterated over is a copy, lists that
    others may see are exchanged as a whole, and what another thread has removed is
    passed over.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.by_key: dict[Any, list[Any]] = {}  # the latest first
        self.recent: list[Any] = []  # those that fitted lately, the latest first
        self.differences = 0  # that checks have found

    def __len__(self) -> int:
        return sum(map(len, list(self.by_key.values())))

    def all(self) -> list[Any]:
        """The latest of each key last."""
        return [each for known in list(self.by_key.values()) for each in known[::-1]]

    def clear(self) -> None:
        self.by_key.clear()
        self.recent.clear()

    def add(self, key: Any, recording: Any) -> None:
        known = [recording, *self.by_key.pop(key, [])]
        self.by_key[key] = known[:_SIZES]  # at the end: the oldest ones go first
        self._leave_out(*known[_SIZES:])

    def remove(self, key: Any, recording: Any) -> None:
        known = [each for each in self.by_key.pop(key, []) if each is not recording]
        if known:
            self.by_key[key] = known
        self._leave_out(recording)

    def prefer(self, recording: Any) -> None:
        """Try it first from now on."""
        self._leave_out(recording)
        self.recent.insert(0, recording)
        if self.limit:
            for other in self.recent[_RECENT:]:
                self.note_use(other)
        del self.recent[_RECENT:]

    def _leave_out(self, *gone: Any) -> None:
        self.recent[:] = [each for each in self.recent if each not in gone]

    def note_use(self, recording: Any) -> None:
        """Others go first."""
        for key, known in list(self.by_key.items()):
            if recording in known:
                self.by_key.pop(key, None)
                others = [each for each in known if each is not recording]
                self.by_key[key] = [recording, *others]

    def limit_to(self, limit: int) -> None:
        """Forget those that were not used for the longest time."""
        for recording in list(reversed(self.recent)):
            self.note_use(recording)
        for key, known in list(self.by_key.items()):
            excess = len(self) - limit
            if excess <= 0:
                break
            kept = known[: max(0, len(known) - excess)]
            self._leave_out(*known[len(kept) :])
            if kept:
                self.by_key[key] = kept
            else:
                self.by_key.pop(key, None)

    # ------------------------------------------------------------------ checks

    def due(self, snapshot: Any) -> Any:
        """The recording for these inputs that is to be checked now; None."""
        known = self.by_key.get(snapshot.key, ())
        return next((each for each in known if each.due(snapshot)), None)

    def differs(self, known: Any, now: Any) -> bool:
        """Is a function now recorded as something different? ``now``: a recording,
        or why there is none, which may be due to sizes or contents of arrays. Sets the
        next check, or counts the difference."""
        same = 2 if isinstance(now, str) else now.same(known)
        if same == 1:
            if known.check > 0:
                known.check = _next_check(known.check)
            return False
        self.differences += same == 0
        return True

    def is_hopeless(self) -> bool:
        return self.differences >= _DIFFERENCES


def _next_check(before: int) -> int:
    """2, 8, 64, 512, ... repetitions."""
    return before * (4 if before == FIRST_CHECK else 8)
