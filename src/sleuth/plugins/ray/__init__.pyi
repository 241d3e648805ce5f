from sleuth.plugins.ray.engine import serve_from_ray as serve_from_ray
from sleuth.plugins.ray.indexing import aindex_on_ray as aindex_on_ray
from sleuth.plugins.ray.indexing import index_on_ray as index_on_ray
from sleuth.plugins.ray.resharding import reshard as reshard
from sleuth.plugins.ray.router import RouterOptions as RouterOptions

__all__: list[str]
