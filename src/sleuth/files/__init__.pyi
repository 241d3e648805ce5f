from sleuth.files.encodings import decode as decode
from sleuth.files.encodings import is_binary as is_binary
from sleuth.files.encodings import marked_encoding as marked_encoding
from sleuth.files.ignore import IGNORE_FILES as IGNORE_FILES
from sleuth.files.ignore import MAX_BYTES as MAX_BYTES
from sleuth.files.ignore import SLEUTH_IGNORE as SLEUTH_IGNORE
from sleuth.files.ignore import VERSION_CONTROL as VERSION_CONTROL
from sleuth.files.ignore import Ignores as Ignores
from sleuth.files.ignore import Rules as Rules
from sleuth.files.ignore import above as above
from sleuth.files.kinds import BY_EXTENSION as BY_EXTENSION
from sleuth.files.kinds import CODE as CODE
from sleuth.files.kinds import MARKDOWN as MARKDOWN
from sleuth.files.kinds import ROWS as ROWS
from sleuth.files.kinds import kind_of_first_line as kind_of_first_line
from sleuth.files.kinds import kind_of_name as kind_of_name
from sleuth.files.notebooks import Notebook as Notebook
from sleuth.files.notebooks import read_notebook as read_notebook
from sleuth.files.notebooks import source_of as source_of
from sleuth.files.notebooks import text_of as text_of
from sleuth.files.processes import ProcessEndedError as ProcessEndedError
from sleuth.files.processes import Processes as Processes
from sleuth.files.processes import ProcessStartError as ProcessStartError
from sleuth.files.serving import serve as serve
from sleuth.files.tree import IgnoredPaths as IgnoredPaths
from sleuth.files.tree import files_below as files_below
from sleuth.files.tree import files_of_worktree as files_of_worktree
from sleuth.files.writing import PARTIAL as PARTIAL
from sleuth.files.writing import whole_file as whole_file

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.files.kinds import EXTENSIONS as EXTENSIONS
from sleuth.files.kinds import FILENAMES as FILENAMES
