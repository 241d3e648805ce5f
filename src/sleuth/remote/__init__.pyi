from sleuth.remote.address import checked_base as checked_base
from sleuth.remote.address import shown_url as shown_url
from sleuth.remote.answer import Answer as Answer
from sleuth.remote.cancellation import Cancellation as Cancellation
from sleuth.remote.cancellation import check_cancelled as check_cancelled
from sleuth.remote.cancellation import context_of as context_of
from sleuth.remote.cancellation import current_cancellation as current_cancellation
from sleuth.remote.cancellation import in_thread as in_thread
from sleuth.remote.deadline import Deadline as Deadline
from sleuth.remote.endpoints import TurnError as TurnError
from sleuth.remote.endpoints import endpoint_at as endpoint_at
from sleuth.remote.exchange import USER_AGENT as USER_AGENT
from sleuth.remote.exchange import Exchange as Exchange
from sleuth.remote.exchange import Response as Response
from sleuth.remote.exchange import request as request
from sleuth.remote.exchange import tls_context as tls_context
from sleuth.remote.failures import BrokenError as BrokenError
from sleuth.remote.failures import CertificateError as CertificateError
from sleuth.remote.failures import LargeError as LargeError
from sleuth.remote.failures import LateError as LateError
from sleuth.remote.failures import UnreachableError as UnreachableError
from sleuth.remote.hosts import Address as Address
from sleuth.remote.hosts import Network as Network
from sleuth.remote.hosts import refused_address as refused_address
from sleuth.remote.hosts import resolve as resolve
from sleuth.remote.proxies import proxy_for as proxy_for
from sleuth.remote.secrets import Mask as Mask
from sleuth.remote.twins import async_pieces as async_pieces
from sleuth.remote.twins import async_twin as async_twin

__all__: list[str]

# Not public: for the other rooms.
from sleuth.remote.address import port_of as port_of
from sleuth.remote.address import split_url as split_url
