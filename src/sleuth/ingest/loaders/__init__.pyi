from sleuth.ingest.loaders.file import FileBytes as FileBytes
from sleuth.ingest.loaders.mail import html_body as html_body
from sleuth.ingest.loaders.mail import mail_text as mail_text
from sleuth.ingest.loaders.members import Member as Member
from sleuth.ingest.loaders.members import load_member as load_member
from sleuth.ingest.loaders.plain import document as document
from sleuth.ingest.loaders.registry import kind_of as kind_of
from sleuth.ingest.loaders.registry import load as load
from sleuth.ingest.loaders.registry import load_here as load_here
from sleuth.ingest.loaders.registry import loader_of as loader_of

__all__: list[str]

# Not public: for tests.
from sleuth.ingest.loaders.large import LARGE as LARGE
