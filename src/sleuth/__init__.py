"""Sleuth finds the passages that answer a question and writes answers that cite them.

Names are imported when first used, so that `import sleuth` costs almost nothing.
"""

from sleuth.lazy import exports_of

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = exports_of(__name__, __file__)
