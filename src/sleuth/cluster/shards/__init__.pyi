from sleuth.cluster.shards.layout import DEFAULT_SHARDS as DEFAULT_SHARDS
from sleuth.cluster.shards.layout import Layout as Layout
from sleuth.cluster.shards.shard import ShardIndex as ShardIndex
from sleuth.cluster.shards.shards import ShardAnswers as ShardAnswers
from sleuth.cluster.shards.shards import ShardsMissingError as ShardsMissingError
from sleuth.cluster.shards.snapshot import GatheredSnapshot as GatheredSnapshot
from sleuth.cluster.shards.wire import decode as decode
from sleuth.cluster.shards.wire import encode as encode
from sleuth.cluster.shards.writing import by_shard as by_shard

__all__: list[str]
