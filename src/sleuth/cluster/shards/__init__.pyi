from sleuth.cluster.shards.layout import DEFAULT_SHARDS as DEFAULT_SHARDS
from sleuth.cluster.shards.layout import Layout as Layout
from sleuth.cluster.shards.shard import ShardAnswers as ShardAnswers
from sleuth.cluster.shards.shard import ShardIndex as ShardIndex
from sleuth.cluster.shards.shard import ShardsMissingError as ShardsMissingError
from sleuth.cluster.shards.snapshot import GatheredSnapshot as GatheredSnapshot
from sleuth.cluster.shards.store import by_shard as by_shard
from sleuth.cluster.shards.wire import decode as decode
from sleuth.cluster.shards.wire import encode as encode

__all__: list[str]
