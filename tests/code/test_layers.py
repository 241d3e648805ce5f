"""Pages: scripts and styles inside other languages, at the places that they have in the whole file."""

from pathlib import Path

import pytest

from sleuth import open_code
from sleuth.code import Navigator, index_path
from sleuth.code.parsing import analyse
from sleuth.code.parsing.parse import parse_source

VUE = b"""<template>
  <main id="cart" class="page">
    <OrderList :orders="orders" @save="save"/>
  </main>
</template>

<script>
export default { name: 'Cart' }
</script>

<script setup lang="ts">
import OrderList from './OrderList.vue'
import { total } from './sums'

/** Saves an order. */
export function save(order: Order): number {
  return total(order)
}
</script>

<style scoped>
.page { color: var(--main); }
</style>
"""


def test_each_part_is_read_in_its_language() -> None:
    """Ids of the markup, functions of the script and names of the style are definitions of one file."""
    detail = parse_source(VUE, "vue", "Cart.vue")
    assert detail.sound
    assert [(s.kind, s.name, s.start, s.end) for s in detail.symbols] == [
        ("constant", "cart", 2, 2), ("function", "save", 15, 18), ("constant", "page", 22, 22),
    ]  # fmt: skip
    save = detail.symbols[1]
    assert (save.signature, save.doc, "public_api" in save.labels) == (
        "function save(order: Order): number",
        "Saves an order.",
        True,
    )
    uses = {(use.name, use.role, use.line) for use in detail.references}
    assert {("OrderList", "reference", 3), ("total", "call", 17), ("--main", "reference", 22)} <= uses
    assert [(i.module, i.alias, i.line) for i in detail.imports] == [
        ("./OrderList.vue", "OrderList", 12),
        ("./sums", "total", 13),
    ]


@pytest.mark.parametrize(
    ("tag", "symbols"),
    [
        ("<script>", ["f"]), ('<script type="module">', ["f"]), ('<script type="text/typescript">', ["f"]),
        ('<script lang="tsx">', ["f"]), ('<script type="application/json">', []),
        ('<script type="text/template">', []),
    ],
)  # fmt: skip
def test_the_tag_of_a_script_says_its_language(tag: str, symbols: list[str]) -> None:
    """Only scripts are read as scripts: data and templates are not."""
    detail = parse_source(f"<p>1</p>\n{tag}function f() {{}}</script>\n".encode(), "html")
    assert [symbol.name for symbol in detail.symbols] == symbols


def test_long_scripts_are_cut_at_their_statements() -> None:
    """Code between functions of a script is cut where statements begin."""
    lines = [f"call({n},\n     {n});" for n in range(60)]
    detail = parse_source("\n".join(["<script>", *lines, "</script>", ""]).encode(), "html")
    starts = [chunk.start for chunk in detail.chunks]
    assert len(starts) == 3
    assert all(start == 1 or start % 2 == 0 for start in starts)


def test_a_template_of_something_else_is_text() -> None:
    """A template without tags is cut by its layout."""
    file = analyse.analyse("nginx.conf.j2", b"server {\n  listen {{ port }};\n}\n")
    assert (file.language, file.chunks or len(file.chunk_texts["body"])) == ("html", 1)
    assert not file.texts["defines"]


def test_pages_use_the_code_of_scripts_and_the_names_of_styles(tmp_path: Path) -> None:
    """A call in a component leads to the module that it imports, a class of a page to its style."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "Cart.vue").write_bytes(VUE)
    (tmp_path / "app" / "sums.ts").write_text("export function total(order) { return 1 }\n")
    (tmp_path / "app" / "page.html").write_text('<p class="hint">1</p>\n<script src="sums.ts"></script>\n')
    (tmp_path / "app" / "base.css").write_text(".hint { top: 0 }\n")
    with open_code(tmp_path / "index", create=True) as storage:
        repository = storage.repository(index_path(storage, tmp_path / "app").repository)
        navigator = Navigator(storage.open_snapshot(repository, storage.snapshot(repository)))
        assert [(use["file_path"], use["line"]) for use in navigator.find_references("total")] == [
            ("Cart.vue", 13), ("Cart.vue", 17),
        ]  # fmt: skip
        assert [(use["file_path"], use["line"]) for use in navigator.find_references("hint")] == [
            ("page.html", 1)
        ]
