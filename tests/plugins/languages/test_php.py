"""Labels of PHP."""

from tests.code.test_definitions import symbols


def test_php_is_public_unless_it_says_otherwise() -> None:
    """Functions, classes, traits, enums and members without a modifier are public."""
    source = (
        "<?php\nfunction a() {}\ntrait B {}\nenum C {}\nclass D {\n  function e() {}\n"
        "  private function f() {}\n  protected static function g() {}\n}\n"
    )
    private_names = {name for name, s in symbols(source, "php").items() if "public_api" not in s.labels}
    assert private_names == {"D.f", "D.g"}
