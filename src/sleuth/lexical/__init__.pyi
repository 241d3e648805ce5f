from sleuth.lexical.leg import LexicalLeg as LexicalLeg
from sleuth.lexical.local import aretrieve_local_docs as aretrieve_local_docs
from sleuth.lexical.local import retrieve_local_docs as retrieve_local_docs
from sleuth.lexical.merging import Arrays as Arrays
from sleuth.lexical.merging import merge_field as merge_field
from sleuth.lexical.merging import number_rows as number_rows
from sleuth.lexical.postings import FieldPostings as FieldPostings
from sleuth.lexical.postings import PostingsWriter as PostingsWriter
from sleuth.lexical.postings import dictionary as dictionary
from sleuth.lexical.postings import tally as tally
from sleuth.lexical.search import SegmentRows as SegmentRows
from sleuth.lexical.terms import FieldIndex as FieldIndex
from sleuth.lexical.terms import Found as Found
from sleuth.lexical.validity import validate_fields as validate_fields

__all__: list[str]
