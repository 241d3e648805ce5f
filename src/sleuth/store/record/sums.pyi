def sums_of(
    first: int,
    hashes: list[bytes],
    names: list[str],
    sources: list[str | None] | None,
    titles: list[str | None] | None,
    metadata: list[str | None] | None,
    texts: list[str],
) -> tuple[list[int], list[int], list[int]]: ...
