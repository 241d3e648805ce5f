from sleuth.evaluate.collections import Collection as Collection
from sleuth.evaluate.collections import open_collection as open_collection
from sleuth.evaluate.collections import read_qrels as read_qrels
from sleuth.evaluate.measures import Comparison as Comparison
from sleuth.evaluate.measures import Scores as Scores
from sleuth.evaluate.measures import compare as compare
from sleuth.evaluate.measures import parse_measures as parse_measures
from sleuth.evaluate.measures import score as score
from sleuth.evaluate.runs import Run as Run
from sleuth.evaluate.runs import best_passages as best_passages
from sleuth.evaluate.runs import make_run as make_run
from sleuth.evaluate.runs import read_run as read_run
from sleuth.evaluate.runs import write_run as write_run

__all__: list[str]
