from sleuth.cluster.storage.address import Address as Address
from sleuth.cluster.storage.fetching import fetch_part as fetch_part
from sleuth.cluster.storage.listing import ListedFile as ListedFile
from sleuth.cluster.storage.listing import ListedNote as ListedNote
from sleuth.cluster.storage.listing import decode_listing as decode_listing
from sleuth.cluster.storage.listing import encode_listing as encode_listing
from sleuth.cluster.storage.manifest import PublishedPart as PublishedPart
from sleuth.cluster.storage.manifest import digest_of as digest_of
from sleuth.cluster.storage.manifest import object_name as object_name
from sleuth.cluster.storage.objects import ObjectFolder as ObjectFolder
from sleuth.cluster.storage.objects import ObjectMissingError as ObjectMissingError
from sleuth.cluster.storage.publishing import commit_version as commit_version
from sleuth.cluster.storage.publishing import upload_parts as upload_parts
from sleuth.cluster.storage.sources import ETAG_NOTE as ETAG_NOTE
from sleuth.cluster.storage.sources import SourceObject as SourceObject
from sleuth.cluster.storage.sources import fetched as fetched
from sleuth.cluster.storage.sources import is_remote as is_remote
from sleuth.cluster.storage.sources import walk_remote as walk_remote
from sleuth.cluster.storage.versions import BUILDS as BUILDS
from sleuth.cluster.storage.versions import find_version as find_version
from sleuth.cluster.storage.versions import newest_version as newest_version
from sleuth.cluster.storage.versions import read_build as read_build

__all__: list[str]
