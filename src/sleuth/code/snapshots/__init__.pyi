from sleuth.code.snapshots.clones import ancestors as ancestors
from sleuth.code.snapshots.clones import indexed_commit as indexed_commit
from sleuth.code.snapshots.clones import relocate as relocate
from sleuth.code.snapshots.diff import compare as compare
from sleuth.code.snapshots.gradual import Coverage as Coverage
from sleuth.code.snapshots.gradual import FirstRun as FirstRun
from sleuth.code.snapshots.gradual import StoppedError as StoppedError
from sleuth.code.snapshots.gradual import is_partial as is_partial
from sleuth.code.snapshots.health import CodeStatus as CodeStatus
from sleuth.code.snapshots.lookup import outermost as outermost
from sleuth.code.snapshots.record import Repository as Repository
from sleuth.code.snapshots.recording import History as History
from sleuth.code.snapshots.snapshot import Definition as Definition
from sleuth.code.snapshots.submodules import LEFT_OUT as LEFT_OUT
from sleuth.code.snapshots.submodules import indexed_submodules as indexed_submodules
from sleuth.code.snapshots.words import ANALYZERS as ANALYZERS
from sleuth.code.snapshots.words import SOURCES as SOURCES
from sleuth.code.snapshots.words import WordLeg as WordLeg

__all__: list[str]
