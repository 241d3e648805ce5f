from sleuth.cluster.ray.engine import RayEngine as RayEngine
from sleuth.cluster.ray.engine import serve_from_ray as serve_from_ray
from sleuth.cluster.ray.indexing import aindex_on_ray as aindex_on_ray
from sleuth.cluster.ray.indexing import index_on_ray as index_on_ray
from sleuth.cluster.ray.progress import BuildProgress as BuildProgress
from sleuth.cluster.ray.progress import BuildReport as BuildReport
from sleuth.cluster.ray.resharding import reshard as reshard
from sleuth.cluster.ray.router import RouterOptions as RouterOptions
from sleuth.cluster.ray.session import ray_session as ray_session
from sleuth.cluster.ray.store import ServingStatus as ServingStatus

__all__: list[str]
