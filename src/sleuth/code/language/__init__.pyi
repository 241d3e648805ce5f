from sleuth.code.graph.expressions import after_bracket as after_bracket
from sleuth.code.graph.expressions import element_of as element_of
from sleuth.code.graph.expressions import parameter_types as parameter_types
from sleuth.code.graph.expressions import simple_name as simple_name
from sleuth.code.graph.expressions import type_parameters as type_parameters
from sleuth.code.graph.modules import dotted_files as dotted_files
from sleuth.code.graph.modules import files_below as files_below
from sleuth.code.graph.modules import files_ending as files_ending
from sleuth.code.graph.modules import package_folder as package_folder
from sleuth.code.graph.rules import NameResolver as NameResolver
from sleuth.code.graph.rules import NameRules as NameRules
from sleuth.code.graph.rules import Site as Site
from sleuth.code.graph.rules import Type as Type
from sleuth.code.parsing.imports import aliases_in as aliases_in
from sleuth.code.parsing.imports import split_outside as split_outside
from sleuth.code.parsing.kinds import CONTAINERS as CONTAINERS
from sleuth.code.parsing.language import Container as Container
from sleuth.code.parsing.language import Import as Import
from sleuth.code.parsing.language import Language as Language
from sleuth.code.parsing.names import Reference as Reference
from sleuth.code.snapshots.record import FileRow as FileRow
from sleuth.code.snapshots.snapshot import Definition as Definition

__all__: list[str]
