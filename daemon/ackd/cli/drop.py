"""`ackd drop`: any envelope, checked and laid in its place."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackd.cli.envelope_options import read_stdin
from ackd.cli.options import common, examples, open_view
from ackd.cli.output import as_json, emit, line, out, say, wanted
from ackd.errors import InvalidError, UsageError

if TYPE_CHECKING:
    from ackd.engine.reading import View

_CAP = 1024 * 1024


class _RepairableError(InvalidError):
    """A file that was certainly meant to be an envelope; that and the changes stand in --json."""

    def __init__(self, message: str, file: str, repaired: dict[str, Any], changes: tuple[str, ...]) -> None:
        super().__init__(message, hint=f"to drop it repaired, as it is printed: ackd drop --repair {shlex.quote(file)}")
        self.repaired, self.changes = repaired, list(changes)


@click.command("drop")
@click.argument("file", metavar="[FILE|-]", default="-")
@click.option("--anyway", is_flag=True, help="Drop it even where the thread would refuse it.")
@click.option("--repair", "repaired", is_flag=True, help="Drop it repaired, where what it was meant to be is certain.")
@common
@examples(
    "ackd drop final.json",
    'echo \'{"state":"confirmed","ack_id":"oil-v1","from":"macro"}\' | ackd drop -',
    "ackd drop answer.txt --repair",
)
def drop(file: str, anyway: bool, repaired: bool) -> int:
    """Check any envelope, lay it into its thread's folder, and print its verdict and path.

    Exits 1 with the reasons if it is refused, and with the repaired envelope on stdout where a repair is certain.
    """
    from ackd.engine.dropping import check_document, foresee
    from ackd.engine.dropping import drop as lay

    data = given = _read(file)
    name = "stdin" if file == "-" else file
    if repaired:
        data, document = _mended(data, name)
    else:
        try:
            document = _decode(data, name)
        except InvalidError as error:
            raise _with_repair(error, data, file) from None
    with open_view() as view:
        if data is given and file != "-" and _is_inside(view, file):
            return _already(view, file)
        try:
            envelope = check_document(view, document)
        except InvalidError as error:
            raise _with_repair(error, data, file) from None
        foreseen = foresee(view, envelope)
        if foreseen.word == "refused" and not anyway:
            raise InvalidError(f"it would be refused: {foreseen.because}", hint=f"ackd show {foreseen.thread}")
        dropped = lay(view, envelope, data=data)
        return _tell(view, dropped.path, dropped.thread, dropped.message_id, anyway=anyway)


def _read(file: str) -> bytes:
    if file == "-":
        return read_stdin()
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(_CAP + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", hint="name a file, or - for stdin") from None
    if len(data) > _CAP:
        raise InvalidError(f"{file} has more than {_CAP} bytes", hint="attach what is large: --attach PATH")
    return data


def _decode(data: bytes, name: str) -> dict[str, Any]:
    from ackd.intake.decode import Bad, Conflict, Open, decode

    decoded = decode(data)
    if isinstance(decoded, Open):
        what = "is empty" if not data.strip() else f"ends at character {decoded.position}, before its brackets close"
        raise InvalidError(f"{name} {what}", hint="write it whole")
    if isinstance(decoded, Conflict):
        raise InvalidError(f"{name} line {decoded.line}: git left conflict markers in it", hint="merge it first")
    if isinstance(decoded, Bad):
        raise InvalidError(f"{name} line {decoded.line}, column {decoded.column}: {decoded.detail}", hint="correct it")
    return decoded.value


def _with_repair(error: InvalidError, data: bytes, file: str) -> InvalidError:
    """Offer the repair beside the error; it is never taken without being asked for."""
    from ackd.intake.repair import Repaired, repair

    offer = repair(data)
    if not isinstance(offer, Repaired):
        return error
    if not wanted().json:
        for change in offer.changes:
            say(f"repair: {line(change, 400)}")
        click.echo(as_json(offer.document), color=False)
    return _RepairableError(error.message, file, offer.document, offer.changes)


def _mended(data: bytes, name: str) -> tuple[bytes, dict[str, Any]]:
    """Give the repaired file and its envelope; one that needs no repair as it is.

    Raises:
        InvalidError: No repair is certain.
    """
    from ackd.intake.decode import Whole, decode
    from ackd.intake.repair import Repaired, repair

    offer = repair(data)
    if isinstance(offer, Repaired):
        for change in offer.changes:
            say(f"repair: {line(change, 400)}")
        return offer.to_bytes(), offer.document
    whole = decode(data)
    if isinstance(whole, Whole):
        return data, whole.value
    raise InvalidError(f"no repair of {name} is certain: {offer.reason}", hint="correct it by hand")


def _is_inside(view: View, file: str) -> bool:
    from ackd.tree.layout import is_drop_path

    path, tree = Path(file).resolve(), view.tree.resolve()
    return path.is_relative_to(tree) and is_drop_path(path.relative_to(tree).as_posix())


def _already(view: View, file: str) -> int:
    """A file in the tree is dropped already: say what became of it."""
    path = Path(file).resolve().relative_to(view.tree.resolve()).as_posix()
    say(f"note: {line(path, 400)} lies in the tree: that is its drop")
    return _tell(view, path, "", "", anyway=False)


def _tell(view: View, path: str, thread: str, message_id: str, *, anyway: bool) -> int:
    from ackd.cli.verdict import exit_code, wait

    row = view.file(path) or wait(view, path)
    if wanted().json:
        emit(
            {
                "ack_id": (row.thread if row is not None else "") or thread or None,
                "path": path,
                "message_id": message_id or None,
                "verdict": row.verdict if row is not None else None,
                "because": row.because if row is not None else "",
            }
        )
    elif row is None:
        out(f"waiting {line(path, 400)}")
        say("no verdict yet: it waits for " + ("the running daemon" if view.is_running else "ackd up"))
    else:
        out(f"{row.verdict} {line(path, 400)}" + (f": {line(row.because, 600)}" if row.because else ""))
    return 1 if exit_code(row, anyway=anyway) == 1 else 0


COMMANDS: dict[str, click.Command] = {"drop": drop}
