"""Check that every crate linked into the wheel carries a licence that the wheel may be passed on under.

Run after a build: `python tools/check_licences.py`. Exits with 1 and names the crates that do not.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

ACCEPTED = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "ISC", "MIT", "Unicode-3.0", "Unlicense", "Zlib"}
)


def acceptable(expression: str) -> bool:
    """Whether an SPDX expression can be met by accepted licences alone: `OR` (or the older `/`) offers a choice."""
    tokens = re.findall(r"[()/]|[^\s()/]+", expression)

    def choice() -> bool:
        met = union()
        while tokens and tokens[0] in {"OR", "/"}:
            tokens.pop(0)
            met = union() or met
        return met

    def union() -> bool:
        met = licence()
        while tokens and tokens[0] in {"AND", "WITH"}:
            exception = tokens.pop(0) == "WITH"
            met = (bool(tokens.pop(0)) if exception else licence()) and met
        return met

    def licence() -> bool:
        name = tokens.pop(0)
        if name != "(":
            return name in ACCEPTED
        met = choice()
        tokens.pop(0)
        return met

    return choice()


def linked(metadata: dict[str, Any]) -> set[str]:
    """Return the ids of the packages that the binding links, build scripts' and tests' own dependencies left out."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [package["id"] for package in metadata["packages"] if package["name"] == "ragstone-py"]
    seen: set[str] = set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        waiting += [d["pkg"] for d in nodes[current]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"])]
    return seen


def main() -> int:
    """Print the crates whose licence is not accepted; return the exit code."""
    answer = subprocess.run(["cargo", "metadata", "--format-version", "1"], check=True, capture_output=True, text=True)
    metadata = json.loads(answer.stdout)
    wanted = linked(metadata)
    packages = [package for package in metadata["packages"] if package["id"] in wanted]
    refused = [package for package in packages if not acceptable(package["license"] or "none")]
    for package in refused:
        print(f"{package['name']} {package['version']}: licence {package['license']!r} is not among those accepted")
    if not refused:
        print(f"licences: all {len(packages)} crates in the wheel are acceptable")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
