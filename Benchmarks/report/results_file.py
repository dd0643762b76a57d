"""Results as files: the last ones, and those that the document is made from."""

import json
from pathlib import Path


def keep(file: Path, found: dict) -> None:
    """The last full measurement of each row: one that is measured again by itself takes the place of the old one."""
    old = json.loads(file.read_text()) if file.exists() else {}
    # Rows of another machine, or of other versions, do not stand beside these.
    rows = old["rows"] if old.get("machine") == found["machine"] else []
    by_number = {row["number"]: row for row in rows + found["rows"]}
    write(file, found | {"rows": [by_number[number] for number in sorted(by_number)]})


def write(file: Path, found: dict) -> None:
    file.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
