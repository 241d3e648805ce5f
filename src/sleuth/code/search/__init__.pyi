from sleuth.code.search.matching_lines import agrep as agrep
from sleuth.code.search.matching_lines import grep as grep
from sleuth.code.search.patterns import compile_pattern as compile_pattern

__all__: list[str]
