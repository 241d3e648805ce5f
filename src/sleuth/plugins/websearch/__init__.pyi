from sleuth.plugins.websearch.services import BRAVE as BRAVE
from sleuth.plugins.websearch.services import EXA as EXA
from sleuth.plugins.websearch.services import SEARXNG as SEARXNG

__all__: list[str]
