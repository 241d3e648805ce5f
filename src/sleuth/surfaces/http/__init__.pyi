from sleuth.surfaces.http.app import Extension as Extension
from sleuth.surfaces.http.app import create_app as create_app
from sleuth.surfaces.http.keys import Key as Key
from sleuth.surfaces.http.keys import add_key as add_key
from sleuth.surfaces.http.server import bind as bind
from sleuth.surfaces.http.server import build_server as build_server
from sleuth.surfaces.http.service import Call as Call
from sleuth.surfaces.http.service import Service as Service
from sleuth.surfaces.http.settings import ServerSettings as ServerSettings

__all__: list[str]
