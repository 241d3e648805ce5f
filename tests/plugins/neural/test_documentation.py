"""The guide to models has every model that can be pulled by name."""

from pathlib import Path

from sleuth.plugins.neural.known import KNOWN

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "choose-a-model.md"


def test_the_guide_lists_all_known_models() -> None:
    """The table of the guide has each model that can be pulled by name."""
    text = GUIDE.read_text("utf8")
    assert [name for name in KNOWN if f"`{name}`" not in text] == []
