from sleuth.code.repository.commits import commits_between as commits_between
from sleuth.code.repository.diffs import diff_since as diff_since
from sleuth.code.repository.diffs import lines_of_diff as lines_of_diff
from sleuth.code.repository.extent import why_too_large as why_too_large
from sleuth.code.repository.git import common_folder as common_folder
from sleuth.code.repository.git import tracks as tracks
from sleuth.code.repository.git import worktree_of as worktree_of
from sleuth.code.repository.objects import commit_named as commit_named
from sleuth.code.repository.sources import source_at as source_at

__all__: list[str]
