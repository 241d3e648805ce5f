from sleuth.text.analyzers import Analyzer as Analyzer
from sleuth.text.analyzers import Span as Span
from sleuth.text.analyzers import get_analyzer as get_analyzer
from sleuth.text.budget import approximate_tokens as approximate_tokens
from sleuth.text.chunkers import Chunker as Chunker
from sleuth.text.chunkers import count_tokens as count_tokens
from sleuth.text.clean import clean_text as clean_text
from sleuth.text.detection import detect_language as detect_language
from sleuth.text.passages import embedded_text as embedded_text
from sleuth.text.passages import embedded_texts as embedded_texts
from sleuth.text.snippets import snippet as snippet

__all__: list[str]
