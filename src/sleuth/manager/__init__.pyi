from sleuth.manager.manager import IndianaJones as IndianaJones
from sleuth.manager.manager import RetrievalManager as RetrievalManager
from sleuth.manager.manager import Synthesizer as Synthesizer
from sleuth.manager.manager import install_builtins as install_builtins

__all__: list[str]
