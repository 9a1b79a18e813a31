"""Decision records in `decisions/`, in the form of MADR 4.0: written from a final with a decision, and read (T24).

The record of a final follows from its thread alone, to the byte. Records that people write by hand and drafts of agents
are read and checked; nothing is renamed, and only the record of the DRI's final stands for its thread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ackd.tree.decision import MOST_NAMES, SUPERSEDED, Decision, parse_status
from ackd.tree.front_matter import Finding, iso_day, listed, read_front_matter, split_lines, write_front_matter
from ackd.tree.layout import DECISIONS
from ackd.tree.markdown import code, inline, link
from ackd.tree.outline import Section, conflict_line, plain, sections, seen

_STATUS_OF_FINAL = {"rejected": "rejected", "failed": "rejected", "cancelled": "rejected"}
_TITLE, _LINE, _TEXT, _NAME = 200, 500, 8_000, 200
_MOST_TEXT_LINES = 200

_NAME_FORM = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})-(.+)\.md", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")
_BULLET = re.compile(r" ?[-*+][ \t]+")
_NEEDED = (
    (
        "Context and Problem Statement",
        frozenset(
            {
                "context and problem statement",
                "context",
                "problem statement",
                "背景",
                "问题",
                "背景与问题",
                "背景和问题",
            }
        ),
    ),
    (
        "Considered Options",
        frozenset(
            {"considered options", "options", "options considered", "方案", "备选方案", "可选方案", "考虑的方案"}
        ),
    ),
    (
        "Decision Outcome",
        frozenset({"decision outcome", "decision", "outcome", "决定", "决策", "决策结果", "结论"}),
    ),
)


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """The thread that a decision came out of.

    Attributes:
        ack_id: The thread.
        dri: Who wrote the final.
        day: Day of the final, `YYYY-MM-DD`; it stands in the file's name, so the caller keeps it fixed.
        page: Path of the thread's page, relative to the tree.
        final_status: success, partial_success, failed, rejected or cancelled.
        conclusion: The final's conclusion.
        action: What was asked.
        requester: Who asked.
        consulted: The other assignees.
        superseded_by: Name of the record that took its place, without `.md`; empty where none did.
        supersedes: Name of the record whose place it took, without `.md`, where the caller found it.
    """

    ack_id: str
    dri: str
    day: str
    page: str
    final_status: str = "success"
    conclusion: str = ""
    action: str = ""
    requester: str = ""
    consulted: tuple[str, ...] = ()
    superseded_by: str = ""
    supersedes: str = ""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A record as it was read.

    Attributes:
        title: Its title, without markup.
        status: One of `STATUS_WORDS` or `superseded`; empty where it says none of them.
        superseded_by: Name of the record that took its place, as written.
        date: As written.
        decision_makers, consulted, informed: Names as written.
        ack_id: Thread that it names.
        dri: Who wrote that thread's final.
        options: The options that it lists.
        sections: The record at its headings.
        front: Its front matter as JSON, for `decision.schema.json`.
        lines: Line of each key of the front matter.
        findings: What is missing or cannot be read, by line; what the schema checks is not among them.
    """

    title: str = ""
    status: str = ""
    superseded_by: str = ""
    date: str = ""
    decision_makers: tuple[str, ...] = ()
    consulted: tuple[str, ...] = ()
    informed: tuple[str, ...] = ()
    ack_id: str = ""
    dri: str = ""
    options: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    front: dict[str, Any] = {}
    lines: dict[str, int] = {}
    findings: tuple[Finding, ...] = ()


def record_path(day: str, ack_id: str) -> str:
    """Give the path of a thread's record: `decisions/<YYYYMMDD>-<ack_id>.md`.

    Args:
        day: Day of the final, `YYYY-MM-DD`.
        ack_id: Id of the thread.
    """
    return f"{DECISIONS}/{day.replace('-', '')}-{ack_id}.md"


def split_record_name(name: str) -> tuple[str, str] | None:
    """Give day and ack_id that the name of a record in `decisions/` has, or None where it is called otherwise."""
    match = _NAME_FORM.fullmatch(name)
    day = iso_day(f"{match[1]}-{match[2]}-{match[3]}") if match is not None else None
    return (day, match[4]) if match is not None and day is not None else None


def decision_record(decision: Decision, origin: Origin) -> str:
    """Write the record of a decision. The same decision and origin give the same bytes on every machine."""
    title = next(
        (shown for text in (decision.title, origin.conclusion, origin.action) if (shown := inline(text, _TITLE))),
        code(origin.ack_id),
    )
    status = decision.status or _STATUS_OF_FINAL.get(origin.final_status, "accepted")
    if origin.superseded_by:
        status = SUPERSEDED + origin.superseded_by
    consulted = _names(decision.consulted or origin.consulted)
    front: list[tuple[str, str | Sequence[str]]] = [
        ("status", status),
        ("date", origin.day),
        ("decision-makers", [origin.dri]),
        *([("consulted", consulted)] if consulted else []),
        *([("informed", informed)] if (informed := _names(decision.informed)) else []),
        ("ack_id", origin.ack_id),
        ("dri", origin.dri),
    ]
    parts = [write_front_matter(front), f"# {title}", "## Context and Problem Statement"]
    parts.append(_paragraphs(decision.context or origin.action) or "Nothing was written down about it.")
    if drivers := _bullets(decision.drivers):
        parts += ["## Decision Drivers", drivers]
    parts += ["## Considered Options"]
    parts.append(_bullets([option.name for option in decision.options]) or "* None were named.")
    parts += ["## Decision Outcome", *_outcome(decision, origin)]
    if consequences := _bullets(decision.consequences):
        parts += ["### Consequences", consequences]
    weighed = [option for option in decision.options if option.good or option.bad]
    if weighed:
        parts.append("## Pros and Cons of the Options")
        for option in weighed:
            arguments = [("Good, because ", one) for one in option.good] + [
                ("Bad, because ", one) for one in option.bad
            ]
            parts.append(f"### {inline(option.name, _TITLE) or 'Without a name'}")
            parts.append("\n".join(f"* {word}{inline(text, _LINE)}" for word, text in arguments))
    parts += ["## More Information", _more(decision, origin)]
    return "\n\n".join(parts) + "\n"


def read_record(text: str) -> Record:
    """Read a record and say what it lacks; any text is read, nothing is raised, the time is linear in its length.

    Args:
        text: The whole file, decoded; its size is the caller's to cap.
    """
    at = conflict_line(split_lines(text))
    if at is not None:
        what = "git left conflict markers in the record"
        return Record(findings=(Finding(at, what, "one of the two versions, without the markers"),))
    front = read_front_matter(text)
    lines, findings = seen(front.body, front.body_line)
    page = sections(lines)
    found = [*front.findings, *findings]
    title = next((one for one in page if one.level == 1), None)
    if title is None or not title.title:
        line = title.line if title is not None else front.body_line
        found.append(
            Finding(min(line, len(split_lines(text))), "the record has no title", "# and the decision in a few words")
        )
    named = {name: _section(page, words) for name, words in _NEEDED}
    for name, section in named.items():
        if section is None:
            at = title.line if title is not None else 1
            found.append(Finding(at, f"the record has no section {name}", f"## {name}, and what belongs there"))
        elif not _has_text(page, section):
            found.append(Finding(section.line, f"the section {name} is empty", "a sentence at least"))
    status, superseded_by = parse_status(front.text_of("status"))
    options = named["Considered Options"]
    return Record(
        title=title.title if title is not None else "",
        status=status,
        superseded_by=superseded_by,
        date=front.text_of("date"),
        decision_makers=_listed_names(front.values.get("decision-makers")),
        consulted=_listed_names(front.values.get("consulted")),
        informed=_listed_names(front.values.get("informed")),
        ack_id=front.text_of("ack_id"),
        dri=front.text_of("dri"),
        options=_option_names(options) if options is not None else (),
        sections=tuple(page),
        front={key: list(value) if isinstance(value, tuple) else value for key, value in front.values.items()},
        lines=front.lines,
        findings=listed(sorted(found, key=lambda one: one.line)),
    )


def _names(names: Sequence[str]) -> list[str]:
    return [name[:_NAME] for name in names[:MOST_NAMES] if name.isprintable() and name.strip()]


def _paragraphs(text: str) -> str:
    """Show a text of several lines as paragraphs that keep their lines, without any markup."""
    cut = text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"
    lines = split_lines(cut)
    if len(lines) > _MOST_TEXT_LINES:
        lines = [*lines[: _MOST_TEXT_LINES - 1], "…"]
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        shown = inline(line, len(line))
        if shown:
            paragraphs[-1].append(shown)
        elif paragraphs[-1]:
            paragraphs.append([])
    return "\n\n".join("\\\n".join(one) for one in paragraphs if one)


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"* {shown}" for text in texts if (shown := inline(text, _LINE)))


def _outcome(decision: Decision, origin: Origin) -> list[str]:
    chosen, because = inline(decision.chosen, _LINE), _paragraphs(decision.because)
    conclusion = _paragraphs(origin.conclusion)
    parts = []
    if chosen:
        parts.append(f'Chosen option: "{chosen}", because {because}' if because else f'Chosen option: "{chosen}".')
    elif because:
        parts.append(because)
    if conclusion:
        parts.append(conclusion)
    return parts or ["The final says no more."]


def _more(decision: Decision, origin: Origin) -> str:
    thread = link(code(origin.ack_id), f"../{origin.page}")
    asked = f", asked by {inline(origin.requester, _NAME)}" if origin.requester else ""
    lines = [f"* Thread: {thread}{asked}; final by {inline(origin.dri, _NAME)}, {inline(origin.final_status, 40)}"]
    if origin.supersedes:
        lines.append(f"* Supersedes {link(code(origin.supersedes), f'{origin.supersedes}.md')}")
    elif decision.supersedes.strip():
        lines.append(f"* Supersedes {inline(decision.supersedes, _NAME)}")
    if origin.superseded_by:
        lines.append(f"* Superseded by {link(code(origin.superseded_by), f'{origin.superseded_by}.md')}")
    return "\n".join(lines)


def _section(page: Sequence[Section], names: frozenset[str]) -> Section | None:
    """Find a section by its title, whatever number or sign stands before it."""
    for section in page:
        if section.level > 1 and " ".join(_WORD.findall(section.title[:_TITLE].casefold())) in names:
            return section
    return None


def _has_text(page: Sequence[Section], section: Section) -> bool:
    """Tell whether anything stands in a section or below its deeper headings."""
    at = next(position for position, one in enumerate(page) if one is section)
    if section.text.strip():
        return True
    return at + 1 < len(page) and page[at + 1].level > section.level


def _option_names(section: Section) -> tuple[str, ...]:
    found = (match for line in section.lines if not line.code and (match := _BULLET.match(line.text)))
    return tuple(plain(match.string[match.end() :]) for match in found)


def _listed_names(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    names = re.split("[,，、]", value) if isinstance(value, str) else value or ()
    return tuple(name.strip() for name in names if name.strip())
