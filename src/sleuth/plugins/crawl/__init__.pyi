from sleuth.plugins.crawl.indexing import acrawl_site as acrawl_site
from sleuth.plugins.crawl.indexing import crawl_site as crawl_site
from sleuth.plugins.crawl.site import CrawlLimits as CrawlLimits

__all__: list[str]
