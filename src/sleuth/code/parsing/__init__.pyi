from sleuth.code.parsing.limits import UNPARSED as UNPARSED

__all__: list[str]
