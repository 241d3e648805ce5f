from sleuth.surfaces.http.app import Extension as Extension
from sleuth.surfaces.http.app import create_app as create_app
from sleuth.surfaces.http.keys import Key as Key
from sleuth.surfaces.http.keys import add_key as add_key
from sleuth.surfaces.http.problems import Refusal as Refusal
from sleuth.surfaces.http.server import bind as bind
from sleuth.surfaces.http.server import build_server as build_server
from sleuth.surfaces.http.service import Call as Call
from sleuth.surfaces.http.service import Service as Service
from sleuth.surfaces.http.service import call_of as call_of
from sleuth.surfaces.http.sessions import SECONDS as SECONDS
from sleuth.surfaces.http.settings import ServerSettings as ServerSettings
from sleuth.surfaces.http.warming import LOCAL as LOCAL
from sleuth.surfaces.http.warming import Warmer as Warmer

__all__: list[str]

# Not public: for the other rooms.
from sleuth.surfaces.http.openwebui import passage_url as passage_url
from sleuth.surfaces.http.problems import for_clients as for_clients
from sleuth.surfaces.http.tokens import METADATA as METADATA
