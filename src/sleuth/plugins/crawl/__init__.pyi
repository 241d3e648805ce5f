from sleuth.plugins.crawl.indexing import SiteSource as SiteSource
from sleuth.plugins.crawl.site import CrawlLimits as CrawlLimits

__all__: list[str]
