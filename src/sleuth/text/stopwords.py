"""Which words say too little to be searched?"""

_LUCENE = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
was will with
"""

ENGLISH = frozenset(_LUCENE.split())
"""The 33 words that Lucene and tantivy leave out of English text."""
