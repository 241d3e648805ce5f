from sleuth.files.encodings import decode as decode
from sleuth.files.format import FileFormat as FileFormat
from sleuth.files.format import Package as Package
from sleuth.files.home import user_folder as user_folder
from sleuth.files.ignore import Rules as Rules
from sleuth.files.writing import whole_file as whole_file

__all__: list[str]
