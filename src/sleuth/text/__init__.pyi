from sleuth.text.analyzers import Analyzer as Analyzer
from sleuth.text.analyzers import get_analyzer as get_analyzer
from sleuth.text.borders import Outline as Outline
from sleuth.text.borders import scan_markdown as scan_markdown
from sleuth.text.borders import scan_rest as scan_rest
from sleuth.text.budget import approximate_tokens as approximate_tokens
from sleuth.text.chunkers import Chunker as Chunker
from sleuth.text.clean import clean_text as clean_text
from sleuth.text.clean import escape_json as escape_json
from sleuth.text.clean import escape_text as escape_text
from sleuth.text.detection import QueryLanguage as QueryLanguage
from sleuth.text.detection import detect_language as detect_language
from sleuth.text.detection import language_of_query as language_of_query
from sleuth.text.languages import ENGLISH as ENGLISH
from sleuth.text.languages import LANGUAGES as LANGUAGES
from sleuth.text.languages import LANGUAGES_VERSION as LANGUAGES_VERSION
from sleuth.text.languages import UNKNOWN as UNKNOWN
from sleuth.text.passages import EMBEDDED_FIELDS as EMBEDDED_FIELDS
from sleuth.text.passages import embedded_text as embedded_text
from sleuth.text.passages import embedded_texts as embedded_texts
from sleuth.text.repeats import Repeats as Repeats
from sleuth.text.snippets import Snippet as Snippet
from sleuth.text.snippets import snippet as snippet
from sleuth.text.tokens import TermCounter as TermCounter
from sleuth.text.tokens import TermTable as TermTable
from sleuth.text.tokens import number_terms as number_terms

__all__: list[str]

# Not public: for the other rooms.
from sleuth.text.analyzers import MAX_TOKEN as MAX_TOKEN
from sleuth.text.analyzers import Span as Span
from sleuth.text.analyzers import WordRule as WordRule
from sleuth.text.budget import CountTokens as CountTokens
from sleuth.text.budget import check_budget as check_budget
from sleuth.text.budget import longest_prefix as longest_prefix
from sleuth.text.budget import pack as pack
from sleuth.text.chunkers import count_tokens as count_tokens
from sleuth.text.spelling import spellings_near as spellings_near
