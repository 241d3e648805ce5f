from sleuth.store.legs.leg import count as count

__all__: list[str]
