from sleuth.code.graph.navigate import affected_tests as affected_tests
from sleuth.code.graph.navigate import definitions_at as definitions_at
from sleuth.code.graph.reach import call_path as call_path
from sleuth.code.graph.unused import unused_definitions as unused_definitions

__all__: list[str]
