"""An embedder of a test's own."""


class Letters:
    """An embedder that counts letters."""

    fingerprint = "letters/26"
    failure: Exception | None = None

    def embed_query(self, text: str) -> list[float]:
        if self.failure is not None:
            raise self.failure
        return [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]
