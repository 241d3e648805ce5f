from sleuth.cluster.engine import ShardedEngine as ShardedEngine
from sleuth.cluster.shards.layout import shard_of as shard_of

__all__: list[str]

# Not public: for tests.
from sleuth.cluster.shards.writing import ShardedWriter as ShardedWriter
