from sleuth.plugins.evaluation.collections import Collection as Collection
from sleuth.plugins.evaluation.collections import open_collection as open_collection
from sleuth.plugins.evaluation.measures import Run as Run
from sleuth.plugins.evaluation.measures import Scores as Scores
from sleuth.plugins.evaluation.measures import best_passages as best_passages
from sleuth.plugins.evaluation.measures import make_run as make_run
from sleuth.plugins.evaluation.measures import score as score

__all__: list[str]
