from sleuth.cluster.published import open_parts as open_parts
from sleuth.cluster.sharded import GatheredBackend as GatheredBackend
from sleuth.cluster.sharded import ShardedEngine as ShardedEngine
from sleuth.cluster.shards.layout import shard_of as shard_of
from sleuth.cluster.storage.cache import Cache as Cache
from sleuth.cluster.storage.cache import fetch as fetch
from sleuth.cluster.storage.manifest import Manifest as Manifest
from sleuth.cluster.storage.publishing import publish as publish
from sleuth.cluster.storage.versions import prune as prune
from sleuth.cluster.storage.versions import versions as versions

__all__: list[str]
