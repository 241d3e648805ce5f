from sleuth.store.disk.files import DOCUMENTS as DOCUMENTS

__all__: list[str]

# Not public: for tests.
from sleuth.store.disk.files import open_file as open_file
