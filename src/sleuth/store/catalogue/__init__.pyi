from sleuth.store.catalogue.lock import WriterLock as WriterLock
from sleuth.store.catalogue.lock import read_holder as read_holder
from sleuth.store.catalogue.pool import ConnectionPool as ConnectionPool

__all__: list[str]
