from sleuth.store.record.layout import connect as connect
from sleuth.store.record.scan import ranks_of as ranks_of

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.store.record.checksums import has_checksums as has_checksums
from sleuth.store.record.checksums import row_checksum as row_checksum
from sleuth.store.record.layout import CHUNK_PARTS as CHUNK_PARTS
from sleuth.store.record.layout import DOCUMENT_PARTS as DOCUMENT_PARTS
from sleuth.store.record.layout import DocumentRow as DocumentRow
from sleuth.store.record.layout import StoredChunk as StoredChunk
from sleuth.store.record.layout import chunk_checksum as chunk_checksum
from sleuth.store.record.layout import document_checksum as document_checksum
from sleuth.store.record.pages import RecordFile as RecordFile
