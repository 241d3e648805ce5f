from sleuth.plugins.sources.sql import SqlSource as SqlSource

__all__: list[str]
