from sleuth.cluster.places import SCHEMES as SCHEMES
from sleuth.cluster.storage.cache import fetch_part as fetch_part
from sleuth.cluster.storage.manifest import PublishedPart as PublishedPart
from sleuth.cluster.storage.manifest import digest_of as digest_of
from sleuth.cluster.storage.manifest import object_name as object_name
from sleuth.cluster.storage.objects import ObjectFacts as ObjectFacts
from sleuth.cluster.storage.objects import ObjectFolder as ObjectFolder
from sleuth.cluster.storage.objects import ObjectMissingError as ObjectMissingError
from sleuth.cluster.storage.publishing import commit_version as commit_version
from sleuth.cluster.storage.publishing import upload_parts as upload_parts
from sleuth.cluster.storage.versions import BUILDS as BUILDS
from sleuth.cluster.storage.versions import Address as Address
from sleuth.cluster.storage.versions import find_version as find_version
from sleuth.cluster.storage.versions import newest_version as newest_version
from sleuth.cluster.storage.versions import read_build as read_build

__all__: list[str]
