from sleuth.engine.codebase import default_embedder as default_embedder
from sleuth.engine.codebase import open_code as open_code
from sleuth.engine.contents import DocumentPage as DocumentPage
from sleuth.engine.engine import Engine as Engine
from sleuth.engine.fusion import Fusion as Fusion
from sleuth.engine.importing import import_chroma as import_chroma
from sleuth.engine.relevance import score_texts as score_texts
from sleuth.engine.selection import Count as Count
from sleuth.engine.selection import Facet as Facet
from sleuth.engine.selection import MetadataKey as MetadataKey
from sleuth.engine.sources import Sources as Sources
from sleuth.engine.sources import open_sources as open_sources

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.engine.answering import Answering as Answering
from sleuth.engine.answering import as_generator as as_generator
from sleuth.engine.codebase import check_code as check_code
from sleuth.engine.codebase import code_status as code_status
from sleuth.engine.codebase import has_code as has_code
from sleuth.engine.codebase import repair_code as repair_code
from sleuth.engine.doctor import Diagnosis as Diagnosis
from sleuth.engine.doctor import examine as examine
from sleuth.engine.doctor import mend as mend
from sleuth.engine.doctor import try_plugins as try_plugins
from sleuth.engine.elsewhere import SCHEMES as SCHEMES
from sleuth.engine.elsewhere import SHARDS as SHARDS
from sleuth.engine.embedders import open_embedder as open_embedder
from sleuth.engine.fusion import LEGS as LEGS
from sleuth.engine.fusion import as_fusion as as_fusion
from sleuth.engine.queries import Condition as Condition
from sleuth.engine.ranking import Asked as Asked
from sleuth.engine.ranking import PoolRequest as PoolRequest
from sleuth.engine.ranking import Pools as Pools
from sleuth.engine.ranking import RankedRows as RankedRows
from sleuth.engine.ranking import rank as rank
from sleuth.engine.refresh import Changes as Changes
from sleuth.engine.refresh import changes_of as changes_of
from sleuth.engine.refresh import index_changes as index_changes
from sleuth.engine.search import Searchers as Searchers
from sleuth.engine.search import SearchersOfNewest as SearchersOfNewest
from sleuth.engine.search import check_in_time as check_in_time
from sleuth.engine.search import check_legs as check_legs
from sleuth.engine.search import embedded as embedded
from sleuth.engine.selection import Selection as Selection
from sleuth.engine.sources import SPELLINGS as SPELLINGS
