from sleuth.code.search.context import count_tokens as count_tokens
from sleuth.code.search.phrases import pairs_of as pairs_of
from sleuth.code.search.phrases import phrase_scores as phrase_scores
from sleuth.code.search.query import read_query as read_query
from sleuth.code.search.ranking import rank_files as rank_files
from sleuth.code.search.signals import best_of as best_of
from sleuth.code.search.vectors import chunk_vectors as chunk_vectors
from sleuth.code.search.words import ANALYZERS as ANALYZERS
from sleuth.code.search.words import SOURCES as SOURCES
from sleuth.code.search.words import WordLeg as WordLeg

__all__: list[str]
