"""Write docs/reference from the code: commands, the HTTP API, Python, settings and errors.

python tools/reference.py     # `make reference`; git ignores the pages
"""

from __future__ import annotations

import ast
import enum
import inspect
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from sleuth.extensions import loaded
from sleuth.web import WebApi

if TYPE_CHECKING:
    import click

HOME = Path(__file__).parents[1]
PAGES = HOME / "docs" / "reference"
NOTICE = "<!-- Written by tools/reference.py from the code: `make reference` writes it again. -->"
PACKAGES = (
    "sleuth",
    "sleuth.types",
    "sleuth.results",
    "sleuth.protocols",
    "sleuth.settings",
    "sleuth.filters",
    "sleuth.manager",
    "sleuth.hooks",
    "sleuth.ingest",
    "sleuth.lexical",
    "sleuth.plugins.neural",
    "sleuth.compose",
    "sleuth.answer",
    "sleuth.code",
    "sleuth.llm",
    "sleuth.web",
    "sleuth.plugins.crawl",
    "sleuth.knowledge_base",
    "sleuth.vector_store",
    "sleuth.plugins.evaluation",
)
VARIABLES: Mapping[str, str] = {
    "SLEUTH_IMAP_PASSWORD": "Password of the user in an address of mail, `imaps://`.",
    "SLEUTH_SQL_PASSWORD": "Password of the user in an address of a database, `sql:`.",
    "SLEUTH_CACHE": "Folder of the cache of published indexes.",
    "SLEUTH_CACHE_BYTES": "Bytes that this cache may take.",
    "SLEUTH_CONFIG": "A `sleuth.toml` that is trusted in place of the project's; empty for none.",
    "SLEUTH_INDEX": "Index folder of the commands.",
    "SLEUTH_MODEL": "Model that writes answers.",
    "SLEUTH_MODEL_CONTEXT": "Tokens that this model reads.",
    "SLEUTH_MODELS": "Folder of neural models.",
    "SLEUTH_PLUGINS": "Folder of plugins.",
    "OLLAMA_HOST": "Address of Ollama.",
    "OPENAI_BASE_URL": "Address of a server with OpenAI's API.",
    "OPENAI_API_KEY": "Key for it.",
    "RERANK_BASE_URL": "Address of a server with `/rerank`.",
    "RERANK_API_KEY": "Key for it.",
    "SLEUTH_WEB_SERVICES": "Services of web search, such as `brave,tavily`.",
    **{
        variable: f"{meaning} of the web search `{api.name}`."
        for api in loaded("web", WebApi)
        for variable, meaning in ((api.key_name, "Key"), (api.base_name, "Address"))
        if variable
    },
    "QDRANT_API_KEY": "Key for imports from Qdrant.",
    "HF_ENDPOINT": "Address from which `sleuth index models pull` gets models.",
}
EXIT_CODES = (
    (0, "Done."),
    (1, "Nothing found, a problem found, or any other failure."),
    (2, "A bad argument, or an unknown repository or snapshot."),
    (3, "No usable index."),
    (4, "Another program writes to the index."),
    (5, "A service failed."),
    (130, "Interrupted."),
)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown, or "" without rows."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    names = list(header)
    return "\n".join([f"| {' | '.join(names)} |", "|---" * len(names) + "|", *lines]) if lines else ""


def sentence(text: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join(inspect.cleandoc(text or "").partition("\n\n")[0].split())


def docstring(text: str | None) -> str:
    """Return a docstring as Markdown: its sections become lists."""
    lines: list[str] = []
    section = False
    for line in inspect.cleandoc(text or "").splitlines():
        if match := re.fullmatch(r"(Args|Attributes|Raises|Returns|Yields):", line):
            lines += [f"**{match[1]}**", ""]
            section = True
        elif section and line.startswith("    ") and line[4:5] != " ":
            name, colon, rest = line.strip().partition(":")
            is_entry = bool(colon) and re.fullmatch(r"[\w*., ]+", name)
            lines.append(f"- `{name}`:{rest}" if is_entry else f"- {line.strip()}")
        elif section and line.startswith("     "):
            lines[-1] += " " + line.strip()
        else:
            section = section and not line
            lines.append(line)
    return "\n".join(lines).strip()


def commands() -> dict[str, click.Command]:
    """Return the commands by name."""
    import typer.main

    from sleuth.surfaces.cli.app import app
    from sleuth.surfaces.cli.main import command_names, register

    register([])
    root = typer.main.get_command(app)
    return {name: root.commands[name] for name in command_names()}  # type: ignore[attr-defined]


def command_line() -> str:
    """Return one section for each command, made from the command line's own declarations."""
    rows = [
        (f"[`sleuth {name}`](#sleuth-{name})", sentence(command.help)) for name, command in commands().items()
    ]
    intro = "Each command shows the same text with `--help`."
    parts = ["# Command line", intro, table(("command", "does"), rows)]
    for name, command in commands().items():
        parts += command_sections(command, f"sleuth {name}")
    return "\n\n".join(parts)


def command_sections(command: click.Command, path: str) -> list[str]:
    """Return the sections of a command and of those below it."""
    parts = [f"{'#' * (path.count(' ') + 1)} {path}", help_text(command.help or "")]
    arguments: list[Any] = [one for one in command.params if one.param_type_name == "argument"]
    names = [
        (one.metavar or one.name or "").strip("[]") + ("…" if one.nargs == -1 else "") for one in arguments
    ]
    children: dict[str, click.Command] = getattr(command, "commands", {})
    if not children:
        parts.append(f"```text\n{' '.join([path, '[OPTIONS]', *names])}\n```")
    rows = [row for one in command.params if (row := parameter_row(one))]
    if rows:
        parts.append(table(("option", "meaning"), rows))
    for name, child in children.items():
        parts += command_sections(child, f"{path} {name}")
    return parts


def help_text(text: str) -> str:
    """Return a help text of the command line as Markdown: its examples are a block."""
    text = re.sub(r"\[/?bold\]", "**", text.replace("\b", "")).strip()
    head, _, examples = text.partition("**Examples**")
    block = "\n".join(line.strip() for line in examples.strip().splitlines() if line.strip())
    return f"{head.strip()}\n\n```text\n{block}\n```" if block else head.strip()


def parameter_row(parameter: click.Parameter) -> tuple[str, str] | None:
    """Return the row of an option or argument, or None for a hidden one."""
    if getattr(parameter, "hidden", False) or parameter.name == "help":
        return None
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    meaning = " ".join((getattr(parameter, "help", None) or "").split())
    default = parameter.default
    depends_on_machine = "Default: " in meaning
    if isinstance(default, str | int | float) and default not in {False, ""} and not depends_on_machine:
        meaning += f" Default: `{default}`."
    return names, meaning


def http() -> str:
    """Return the operations and objects of the server's OpenAPI document."""
    from sleuth import Engine
    from sleuth.surfaces.http import ServerSettings, create_app

    with tempfile.TemporaryDirectory() as folder, Engine.open(Path(folder, "index"), create=True) as engine:
        document = create_app(engine, ServerSettings()).openapi()
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    parts = [
        "# HTTP API",
        "`sleuth serve` describes itself at `/openapi.json`, and shows it at `/docs`. This page has the same content."
        " [Serve with keys](../how-to/serve-with-keys.md) shows the first request.",
        table(
            ("request", "does"),
            (
                (f"[`{method} {path}`](#{anchor(method, path)})", sentence(operation.get("description")))
                for method, path, operation in operations
            ),
        ),
    ]
    for method, path, operation in operations:
        parts += operation_sections(method, path, operation)
    parts.append("## Objects")
    for name, schema in sorted(document["components"]["schemas"].items()):
        if not name.startswith("Body_"):
            parts += [f"### {name}", docstring(schema.get("description")), properties(schema)]
    return "\n\n".join(part for part in parts if part)


def anchor(method: str, path: str) -> str:
    """Return the anchor of the heading of an operation."""
    return re.sub(r"[^\w -]", "", f"{method} {path}".lower()).replace(" ", "-")


def operation_sections(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    """Yield heading, text, parameters, body and answer of an operation."""
    yield f"## {method} {path}"
    yield docstring(operation.get("description"))
    yield table(
        ("parameter", "type", "meaning"),
        (
            (f"`{one['name']}`", kind(one["schema"]), one.get("description", "") + limits(one["schema"]))
            for one in operation.get("parameters", ())
        ),
    )
    for label, place in (
        ("Body", operation.get("requestBody", {})),
        ("Answer", operation["responses"].get("200", {})),
    ):
        for media_type, content in place.get("content", {}).items():
            if text := kind(content.get("schema", {})):
                yield f"{label}: {text}, as `{media_type}`."
    statuses = [status for status in operation["responses"] if status != "200"]
    if statuses:
        yield "Errors: " + ", ".join(sorted(statuses)) + " ([codes](errors.md#over-http))."


def properties(schema: Mapping[str, Any]) -> str:
    """Return the table of the fields of an object."""
    required = schema.get("required", ())
    return table(
        ("field", "type", "meaning"),
        (
            (
                f"`{name}`" + (" (required)" if name in required and "default" not in field else ""),
                kind(field),
                field.get("description", "") + limits(field),
            )
            for name, field in schema.get("properties", {}).items()
        ),
    )


def kind(schema: Mapping[str, Any]) -> str:
    """Return the type that a schema describes, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "a form" if name.startswith("Body_") else f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(one) for one in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {})) or 'any value'}"
    return str(schema.get("type", ""))


def limits(schema: Mapping[str, Any]) -> str:
    """Return default and bounds of a value as sentences."""
    words = {"minimum": "At least", "exclusiveMinimum": "More than", "maximum": "At most"}
    bounds = [f" {word} {schema[key]:g}." for key, word in words.items() if key in schema]
    default = schema.get("default")
    return "".join(bounds) + (f" Default: `{json.dumps(default)}`." if default is not None else "")


def python() -> str:
    """Return signatures and docstrings of the exports of each package."""
    parts = ["# Python", "Import names from the packages below, not from their modules."]
    homes: dict[int, str] = {}
    for package in PACKAGES:
        module = import_module(package)
        parts += [f"## {package}", sentence(module.__doc__)]
        for name in exported(module):
            value = getattr(module, name)
            home = homes.setdefault(id(value), f"{package}.{name}")
            if home != f"{package}.{name}":
                parts.append(f"`{name}`: the same as `{home}`.")
            else:
                parts += object_sections(name, value, brief=package != "sleuth")
    return "\n\n".join(part for part in parts if part)


def exported(module: ModuleType) -> list[str]:
    """Return the public names of a package."""
    return getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and name[0] != "_"
    ]


def object_sections(name: str, value: Any, *, brief: bool) -> Iterator[str]:
    """Yield heading, signature and docstring of an exported value, and those of its methods (`brief`: a part)."""
    yield f"### {name}"
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        text = repr(sorted(value) if isinstance(value, frozenset) else value)
        yield f"`{text}`" if len(text) < 200 and " at 0x" not in text else ""
        return
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        yield docstring(value.__doc__)
        yield "Values: " + ", ".join(f"`{member.name}`" for member in value) + "."
        return
    if inspect.isclass(value) and issubclass(value, BaseModel):
        value.model_rebuild(force=True)  # its signature is complete then
    yield signature(name, value)
    yield docstring(value.__doc__) if value.__doc__ and not value.__doc__.startswith(f"{name}(") else ""
    if inspect.isclass(value) and not issubclass(value, BaseException):
        members = dict(methods(value))
        for method, member in members.items():
            if method[:1] == "a" and method[1:] in members:
                continue
            yield f"#### {name}.{method}"
            yield signature(method, member)
            yield sentence(member.__doc__) if brief else docstring(member.__doc__)
            yield f"Its async twin is `a{method}`." if f"a{method}" in members else ""


def methods(owner: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public methods of a class and of its bases in this package, with docstrings, in order."""
    names: set[str] = set()
    for base in owner.__mro__:
        for name, member in vars(base).items() if base.__module__.startswith("sleuth") else ():
            function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if name[0] != "_" and inspect.isfunction(function) and function.__doc__ and name not in names:
                names.add(name)
                yield name, function


def signature(name: str, value: Any) -> str:
    """Return a signature as a block of code, one parameter a line where it is long; "" for values without one."""
    try:
        described = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parts: list[str] = []
    stars: Mapping[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    may_be_positional = True
    for one in described.parameters.values():
        if one.name == "self":
            continue
        if one.kind is inspect.Parameter.KEYWORD_ONLY and may_be_positional:
            parts.append("*")
        may_be_positional = may_be_positional and one.kind < inspect.Parameter.VAR_POSITIONAL
        text = f"{stars.get(one.kind, '')}{one.name}" + (
            f": {type_name(one.annotation)}" if one.annotation is not one.empty else ""
        )
        if one.default is not one.empty:
            default = re.sub(r"<.* at 0x[0-9a-f]+>|<factory>|<class .*>", "...", repr(one.default))
            text += f" = {default}"
        parts.append(text)
    result = described.return_annotation
    answer = (
        f" -> {type_name(result)}" if result is not described.empty and not inspect.isclass(value) else ""
    )
    line = f"{name}({', '.join(parts)}){answer}"
    if len(line) > 100:
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){answer}"
    return f"```python\n{line}\n```"


def type_name(annotation: Any) -> str:
    """Return the spelling of an annotation."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def settings() -> str:
    """Return the settings of an index, the keys of sleuth.toml, and the variables of the environment."""
    from sleuth.settings import IndexSettings
    from sleuth.surfaces.cli.defaults import KEYS

    documented = dict(re.findall(r"^- `([\w, ]+)`: (.*)$", docstring(IndexSettings.__doc__), re.MULTILINE))
    meanings = {name: text for names, text in documented.items() for name in names.split(", ")}
    index_rows = [
        (f"`{one.name}`", f"`{one.default!r}`" if one.default is not MISSING else "", meanings[one.name])
        for one in fields(IndexSettings)
    ]
    key_rows = [
        (
            f"`{name}`",
            key.kind.__name__,
            "yes" if key.is_safe else "no",
            ", ".join(f"`sleuth {each}`" for each in key.commands if each) or "all that open an index",
        )
        for name, key in KEYS.items()
    ]
    return "\n\n".join(
        [
            "# Settings",
            "## Of an index",
            "Chosen when an index is created, and stored in it: `Engine.open(path, create=True, settings={...})`,"
            " or the options of `sleuth index`.",
            table(("setting", "default", "meaning"), index_rows),
            "## Of the command line",
            "Keys of `sleuth.toml`, with the meaning of the option of the same name; [Set"
            " defaults](../how-to/set-defaults.md) says which files are read."
            " `synonyms` is a file of [synonyms](../how-to/more-words.md).",
            table(("key", "type", "may a project set it", "an option of"), key_rows),
            "## Of the environment",
            table(("variable", "meaning"), ((f"`{name}`", text) for name, text in sorted(VARIABLES.items()))),
        ]
    )


def read_variables() -> set[str]:
    """Return the variables of the environment that the package reads by names of its own."""
    text = "\n".join(path.read_text("utf8") for path in (HOME / "src" / "sleuth").rglob("*.py"))
    return set(re.findall(r"[\"'](SLEUTH_[A-Z_]+)[\"']", text))


def errors() -> str:
    """Return the exception tree with exit codes and statuses of HTTP, and the codes of the server's own refusals."""
    from sleuth import errors as tree
    from sleuth.surfaces.cli.common import exit_code
    from sleuth.surfaces.http.answers import refusal_of

    rows = []
    for name, error in vars(tree).items():
        if inspect.isclass(error) and issubclass(error, tree.SleuthError):
            example = error.__new__(error)
            base = next(one.__name__ for one in error.__mro__[1:])
            rows.append(
                (
                    f"`{name}`",
                    f"`{base}`",
                    str(exit_code(example)),
                    str(refusal_of(example).status_code),
                    sentence(error.__doc__),
                )
            )
    return "\n\n".join(
        [
            "# Errors",
            "Everything that Sleuth raises on purpose is a `SleuthError` of `sleuth.errors`. The message says which"
            " rule was broken, and the command that mends it.",
            table(("class", "is a", "exit code", "HTTP status", "when"), rows),
            "## Exit codes",
            table(("code", "means"), ((str(code), text) for code, text in EXIT_CODES)),
            "## Over HTTP",
            "Errors are problem documents (RFC 9457): [ProblemDocument](http.md#problemdocument). `code` is a class of"
            " the table above, or one of these, which the server itself answers:",
            table(
                ("code", "status"),
                sorted((f"`{code}`", str(status)) for code, status in server_codes().items()),
            ),
        ]
    )


def server_codes() -> dict[str, int]:
    """Return the codes that the server's modules give to refusals, with their statuses."""
    codes: dict[str, int] = {}
    for path in sorted((HOME / "src" / "sleuth" / "surfaces").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "Refusal"
                and len(node.args) > 1
            ):
                status, code = (one.value if isinstance(one, ast.Constant) else None for one in node.args[:2])
                if isinstance(status, int) and isinstance(code, str):
                    codes[code] = status
    return codes


WRITERS: Mapping[str, Callable[[], str]] = {
    "command-line.md": command_line,
    "http.md": http,
    "python.md": python,
    "settings.md": settings,
    "errors.md": errors,
}


def page(name: str) -> str:
    """Return the whole text of a page."""
    title, _, text = WRITERS[name]().partition("\n")
    return f"{title}\n\n{NOTICE}\n{text}\n"


def main() -> None:
    """Write all pages."""
    PAGES.mkdir(parents=True, exist_ok=True)
    for name in WRITERS:
        (PAGES / name).write_text(page(name), "utf8")


if __name__ == "__main__":
    main()
