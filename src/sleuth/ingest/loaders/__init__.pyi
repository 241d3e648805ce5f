from sleuth.ingest.loaders.file import FileBytes as FileBytes
from sleuth.ingest.loaders.file import Member as Member
from sleuth.ingest.loaders.file import load_member as load_member
from sleuth.ingest.loaders.plain import document as document

__all__: list[str]
