"""Usage: job_schema.py SCHEMA < CASES. Judges each case, a JSON object a line, and prints `true` or `false` for it."""

import json
import sys

from jsonschema import Draft202012Validator, ValidationError, validators


def members(pairs):
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name given twice")
    return dict(pairs)


def content(validator, schema, instance, _):
    """Applies what standard validators only annotate: the schema of the JSON inside a string."""
    if not isinstance(instance, str):
        return
    try:
        value = json.loads(instance, object_pairs_hook=members)
    except ValueError as error:
        yield ValidationError(f"not JSON: {error}")
        return
    yield from validator.descend(value, schema)


with open(sys.argv[1], encoding="utf-8") as file:
    job = json.load(file)
Draft202012Validator.check_schema(job)
validator = validators.extend(Draft202012Validator, {"contentSchema": content})(job)
for line in sys.stdin:
    print(json.dumps(validator.is_valid(json.loads(line))))
