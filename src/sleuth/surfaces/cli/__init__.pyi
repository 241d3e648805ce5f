from sleuth.surfaces.cli.app import as_epilog as as_epilog
from sleuth.surfaces.cli.common import Output as Output
from sleuth.surfaces.cli.common import human_bytes as human_bytes
from sleuth.surfaces.cli.common import say as say
from sleuth.surfaces.cli.index import Reading as Reading
from sleuth.surfaces.cli.index import gone_files as gone_files
from sleuth.surfaces.cli.index import lines_of_report as lines_of_report
from sleuth.surfaces.cli.index import read_options as read_options
from sleuth.surfaces.cli.opening import new_or_open_index as new_or_open_index
from sleuth.surfaces.cli.opening import web_cache as web_cache
from sleuth.surfaces.cli.options import callable_by_options as callable_by_options
from sleuth.surfaces.cli.options import command as command
from sleuth.surfaces.cli.options import options_from as options_from
from sleuth.surfaces.cli.places import check_origin as check_origin
from sleuth.surfaces.cli.places import index_folder as index_folder
from sleuth.surfaces.cli.progress import Bar as Bar
from sleuth.surfaces.cli.progress import files_read as files_read
from sleuth.surfaces.cli.progress import shows_bytes as shows_bytes
from sleuth.surfaces.cli.publish import AddressArgument as AddressArgument
from sleuth.surfaces.cli.serve import Settings as Settings
from sleuth.surfaces.cli.serve import answer as answer
from sleuth.surfaces.cli.serve import extensions as extensions
from sleuth.surfaces.cli.serve import listen as listen
from sleuth.surfaces.cli.serve import settings_of as settings_of
from sleuth.surfaces.cli.web import web_commands as web_commands

__all__: list[str]
