"""The schemas as answers: does a document satisfy its kind, and if not, what has to change.

`accepts` is the quick yes or no (jsonschema-rs, some microseconds), `problems` says what is wrong in words that its
author can act on (jsonschema). Both read the same files and agree. A document is what a JSON decoder gives: dict with
text keys, list, str, int, float, bool, None.
"""

from ackd.schema.accept import accepts
from ackd.schema.explain import problems
from ackd.schema.source import KINDS, load_schema
from ackd.schema.words import FieldProblem

__all__ = ["KINDS", "FieldProblem", "accepts", "load_schema", "problems"]
