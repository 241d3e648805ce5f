from sleuth.compose.boost import BoostedRetriever as BoostedRetriever
from sleuth.compose.boost import boost_items as boost_items
from sleuth.compose.dedupe import DedupedRetriever as DedupedRetriever
from sleuth.compose.dedupe import deduplicate as deduplicate
from sleuth.compose.diversify import DiversifiedRetriever as DiversifiedRetriever
from sleuth.compose.diversify import mmr as mmr
from sleuth.compose.fuse import Fused as Fused
from sleuth.compose.fuse import fuse_hits as fuse_hits
from sleuth.compose.fused import FusedRetriever as FusedRetriever
from sleuth.compose.rerank import CrossEncoderReranker as CrossEncoderReranker
from sleuth.compose.rerank import RerankedRetriever as RerankedRetriever
from sleuth.compose.slices import run_slices as run_slices

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.compose.arrange import Arrangement as Arrangement
from sleuth.compose.arrange import NotedItems as NotedItems
from sleuth.compose.arrange import Recency as Recency
from sleuth.compose.arrange import moment_of as moment_of
from sleuth.compose.arrange import parse_boosts as parse_boosts
from sleuth.compose.arrange import sorted_by as sorted_by
from sleuth.compose.dedupe import by_metadata as by_metadata
from sleuth.compose.fuse import FORMULAS as FORMULAS
from sleuth.compose.fuse import Pool as Pool
from sleuth.compose.fuse import best_places as best_places
from sleuth.compose.fuse import normalise as normalise
from sleuth.compose.fuse import overlap as overlap
from sleuth.compose.items import best_first as best_first
from sleuth.compose.items import rescored as rescored
from sleuth.compose.labelled import KEY as KEY
from sleuth.compose.labelled import LabelledRetriever as LabelledRetriever
from sleuth.compose.methods import RANK_CONSTANT as RANK_CONSTANT
from sleuth.compose.methods import Method as Method
from sleuth.compose.rerank import reranked as reranked
from sleuth.compose.variety import FEW as FEW
from sleuth.compose.variety import WINDOW as WINDOW
from sleuth.compose.variety import choose as choose
from sleuth.compose.variety import choose_among as choose_among
