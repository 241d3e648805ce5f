"""A small project in several languages whose parts use one another."""

from __future__ import annotations

# ruff: noqa: E501 - sources of other languages, a line each
PROJECT = {
    "app/__init__.py": "from .core import Engine as Engine\n",
    "app/core.py": """
import json as j
from app import util
from app.base import Base
from app.util import helper as h, Tool


class Engine(Base):
    def __init__(self, tool: Tool):
        self.tool = tool
        self.made = Tool()

    def run(self, other: "Engine | None" = None):
        self.step()
        self.inherited()
        super().inherited()
        h(1)
        util.second()
        self.tool.cut()
        self.made.cut()
        local = Tool()
        local.cut()
        other.step()
        j.dumps({})
        unknown.thing()
        return inner()

    def step(self):
        def nested():
            return helper_here()
        return nested()


def helper_here():
    return Engine(None)
""",
    "app/base.py": "class Base:\n    def inherited(self):\n        return self.step()\n\n    def step(self):\n        pass\n",
    "app/util.py": "def helper(x):\n    return second()\n\n\ndef second():\n    return 2\n\n\nclass Tool:\n    def cut(self):\n        pass\n",
    "main.py": "from app import Engine\nimport app.util\n\nEngine(app.util.Tool()).run()\napp.util.second()\napp.util.Tool.cut\n",
    "web/a.ts": "import { make, Shape as S } from './b';\nexport function go(s: S) { make(); s.draw(); return new S(); }\n",
    "web/b.ts": "export function make() {}\nexport class Shape { draw() {} }\nexport class Circle extends Shape { draw() {} }\n",
    "go/main.go": 'package main\n\nimport "x/go/lib"\n\nfunc main() { lib.Do(); local() }\n',
    "go/other.go": "package main\n\nfunc local() {}\n",
    "go/lib/lib.go": "package lib\n\nfunc Do() {}\n",
    "tests/test_util.py": "from app.util import second\n\n\ndef test_second():\n    assert second() == 2\n",
}
