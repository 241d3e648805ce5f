from sleuth.store.disk.files import DOCUMENTS as DOCUMENTS

__all__: list[str]
