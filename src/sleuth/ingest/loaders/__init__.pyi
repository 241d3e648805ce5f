from sleuth.ingest.loaders.file import FileBytes as FileBytes
from sleuth.ingest.loaders.mail import html_body as html_body
from sleuth.ingest.loaders.mail import mail_text as mail_text
from sleuth.ingest.loaders.members import Member as Member
from sleuth.ingest.loaders.members import load_member as load_member
from sleuth.ingest.loaders.plain import document as document

__all__: list[str]
