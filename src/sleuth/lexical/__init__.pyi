from sleuth.lexical.leg import FieldSpec as FieldSpec
from sleuth.lexical.leg import LexicalBuilder as LexicalBuilder
from sleuth.lexical.leg import LexicalLeg as LexicalLeg
from sleuth.lexical.local import retrieve_local_docs as retrieve_local_docs
from sleuth.lexical.search import LexicalSearcher as LexicalSearcher

__all__: list[str]
