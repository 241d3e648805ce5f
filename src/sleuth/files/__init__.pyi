from sleuth.files.encodings import decode as decode
from sleuth.files.format import FileFormat as FileFormat
from sleuth.files.format import Package as Package

__all__: list[str]
