from sleuth.ingest.extraction.html import html_to_markdown as html_to_markdown
from sleuth.ingest.extraction.text import Extracted as Extracted
from sleuth.ingest.extraction.text import ExtractionError as ExtractionError
from sleuth.ingest.extraction.text import name_columns as name_columns
from sleuth.ingest.extraction.text import named_row as named_row
from sleuth.ingest.extraction.text import within as within

__all__: list[str]
