from sleuth.ingest.api import present as present
from sleuth.ingest.api import roots_of as roots_of
from sleuth.ingest.chunkers import chunks_at as chunks_at
from sleuth.ingest.chunkers import open_chunker as open_chunker
from sleuth.ingest.diff import Diff as Diff
from sleuth.ingest.diff import rows_below as rows_below
from sleuth.ingest.documents import Adder as Adder
from sleuth.ingest.loaders.registry import FileFormat as FileFormat
from sleuth.ingest.names import FileNames as FileNames
from sleuth.ingest.names import is_below as is_below
from sleuth.ingest.options import ReadOptions as ReadOptions
from sleuth.ingest.reading import read as read
from sleuth.ingest.reading import read_file as read_file
from sleuth.ingest.reports import REFUSED as REFUSED
from sleuth.ingest.reports import AddReport as AddReport
from sleuth.ingest.reports import FileEntry as FileEntry
from sleuth.ingest.reports import IndexProgress as IndexProgress
from sleuth.ingest.reports import IndexReport as IndexReport
from sleuth.ingest.reports import Record as Record
from sleuth.ingest.reports import Skipped as Skipped
from sleuth.ingest.reports import Unchanged as Unchanged
from sleuth.ingest.reports import grouped as grouped
from sleuth.ingest.run import Run as Run
from sleuth.ingest.run import file_of as file_of
from sleuth.ingest.run import is_file as is_file
from sleuth.ingest.walking import walk as walk

__all__: list[str]
