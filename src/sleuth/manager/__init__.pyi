from sleuth.manager.manager import RETRIEVE as RETRIEVE
from sleuth.manager.manager import SYNTHESIZE as SYNTHESIZE
from sleuth.manager.manager import Announcing as Announcing
from sleuth.manager.manager import Cautious as Cautious
from sleuth.manager.manager import Correct as Correct
from sleuth.manager.manager import Grading as Grading
from sleuth.manager.manager import IndianaJones as IndianaJones
from sleuth.manager.manager import RetrievalManager as RetrievalManager
from sleuth.manager.manager import Synthesizer as Synthesizer
from sleuth.manager.manager import install_builtins as install_builtins
from sleuth.manager.streaming import SearchStream as SearchStream

__all__: list[str]
