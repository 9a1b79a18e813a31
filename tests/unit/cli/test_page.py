"""What the command line says of the people's page."""

from __future__ import annotations

from typing import Any

ASK = "- [ ] @macro: look at oil"


def write(tree: Any, *requests: str, by: str = "wen") -> None:
    """Write the page anew."""
    text = "\n".join(["---", f"updated_by: {by}", "---", "## Requests", "", *requests, ""])
    (tree.path / "PROJECT_STATUS.md").write_text(text, encoding="utf-8")


def test_one_pass_takes_a_page_that_was_saved_just_now(ackd: Any, tree: Any) -> None:
    """Nobody looks again after `ackd up --once`, so it waits for the page to rest; status tells the rest."""
    write(tree, ASK, "- [ ] @ghost: find the keys")
    ackd.once()
    assert [one["kind"] for one in tree.inbox("macro")] == ["request"]
    found = ackd.data("status")["page"]
    (asked,) = found["requests"]
    assert (asked["line"], asked["state"], asked["verdict"]) == (6, "request", "opened")
    assert [one["line"] for one in found["findings"]] == [7]
    assert "PROJECT_STATUS.md:7" in ackd.ok("status")
    assert ackd.data("show", asked["ack_id"])["messages"][0]["path"] == "PROJECT_STATUS.md"


def test_validate_names_the_lines(ackd: Any, tree: Any) -> None:
    """Offline, by form and roster; exit 1 on findings."""
    path = str(tree.path / "PROJECT_STATUS.md")
    assert ackd("validate", path).exit_code == 0
    write(tree, ASK, "- [ ] macro without at", "- [ ] @ghost: who?", by="nobody")
    done = ackd("validate", path)
    assert done.exit_code == 1
    assert [f"PROJECT_STATUS.md:{number}:1" in done.output for number in (2, 6, 7, 8)] == [True, False, True, True]
