from sleuth.dense.embedding import check_embedder as check_embedder
from sleuth.dense.embedding import dimension_of as dimension_of
from sleuth.dense.embedding import embed_texts as embed_texts
from sleuth.dense.late import TokenReranker as TokenReranker
from sleuth.dense.leg import DenseLeg as DenseLeg
from sleuth.dense.missing import MissingEmbedder as MissingEmbedder
from sleuth.dense.missing import MissingTokenEmbedder as MissingTokenEmbedder
from sleuth.dense.search import DenseSearcher as DenseSearcher
from sleuth.dense.wordllama import CodeEmbedder as CodeEmbedder
from sleuth.dense.wordllama import WordLlamaEmbedder as WordLlamaEmbedder

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.dense.embedding import Reading as Reading
from sleuth.dense.encoding import encode as encode
from sleuth.dense.late import match as match
from sleuth.dense.leg import embedder_of as embedder_of
from sleuth.dense.legibility import legible as legible
from sleuth.dense.lists import ClusterLists as ClusterLists
from sleuth.dense.lists import lists_in as lists_in
from sleuth.dense.wordllama import MOST_TOKENS as MOST_TOKENS
from sleuth.dense.wordllama import TOKENS as TOKENS
from sleuth.dense.wordllama import VOCABULARY as VOCABULARY
from sleuth.dense.wordllama import WEIGHTS as WEIGHTS
from sleuth.dense.wordllama import has_wordllama as has_wordllama
from sleuth.dense.wordllama import is_gibberish as is_gibberish
from sleuth.dense.wordllama import load_model as load_model
from sleuth.dense.wordllama import missing_wordllama as missing_wordllama
from sleuth.dense.wordllama import read_table as read_table
from sleuth.dense.wordllama import read_vocabulary as read_vocabulary
from sleuth.dense.wordpieces import Vocabulary as Vocabulary
