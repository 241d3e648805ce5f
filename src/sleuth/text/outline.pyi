class Outline:
    headings: list[int]
    ends: list[int]
    paths: list[str]
    kept: list[tuple[int, int]]
    def __init__(self, text: str, form: str, title_only: bool = ...) -> None: ...
