"""Judges YAML documents by a JSON Schema, after checking the schema itself.

Arguments: the file of the schema. Input: a JSON array of YAML texts. Output: a JSON array with an error for each, or null.
"""
import json
import re
import sys

import jsonschema
import yaml


class Loader(yaml.SafeLoader):
    """Reads booleans as YAML 1.2 does: `yes` and `off` are texts."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag != "tag:yaml.org,2002:bool"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
verdicts = []
for text in json.load(sys.stdin):
    error = jsonschema.exceptions.best_match(validator.iter_errors(yaml.load(text, Loader)))
    verdicts.append(error and f"{'.'.join(map(str, error.path))}: {error.message}")
print(json.dumps(verdicts))
