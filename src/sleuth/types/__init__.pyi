from sleuth.types.documents import RESERVED as RESERVED
from sleuth.types.documents import Chunk as Chunk
from sleuth.types.documents import Document as Document
from sleuth.types.rankings import Explanation as Explanation
from sleuth.types.rankings import PartReport as PartReport
from sleuth.types.rankings import Ranking as Ranking
from sleuth.types.rankings import RetrievedItem as RetrievedItem

__all__: list[str]
