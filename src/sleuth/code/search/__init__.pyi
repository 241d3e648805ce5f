from sleuth.code.search.history import Place as Place
from sleuth.code.search.history import base_of as base_of
from sleuth.code.search.history import places_named as places_named
from sleuth.code.search.matching_lines import agrep as agrep
from sleuth.code.search.matching_lines import grep as grep
from sleuth.code.search.neighbours import similar_pieces as similar_pieces
from sleuth.code.search.patterns import LinePattern as LinePattern
from sleuth.code.search.patterns import compile_pattern as compile_pattern
from sleuth.code.search.vectors import embed_missing as embed_missing

__all__: list[str]
