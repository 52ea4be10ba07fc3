"""Metadata of the package: the README as a package index shows it, and the links."""

import importlib.util
import re

import pytest
from conftest import ROOT

import gpuhist as gh

README = (ROOT / "README.md").read_text()
LINK = r"!?\[[^\]]*\]\(([^)]*)\)"


@pytest.fixture
def metadata(monkeypatch):
    spec = importlib.util.spec_from_file_location("metadata", ROOT / "app/packaging/metadata.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.chdir(ROOT)

    def made(url: str) -> dict:
        monkeypatch.setenv("GPUHIST_URL", url)
        return module.dynamic_metadata({}, {"version": gh.__version__})

    return made


def test_links_lead_to_the_repository(metadata):
    url = "https://example.org/who/gpuhist"
    found = metadata(url + "/")
    links = re.findall(LINK, found["readme"]["text"])
    assert len(links) == len(re.findall(LINK, README)) > 8
    for link in links:
        kind, version, path = re.fullmatch(rf"{url}/(blob|raw)/(v[^/]*)/([^#]*)(?:#.*)?", link).groups()
        assert (ROOT / path).exists() and version == f"v{gh.__version__}"
        assert (kind == "raw") == path.endswith(".png")
    assert found["urls"]["Homepage"] == url and all(one.startswith(url) for one in found["urls"].values())
    for page in ("Documentation", "Changelog"):
        assert (ROOT / found["urls"][page].partition(f"v{gh.__version__}/")[2]).exists()


def test_without_an_address_links_are_text(metadata):
    found = metadata("")
    text = found["readme"]["text"]
    assert found["urls"] == {} and not re.findall(LINK, text) and "<!--" not in text
    assert "[one definition](app/guide/columns.md)" in README and "has one definition." in text
    assert text.count("```") == README.count("```") and "MIT" in text
