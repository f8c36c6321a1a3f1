"""What axe-core finds on a page that is open in a browser."""

from collections.abc import Iterator
from typing import Any

from axe_playwright_python.sync_playwright import Axe

PICTURES = {"exclude": [[".drawing"]]}
"""A chart is one image with a text, whatever it consists of."""
VIOLATIONS = {"resultTypes": ["violations"]}
_SHOW_ALL = "() => document.querySelectorAll('.beside-axe').forEach(one => one.classList.remove('beside-axe'))"
_SHOW_KINDS = """() => {
  const style = document.createElement("style");
  style.textContent = ".beside-axe { display: none !important; }";
  document.head.append(style);
  const written = (one) => `${one.tagName} ${one.getAttribute("class") ?? ""}`;
  const seen = new Set();
  for (const list of document.querySelectorAll("tbody, ul, ol, dl, .cards, #benchmarks"))
    for (const one of list.children) {
      const kind = [...new Set([one, ...one.querySelectorAll("*")].map(written))].sort().join();
      if (seen.has(kind) && one !== list.firstElementChild) one.classList.add("beside-axe");
      seen.add(kind);
    }
}"""
"""Hides rows and items like others: axe takes milliseconds for each cell."""


def violations(page: Any) -> list[str]:
    """A line for each element that breaks a rule of axe, in light; in dark, for each that has too little contrast."""
    page.evaluate(_SHOW_KINDS)
    page.emulate_media(color_scheme="light")
    found = [*_found(page, VIOLATIONS)]
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {line}" for line in _found(page, {**VIOLATIONS, "runOnly": ["color-contrast"]})]
    page.emulate_media(color_scheme="light")
    page.evaluate(_SHOW_ALL)
    return found


def _found(page: Any, options: dict[str, Any]) -> Iterator[str]:
    response = Axe().run(page, context=PICTURES, options=options).response
    assert response["passes"], "axe looked at something"
    for rule in response["violations"]:
        for node in rule["nodes"]:
            yield f"{rule['id']}: {rule['help']}: {node['html'][:200]}"
