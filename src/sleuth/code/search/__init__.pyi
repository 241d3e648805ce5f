from sleuth.code.search.context import count_tokens as count_tokens
from sleuth.code.search.filters import CodeFilter as CodeFilter
from sleuth.code.search.functions import FUNCTION_WEIGHTS as FUNCTION_WEIGHTS
from sleuth.code.search.functions import function_of as function_of
from sleuth.code.search.functions import function_signals as function_signals
from sleuth.code.search.functions import outer_functions as outer_functions
from sleuth.code.search.history import Place as Place
from sleuth.code.search.history import base_of as base_of
from sleuth.code.search.history import places_named as places_named
from sleuth.code.search.matching_lines import LineMatch as LineMatch
from sleuth.code.search.matching_lines import LineMatches as LineMatches
from sleuth.code.search.matching_lines import agrep as agrep
from sleuth.code.search.matching_lines import grep as grep
from sleuth.code.search.patterns import LinePattern as LinePattern
from sleuth.code.search.patterns import compile_pattern as compile_pattern
from sleuth.code.search.patterns import required_literal as required_literal
from sleuth.code.search.phrases import pairs_of as pairs_of
from sleuth.code.search.phrases import phrase_scores as phrase_scores
from sleuth.code.search.query import read_query as read_query
from sleuth.code.search.ranking import rank_files as rank_files
from sleuth.code.search.repomap import page_rank as page_rank
from sleuth.code.search.repomap import rank_definitions as rank_definitions
from sleuth.code.search.retriever import search as search
from sleuth.code.search.retriever import search_functions as search_functions
from sleuth.code.search.signals import best_of as best_of
from sleuth.code.search.vectors import chunk_vectors as chunk_vectors

__all__: list[str]
