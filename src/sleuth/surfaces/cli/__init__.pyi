from sleuth.surfaces.cli.common import IndexOption as IndexOption
from sleuth.surfaces.cli.common import JsonOption as JsonOption
from sleuth.surfaces.cli.common import human_bytes as human_bytes
from sleuth.surfaces.cli.common import new_or_open_index as new_or_open_index
from sleuth.surfaces.cli.common import print_json as print_json
from sleuth.surfaces.cli.index import AnalyzerOption as AnalyzerOption
from sleuth.surfaces.cli.index import ChunkSizeOption as ChunkSizeOption
from sleuth.surfaces.cli.index import EmbedderOption as EmbedderOption
from sleuth.surfaces.cli.index import PruneOption as PruneOption
from sleuth.surfaces.cli.index import QuietOption as QuietOption
from sleuth.surfaces.cli.index import ShardsOption as ShardsOption
from sleuth.surfaces.cli.index import gone_files as gone_files
from sleuth.surfaces.cli.index import read_options as read_options
from sleuth.surfaces.cli.index import takes_reading as takes_reading
from sleuth.surfaces.cli.places import index_folder as index_folder
from sleuth.surfaces.cli.progress import download_bar as download_bar
from sleuth.surfaces.cli.publish import AddressArgument as AddressArgument
from sleuth.surfaces.cli.serve import answer as answer
from sleuth.surfaces.cli.serve import extensions as extensions
from sleuth.surfaces.cli.serve import listen as listen
from sleuth.surfaces.cli.serve import settings_of as settings_of
from sleuth.surfaces.cli.serve import takes_settings as takes_settings
from sleuth.surfaces.cli.skips import grouped as grouped
from sleuth.surfaces.cli.terminal import amount as amount
from sleuth.surfaces.cli.terminal import console as console
from sleuth.surfaces.cli.terminal import say as say

__all__: list[str]
