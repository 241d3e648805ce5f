from sleuth.code.graph.expressions import element_of as element_of
from sleuth.code.graph.expressions import read_chain as read_chain
from sleuth.code.graph.expressions import type_name as type_name
from sleuth.code.graph.navigate import affected_tests as affected_tests
from sleuth.code.graph.navigate import definitions_at as definitions_at
from sleuth.code.graph.reach import Hop as Hop
from sleuth.code.graph.reach import call_path as call_path
from sleuth.code.graph.resolve import CERTAIN as CERTAIN
from sleuth.code.graph.resolve import resolver_of as resolver_of
from sleuth.code.graph.unused import Unused as Unused
from sleuth.code.graph.unused import unused_definitions as unused_definitions

__all__: list[str]
