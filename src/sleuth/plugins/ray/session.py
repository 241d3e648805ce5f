"""Connects to Ray, or starts it on this machine for the length of a block: on loopback, with a token."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sleuth.errors import StoreError, environment, requires
from sleuth.logs import logger_of

logger = logger_of("cluster")

_LOCAL: Mapping[str, str] = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # one machine: everything listens on 127.0.0.1
    "RAY_gcs_server_port_wait_time_s": "120",  # its first process may start slowly on a busy machine
    "RAY_raylet_start_wait_time_s": "120",
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing sends telemetry
}
_QUIET: Mapping[str, str] = {
    "RAY_DATA_LOG_LEVEL": "WARNING",  # Ray Data logs every step of a build otherwise
    "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "5",  # seconds for which a call waits for a head that is gone
}
_PROBE = 5.0
"""Seconds until a head counts as not reachable: Ray itself would try for minutes."""
OBJECT_STORE_BYTES = 200_000_000
"""Shared memory of a Ray on this machine: answers and batches of documents are small."""


@contextmanager
def ray_session(
    address: str | None = None, *, cpus: int | None = None, required: bool = True
) -> Iterator[Any]:
    """Connect to a Ray cluster; without an address, start one on this machine and end it after the block.

    A Ray that this process is connected to already is used, and stays.

    Args:
        address: `HOST:PORT` or `ray://HOST:PORT` of a cluster, or "auto" for the one of this machine.
        cpus: of a Ray that is started here; None for all there are.
        required: False to go on where the cluster cannot be reached: `ray.is_initialized()` is False then.

    Yields:
        The module `ray`.

    Raises:
        MissingPackageError: Ray is not installed.
        StoreError: the cluster cannot be reached, or a Ray that was started here is not on loopback alone.
    """
    quiet_variables = {name: os.environ.get(name, value) for name, value in _QUIET.items()}
    with environment(quiet_variables if address else {**_LOCAL, **quiet_variables}):
        with requires("ray", "cluster", "an index on many machines"):
            import ray
        if ray.is_initialized():
            yield ray
            return
        try:
            _start(ray, address, cpus)
        except StoreError as error:
            if required:
                raise
            logger.warning("%s; it is tried again", error)
        try:
            yield ray
        finally:
            ray.shutdown()


def reconnect(ray: Any, address: str) -> None:
    """Connect to a cluster whose head was lost, or was not up yet.

    Raises:
        StoreError: it cannot be reached.
    """
    ray.shutdown()
    _start(ray, address, None)


def _start(ray: Any, address: str | None, cpus: int | None) -> None:
    options: dict[str, Any] = {
        "address": "local" if address is None else address,
        "log_to_driver": False,
        "logging_level": "ERROR",
    }
    if address is None:
        options |= {"num_cpus": cpus, "object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
    try:
        ray_address = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address or ""
        host, _, port = ray_address.removeprefix("ray://").rpartition(":")
        if port.isdecimal():  # something must listen there: Ray itself would wait long
            socket.create_connection((host.strip("[]"), int(port)), _PROBE).close()
        ray.init(**options)
    except Exception as error:  # where its processes start too slowly, Ray raises just that
        where = address or "this machine"
        raise StoreError(f"Ray at {where} cannot be reached: {str(error).partition(chr(10))[0]}") from error
    if address is not None:
        return
    if ray.util.get_node_ip_address() != "127.0.0.1":
        ray.shutdown()
        raise StoreError(
            "Ray was imported before and would listen on all interfaces: use sleuth.plugins.ray before you import ray, "
            "or set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0"
        )
    if os.environ.get("RAY_AUTH_MODE") != "token":  # Ray sets it, unless its user has
        ray.shutdown()
        raise StoreError("Ray would let in clients without a token: unset RAY_AUTH_MODE")
