from sleuth.engine.codebase import open_code as open_code
from sleuth.engine.embedders import is_slow as is_slow
from sleuth.engine.embedders import open_embedder as open_embedder
from sleuth.engine.engine import Engine as Engine
from sleuth.engine.fusion import Fusion as Fusion
from sleuth.engine.legs import open_legs as open_legs
from sleuth.engine.legs import ranking_legs as ranking_legs
from sleuth.engine.legs import register_leg as register_leg
from sleuth.engine.opening import check_settings as check_settings
from sleuth.engine.reading import text_of as text_of
from sleuth.engine.relevance import score_hits as score_hits
from sleuth.engine.relevance import score_texts as score_texts
from sleuth.engine.request import WITHOUT_VARIETY as WITHOUT_VARIETY
from sleuth.engine.request import SearchRequest as SearchRequest
from sleuth.engine.reranking import RerankModel as RerankModel
from sleuth.engine.workspace import Workspace as Workspace

__all__: list[str]
