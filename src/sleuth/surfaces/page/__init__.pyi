from sleuth.surfaces.page.extension import page_extension as page_extension
from sleuth.surfaces.page.state import OPTIONS as OPTIONS

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.surfaces.page.answering import Card as Card
from sleuth.surfaces.page.answering import rendered as rendered
from sleuth.surfaces.page.markdown import TAGS as TAGS
from sleuth.surfaces.page.markdown import Element as Element
from sleuth.surfaces.page.markdown import Node as Node
from sleuth.surfaces.page.markdown import parse as parse
from sleuth.surfaces.page.markdown import texts_of as texts_of
from sleuth.surfaces.page.markdown import to_html as to_html
from sleuth.surfaces.page.markdown import to_json as to_json
from sleuth.surfaces.page.pieces import lines_of as lines_of
from sleuth.surfaces.page.reasons import sentence_of as sentence_of
from sleuth.surfaces.plain import is_markdown as is_markdown
from sleuth.surfaces.plain import plain as plain
from sleuth.surfaces.plain import shown_text as shown_text
