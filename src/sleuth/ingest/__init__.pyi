from sleuth.ingest.api import add_documents as add_documents
from sleuth.ingest.api import index_paths as index_paths
from sleuth.ingest.api import present as present
from sleuth.ingest.api import roots_of as roots_of
from sleuth.ingest.hashing import content_hash as content_hash
from sleuth.ingest.loaders import register_loader as register_loader
from sleuth.ingest.moving import move_documents as move_documents
from sleuth.ingest.names import FileNames as FileNames
from sleuth.ingest.names import is_below as is_below
from sleuth.ingest.names import printable as printable
from sleuth.ingest.options import ReadOptions as ReadOptions
from sleuth.ingest.reading import read as read
from sleuth.ingest.reports import AddReport as AddReport
from sleuth.ingest.reports import FileEntry as FileEntry
from sleuth.ingest.reports import FileRead as FileRead
from sleuth.ingest.reports import GoneRoot as GoneRoot
from sleuth.ingest.reports import IndexInterrupted as IndexInterrupted
from sleuth.ingest.reports import IndexProgress as IndexProgress
from sleuth.ingest.reports import IndexReport as IndexReport
from sleuth.ingest.reports import MoveReport as MoveReport
from sleuth.ingest.reports import Progress as Progress
from sleuth.ingest.reports import SkipKind as SkipKind
from sleuth.ingest.reports import Skipped as Skipped
from sleuth.ingest.reports import Unchanged as Unchanged
from sleuth.ingest.roots import Options as Options
from sleuth.ingest.roots import Root as Root
from sleuth.ingest.roots import covering as covering
from sleuth.ingest.roots import roots_in as roots_in
from sleuth.ingest.sync import file_of as file_of
from sleuth.ingest.updates import check_changes as check_changes
from sleuth.ingest.updates import updated as updated
from sleuth.ingest.validate import identify as identify
from sleuth.ingest.walking import WalkScope as WalkScope
from sleuth.ingest.walking import walk as walk

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.ingest.changes import ChangedFiles as ChangedFiles
from sleuth.ingest.changes import changed_files as changed_files
from sleuth.ingest.documents import Adder as Adder
from sleuth.ingest.language import with_language as with_language
from sleuth.ingest.options import RESERVED as RESERVED
from sleuth.ingest.reading import Record as Record
from sleuth.ingest.validate import prepare as prepare
from sleuth.ingest.workers import read_file as read_file
