"""One page to pass on: what was promised, what was accepted, and what was not."""

from riskjudge.page.render import page_html, write_page

__all__ = ["page_html", "write_page"]
