from sleuth.code.graph.places import Endings as Endings
from sleuth.code.graph.places import Folders as Folders
from sleuth.code.graph.places import Modules as Modules
from sleuth.code.graph.places import module_steps as module_steps
from sleuth.code.graph.repomap import page_rank as page_rank
from sleuth.code.graph.resolve import resolver_of as resolver_of

__all__: list[str]
