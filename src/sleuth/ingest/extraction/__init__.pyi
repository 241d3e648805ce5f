from sleuth.ingest.extraction.processes import Extractors as Extractors
from sleuth.ingest.extraction.result import ExtractionError as ExtractionError

__all__: list[str]
