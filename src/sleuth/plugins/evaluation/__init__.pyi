from sleuth.plugins.evaluation.collections import Collection as Collection
from sleuth.plugins.evaluation.collections import open_collection as open_collection
from sleuth.plugins.evaluation.measures import Scores as Scores
from sleuth.plugins.evaluation.measures import score as score
from sleuth.plugins.evaluation.runs import Run as Run
from sleuth.plugins.evaluation.runs import best_passages as best_passages
from sleuth.plugins.evaluation.runs import make_run as make_run

__all__: list[str]
