from sleuth.engine.codebase import default_embedder as default_embedder
from sleuth.engine.codebase import open_code as open_code
from sleuth.engine.engine import Engine as Engine
from sleuth.engine.fusion import Fusion as Fusion
from sleuth.engine.importing import import_chroma as import_chroma
from sleuth.engine.sources import Sources as Sources
from sleuth.engine.sources import open_sources as open_sources

__all__: list[str]
