from sleuth.code.search.matching_lines import agrep as agrep
from sleuth.code.search.matching_lines import compile_pattern as compile_pattern
from sleuth.code.search.matching_lines import grep as grep

__all__: list[str]
