from sleuth.text.chunkers import count_tokens as count_tokens
from sleuth.text.clean import clean_text as clean_text

__all__: list[str]
