from sleuth.surfaces.page.extension import page_extension as page_extension
from sleuth.surfaces.page.state import OPTIONS as OPTIONS

__all__: list[str]
