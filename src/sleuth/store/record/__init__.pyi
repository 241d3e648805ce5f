from sleuth.store.record.layout import connect as connect
from sleuth.store.record.scan import ranks_of as ranks_of

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.store.record.checksums import row_checksum as row_checksum
from sleuth.store.record.layout import StoredChunk as StoredChunk
from sleuth.store.record.layout import chunk_checksum as chunk_checksum
