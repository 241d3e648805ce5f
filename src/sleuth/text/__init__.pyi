from sleuth.text.chunkers import count_tokens as count_tokens
from sleuth.text.clean import clean_text as clean_text
from sleuth.text.passages import embedded_text as embedded_text
from sleuth.text.passages import embedded_texts as embedded_texts

__all__: list[str]
