from sleuth.code.graph.expressions import element_of as element_of
from sleuth.code.graph.expressions import read_chain as read_chain
from sleuth.code.graph.expressions import type_name as type_name
from sleuth.code.graph.resolve import resolver_of as resolver_of

__all__: list[str]
