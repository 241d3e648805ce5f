from sleuth.remote.address import checked_base as checked_base
from sleuth.remote.address import port_of as port_of
from sleuth.remote.address import shown_url as shown_url
from sleuth.remote.answer import Answer as Answer
from sleuth.remote.answer import BrokenError as BrokenError
from sleuth.remote.answer import CertificateError as CertificateError
from sleuth.remote.answer import LargeError as LargeError
from sleuth.remote.cancellation import Deadline as Deadline
from sleuth.remote.cancellation import check_cancelled as check_cancelled
from sleuth.remote.cancellation import in_thread as in_thread
from sleuth.remote.exchange import Exchange as Exchange
from sleuth.remote.exchange import Response as Response
from sleuth.remote.exchange import exchange_with_host as exchange_with_host
from sleuth.remote.retry import retry_after as retry_after
from sleuth.remote.threads import THREADS as THREADS
from sleuth.remote.twins import async_twin as async_twin

__all__: list[str]
