"""Metadata of the Python package that depend on where the sources are published: GPUHIST_URL is the address of their
repository. With it, the package has links, and the README on a package index leads to the files of this version. Without
it, links to files are only text."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_RELATIVE = r"\((?!https?://)([^)\s]*)\)"


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    """The hook of scikit-build-core, which runs in the root of the sources."""
    url = os.environ.get("GPUHIST_URL", "").rstrip("/")
    text = description(Path("README.md").read_text(encoding="utf-8"), url, project["version"])
    return {"readme": {"content-type": "text/markdown", "text": text}, "urls": urls(url, project["version"])}


def description(readme: str, url: str, version: str) -> str:
    """The README with links that lead somewhere from anywhere."""
    text = re.sub(r"^<!--.*?-->\n", "", readme, flags=re.MULTILINE)
    if not url:
        text = re.sub(rf"^!\[[^\]]*\]{_RELATIVE}\n\n", "", text, flags=re.MULTILINE)
        return re.sub(rf"\[([^\]]+)\]{_RELATIVE}", r"\1", text)
    text = re.sub(rf"(!\[[^\]]*\]){_RELATIVE}", rf"\1({url}/raw/v{version}/\2)", text)
    return re.sub(rf"(\[[^\]]+\]){_RELATIVE}", rf"\1({url}/blob/v{version}/\2)", text)


def urls(url: str, version: str) -> dict[str, str]:
    if not url:
        return {}
    files = f"{url}/blob/v{version}"
    return {
        "Homepage": url,
        "Documentation": f"{files}/app/guide/python.md",
        "Changelog": f"{files}/CHANGELOG.md",
        "Issues": f"{url}/issues",
    }
