from sleuth.types.documents import RESERVED as RESERVED
from sleuth.types.documents import UPLOAD as UPLOAD
from sleuth.types.documents import Chunk as Chunk
from sleuth.types.documents import Document as Document
from sleuth.types.documents import StoredDocument as StoredDocument
from sleuth.types.explanations import Explanation as Explanation
from sleuth.types.explanations import PartReport as PartReport
from sleuth.types.rankings import Ranking as Ranking
from sleuth.types.rankings import RetrievedItem as RetrievedItem
from sleuth.types.rankings import document_of as document_of

__all__: list[str]
