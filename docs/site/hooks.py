"""Pages of the site that are generated from the code: commands, error classes, options of the data source."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from message_pages import message_pages  # mkdocs finds what is beside its hooks while it loads them

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # hooks run in mkdocs' process
os.environ["COLUMNS"] = "100"  # argparse wraps the text of options at this width

HERE = Path(__file__).parent
ASSETS = ["site.css", "playground/page.js", "playground/page.css", "playground/worker.js"]
OPTIONS = "<!-- options -->"  # in reference/spark.md


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    pages = {
        "reference/commands.md": commands(),
        "reference/configs.md": configs(),
        "reference/errors.md": errors(),
    }
    for path, content in (*pages.items(), *message_pages()):
        files.append(File.generated(config, path, content=content))
    for name in ASSETS:
        files.append(File.generated(config, name, abs_src_path=str(HERE / name)))
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Let the page "Decode in the browser" connect to nothing but the server that it is from."""
    if page.file.src_uri != "how-to/decode-in-the-browser.md":
        return output
    return output.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{policy(output)}">', 1)


def policy(page: str) -> str:
    """Return the Content-Security-Policy of that page: its own inline scripts, and that of `kwire explain --html`.

    What is loaded into frames and made from blobs, such as the worker with Python, has the same policy.
    """
    from kwire.render.html.document import asset, digest

    inline = [*re.findall(r"<script>(.*?)</script>", page, re.DOTALL), asset("page.js")]
    scripts = " ".join(f"'{digest(script)}'" for script in inline)
    allowed = {
        "default-src": "'none'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "font-src": "'self'",
        "style-src": "'self' 'unsafe-inline'",
        "script-src": f"'self' blob: 'wasm-unsafe-eval' {scripts}",
        "worker-src": "'self' blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{kind} {sources}" for kind, sources in allowed.items())


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the table of options where a page asks for it."""
    return markdown.replace(OPTIONS, options())


def configs() -> str:
    """Return the page of Kafka's broker configs, made from the table that brokers use."""
    from kwire.broker.configs import definitions_of, effect_of
    from kwire.broker.configs.effects import HONOURED_TOPIC_CONFIGS, REFUSALS
    from kwire.broker.settings_configs import own_defaults

    rows = []
    own = own_defaults()
    for name, config in definitions_of("broker", None).items():
        default = own.get(name, config.default)
        effect = f"refuses most values: {REFUSALS[name][1]}" if name in REFUSALS else effect_of(name).value
        rows.append(f"| `{name}` | {config.about} | {'' if default is None else f'`{default}`'} | {effect} |")
    topics = [
        f"| `{name}` | {config.about} | {'honoured' if name in HONOURED_TOPIC_CONFIGS else 'no effect'} |"
        for name, config in definitions_of("topic", None).items()
    ]
    return "\n".join(
        (
            "# Configs",
            "What `kwire serve --config`, `--set` and `kwire.testing.Kafka(configs={...})` do with Kafka's configs."
            " Defaults are those of kwire; with `--realistic` they are Kafka's.\n",
            "## Of brokers\n",
            "| config | what it is | default | kwire |\n|---|---|---|---|",
            *rows,
            "\n## Of topics\n",
            "| config | what it is | kwire |\n|---|---|---|",
            *topics,
        )
    )


def commands() -> str:
    """Return the page of all commands, made from their argument parsers."""
    from kwire.cli.command_table import COMMANDS

    parts = ["# Commands", "Generated from the argument parsers; `kwire COMMAND --help` prints the same."]
    for name, about in COMMANDS.items():
        sentence = f"{about[0].upper()}{about[1:]}."
        parts += [f"## kwire {name}", sentence, "```text", help_of(name), "```"]
    parts += ["# Topics", "`kwire help TOPIC` prints one of these."]
    from kwire.cli.help.topics import TOPICS, help_lines

    for topic in TOPICS:
        parts += [f"## {topic.capitalize()}", "```text", "\n".join(help_lines(topic)), "```"]
    return "\n\n".join(parts).replace("```text\n\n", "```text\n").replace("\n\n```\n", "\n```\n") + "\n"


def help_of(name: str) -> str:
    """Return what `kwire NAME --help` prints; of a command with commands of its own, theirs too."""
    from kwire.cli.main import parser_for

    (top,) = (action for action in parser_for([name])._actions if isinstance(action, argparse._SubParsersAction))
    parser = top.choices[name]
    texts = [parser.format_help()]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts += [f"$ {inner.prog} --help\n\n{inner.format_help()}" for inner in action.choices.values()]
    return "\n".join(texts).rstrip()


def errors() -> str:
    """Return the page of error classes, as their docstrings describe them."""
    import kwire.errors.refused
    from kwire.errors import KwireError

    with contextlib.suppress(ImportError):  # without pyarrow its errors are left out
        import kwire.arrow.clusters.history_tables
        import kwire.arrow.streams.growing_files  # noqa: F401
    lines = [
        "# Error classes",
        "Every error that kwire raises on purpose is a `KwireError`. Its text is made from its attributes; `hint` says"
        " what to try. The class says whose fault it is.\n",
    ]
    for depth, kind in tree(KwireError, 0):
        lines.append(f"{'    ' * depth}- `{kind.__module__}.{kind.__name__}`: {first_sentence(kind)}")
    return "\n".join(lines) + "\n"


def tree(kind: type, depth: int) -> Iterator[tuple[int, type]]:
    """Yield a class and, below it, its subclasses in kwire; a private one gives place to its own."""
    is_public = not kind.__name__.startswith("_")
    if is_public:
        yield depth, kind
    for less in sorted(kind.__subclasses__(), key=lambda one: one.__name__):
        if less.__module__.startswith("kwire."):
            yield from tree(less, depth + is_public)


def first_sentence(kind: type) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return " ".join((kind.__doc__ or "").strip().partition("\n\n")[0].split())


def options() -> str:
    """Return the table of options of `kwire.arrow.read` and of Spark's data source, with their defaults."""
    from kwire.arrow.read_options import Options

    rows = ["| option of Spark | keyword of `kwire.arrow.read` | default |", "|---|---|---|"]
    for field in dataclasses.fields(Options):
        words = field.name.split("_")
        name = words[0] + "".join(word.capitalize() for word in words[1:])
        rows.append(f"| `{name}` | `{field.name}` | `{field.default!r}` |")
    return "\n".join(rows)
