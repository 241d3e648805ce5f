from sleuth.ingest.extraction.processes import Extractors as Extractors
from sleuth.ingest.extraction.result import ExtractionError as ExtractionError

__all__: list[str]

# Not public: for tests.
from sleuth.ingest.extraction.tables import name_columns as name_columns
