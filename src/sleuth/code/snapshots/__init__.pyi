from sleuth.code.snapshots.diff import compare as compare
from sleuth.code.snapshots.health import CodeStatus as CodeStatus
from sleuth.code.snapshots.indexing import index_source as index_source
from sleuth.code.snapshots.indexing import past_of as past_of
from sleuth.code.snapshots.lookup import outermost as outermost
from sleuth.code.snapshots.memory import read_times as read_times
from sleuth.code.snapshots.places import Endings as Endings
from sleuth.code.snapshots.places import Folders as Folders
from sleuth.code.snapshots.places import Modules as Modules
from sleuth.code.snapshots.places import module_steps as module_steps
from sleuth.code.snapshots.record import FileRow as FileRow
from sleuth.code.snapshots.record import Repository as Repository
from sleuth.code.snapshots.record import SnapshotInfo as SnapshotInfo
from sleuth.code.snapshots.recording import History as History
from sleuth.code.snapshots.recording import record_history as record_history
from sleuth.code.snapshots.refreshing import Current as Current
from sleuth.code.snapshots.refreshing import current_snapshot as current_snapshot
from sleuth.code.snapshots.refreshing import snapshot_at as snapshot_at
from sleuth.code.snapshots.shelf import Shelf as Shelf
from sleuth.code.snapshots.submodules import LEFT_OUT as LEFT_OUT
from sleuth.code.snapshots.submodules import indexed_submodules as indexed_submodules
from sleuth.code.snapshots.words import ANALYZERS as ANALYZERS
from sleuth.code.snapshots.words import SOURCES as SOURCES
from sleuth.code.snapshots.words import WordLeg as WordLeg

__all__: list[str]
