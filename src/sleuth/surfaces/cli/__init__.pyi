from sleuth.surfaces.cli.common import JsonOption as JsonOption
from sleuth.surfaces.cli.common import human_bytes as human_bytes
from sleuth.surfaces.cli.common import print_json as print_json
from sleuth.surfaces.cli.progress import download_bar as download_bar
from sleuth.surfaces.cli.terminal import say as say

__all__: list[str]
