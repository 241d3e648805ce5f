from sleuth.plugins.ray.engine import RayEngine as RayEngine
from sleuth.plugins.ray.engine import serve_from_ray as serve_from_ray
from sleuth.plugins.ray.indexing import aindex_on_ray as aindex_on_ray
from sleuth.plugins.ray.indexing import index_on_ray as index_on_ray
from sleuth.plugins.ray.progress import BuildProgress as BuildProgress
from sleuth.plugins.ray.progress import BuildReport as BuildReport
from sleuth.plugins.ray.resharding import reshard as reshard
from sleuth.plugins.ray.router import RouterOptions as RouterOptions
from sleuth.plugins.ray.session import ray_session as ray_session
from sleuth.plugins.ray.store import ServingStatus as ServingStatus

__all__: list[str]
