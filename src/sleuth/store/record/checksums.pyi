from typing import Any

def row_checksum(row: tuple[Any, ...], numbers: int, texts: int, salt: int, start: int = 0) -> int: ...
def has_checksums(
    row: tuple[Any, ...],
    document: int,
    salt: int,
    chunk_parts: tuple[int, int],
    document_parts: tuple[int, int],
) -> bool: ...
