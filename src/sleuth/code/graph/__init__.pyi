from sleuth.code.graph.resolve import resolver_of as resolver_of

__all__: list[str]
