from sleuth.store.record.codebook import Codebooks as Codebooks
from sleuth.store.record.layout import connect as connect
from sleuth.store.record.scan import ranks_of as ranks_of
from sleuth.store.record.textcode import LONGEST_SYMBOL as LONGEST_SYMBOL
from sleuth.store.record.textcode import MOST_SYMBOLS as MOST_SYMBOLS
from sleuth.store.record.textcode import Codebook as Codebook
from sleuth.store.record.textcode import decode_all as decode_all

__all__: list[str]

# Not public: for the other rooms and for tests.
from sleuth.store.record.checksums import first_damaged as first_damaged
from sleuth.store.record.checksums import row_checksum as row_checksum
from sleuth.store.record.codebook import sample as sample
from sleuth.store.record.codebook import train as train
from sleuth.store.record.layout import StoredChunk as StoredChunk
from sleuth.store.record.layout import chunk_checksum as chunk_checksum
