from sleuth.ingest.extraction.html import html_to_markdown as html_to_markdown
from sleuth.ingest.extraction.result import Extracted as Extracted
from sleuth.ingest.extraction.result import ExtractionError as ExtractionError
from sleuth.ingest.extraction.result import within as within
from sleuth.ingest.extraction.tables import name_columns as name_columns
from sleuth.ingest.extraction.tables import named_row as named_row

__all__: list[str]
