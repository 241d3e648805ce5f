"""Keys in responses of a server are hidden."""

from base64 import b64encode
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from sleuth.remote.secrets import Mask

keys = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40)


@given(keys, st.binary(max_size=40), st.binary(max_size=40))
def test_every_form_is_hidden(key: str, before: bytes, after: bytes) -> None:
    """A key is hidden as plain text, percent-encoded and in base64, and the number of bytes stays."""
    mask = Mask.of_headers({"Authorization": f"Bearer {key}"})
    for form in (key, quote(key, safe=""), b64encode(key.encode()).decode().rstrip("=")):
        data = before + form.encode() + after
        assert len(mask.hide_bytes(data)) == len(data)
        assert form.encode() not in mask.hide_bytes(data) or "*" in form
        assert mask.hide(form) == "[key]" or form == "[key]"


@given(st.binary(max_size=80))
def test_without_keys_nothing_changes(data: bytes) -> None:
    """Without a key, or with texts too short for one, nothing is hidden."""
    assert Mask.of_headers({"Accept": "text/html", "Authorization": "Basic x"}).hide_bytes(data) == data
