from sleuth.surfaces.cli.common import IndexOption as IndexOption
from sleuth.surfaces.cli.common import JsonOption as JsonOption
from sleuth.surfaces.cli.common import human_bytes as human_bytes
from sleuth.surfaces.cli.common import new_or_open_index as new_or_open_index
from sleuth.surfaces.cli.common import print_json as print_json
from sleuth.surfaces.cli.places import index_folder as index_folder
from sleuth.surfaces.cli.progress import download_bar as download_bar
from sleuth.surfaces.cli.terminal import console as console
from sleuth.surfaces.cli.terminal import say as say

__all__: list[str]
