from sleuth.code.repository.blobs import object_id as object_id
from sleuth.code.repository.commits import commits_between as commits_between
from sleuth.code.repository.commits import read_commits as read_commits
from sleuth.code.repository.diffs import diff_since as diff_since
from sleuth.code.repository.diffs import lines_of_diff as lines_of_diff
from sleuth.code.repository.extent import Bounds as Bounds
from sleuth.code.repository.extent import why_too_large as why_too_large
from sleuth.code.repository.git import GONE as GONE
from sleuth.code.repository.git import common_folder as common_folder
from sleuth.code.repository.git import ignored as ignored
from sleuth.code.repository.git import tracks as tracks
from sleuth.code.repository.git import worktree_of as worktree_of
from sleuth.code.repository.listing import Listed as Listed
from sleuth.code.repository.listing import Listing as Listing
from sleuth.code.repository.listing import Version as Version
from sleuth.code.repository.objects import Objects as Objects
from sleuth.code.repository.objects import commit_named as commit_named
from sleuth.code.repository.past import Past as Past
from sleuth.code.repository.past import Recall as Recall
from sleuth.code.repository.sources import CommitSource as CommitSource
from sleuth.code.repository.sources import DiskSource as DiskSource
from sleuth.code.repository.sources import FolderSource as FolderSource
from sleuth.code.repository.sources import WorktreeSource as WorktreeSource
from sleuth.code.repository.sources import content_id as content_id
from sleuth.code.repository.sources import source_at as source_at

__all__: list[str]
