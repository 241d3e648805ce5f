"""A token bucket."""

import time


class TokenBucket:
    """Holds tokens; a request takes one."""

    def __init__(self, size: int = 50) -> None:
        self.size, self.tokens, self.refilled = size, size, time.monotonic()

    def refill(self) -> None:
        """Add one token for each second since the last refill."""
        seconds = int(time.monotonic() - self.refilled)
        self.tokens = min(self.size, self.tokens + seconds)
        self.refilled += seconds

    def take(self) -> bool:
        """Take a token; return False if the bucket is empty."""
        self.refill()
        if self.tokens == 0:
            return False
        self.tokens -= 1
        return True
