"""What the first use of a message takes: python -m benchmarks.codec.first_use [--rounds N]

Each round in a fresh process: how long it takes to write and run the source of a decoder and an encoder, and what comes
before it too (the spec read, the tree grown), as multiples of what `compile()` takes for that source.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

from benchmarks.lib.rounds import spread

PROGRAM = """
import gc, json, time
import kwire
from kwire.schema.catalog import catalog_for
from kwire.codecs.fallback.generated_python import compile_decoder, compile_encoder, decoder_source, encoder_source
kwire.codec("MetadataRequest", 0).decode(bytes(4))  # all layers warm
kwire.codec("MetadataRequest", 0).encode(kwire.messages.MetadataRequest(topics=()))
names, found, clock = catalog_for().names(), {}, time.process_time
for name in names:
    gc.collect()
    gc.freeze()  # no collection of all before lands on one message
    begin = clock()
    schema = kwire.codec(name, catalog_for().spec(name).versions.last).schema
    grown = clock()
    compile_decoder(schema, name)
    compile_encoder(schema, name)
    made = clock()
    texts = [source(schema).text() for source in (decoder_source, encoder_source)]
    again = clock()
    for text in texts:
        compile(text, name, "exec")
    found[name] = made - grown, made - begin, clock() - again
begin = clock()
count = sum(1 for name in names for version in catalog_for().spec(name).versions if kwire.codec(name, version))
print(json.dumps({"messages": found, "trees": clock() - begin, "count": count}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    first_use(parser.parse_args().rounds)


def first_use(rounds: int) -> None:
    """Print what the first use of messages takes."""
    command = [sys.executable, "-c", PROGRAM]
    runs = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(rounds)]
    print(f"first use of a message at its newest version, {len(runs[0]['messages'])}; {rounds} fresh processes")
    print(f"{'':40}{'median of all':>22}{'slowest':>22}")
    for label, place, unit in (
        ("source written and run, of compile()", 0, 0.0),
        ("spec, tree and source, of compile()", 1, 0.0),
        ("spec, tree and source, ms", 1, 1e-3),
    ):
        found = [[one[place] / (unit or one[2]) for one in run["messages"].values()] for run in runs]
        typical = [statistics.median(times) for times in zip(*found, strict=True)]
        slowest = max(range(len(typical)), key=typical.__getitem__)
        print(
            f"{label:40}{spread([*map(statistics.median, found)]):>22}{spread([times[slowest] for times in found]):>22}"
            f"  {list(runs[0]['messages'])[slowest]}"
        )
    print(f"{runs[0]['count']} trees grown, s: {spread([run['trees'] for run in runs])}")


if __name__ == "__main__":
    main()
