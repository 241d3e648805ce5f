"""Keys of rows over all shards: the number of the shard above the key of the row there."""

from typing import Final

KEY_BITS: Final = 44
"""Of a key that name the row in its shard."""

LOCAL: Final = (1 << KEY_BITS) - 1
"""The bits of a key that name the row in its shard."""
