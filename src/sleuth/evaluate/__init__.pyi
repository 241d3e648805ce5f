from sleuth.evaluate.collections import Collection as Collection
from sleuth.evaluate.collections import open_collection as open_collection
from sleuth.evaluate.measures import Scores as Scores
from sleuth.evaluate.measures import score as score
from sleuth.evaluate.runs import Run as Run
from sleuth.evaluate.runs import best_passages as best_passages
from sleuth.evaluate.runs import make_run as make_run

__all__: list[str]
