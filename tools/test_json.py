#!/usr/bin/env python3
"""JSON of the command against its schema, and CSV against JSON. usage: test_json.py POSENC SCHEMA"""
import csv
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print('skipped: python3-jsonschema is not installed')
    sys.exit(77)

SMALL = ['bench', '--quick', '--n-heads', '2', '--head-dim', '16', '--tokens', '3', '--context', '9']


def printed(*arguments):
    return subprocess.run([posenc, *arguments], capture_output=True, text=True, check=True).stdout


def check(kind, *arguments):
    found = json.loads(printed(*arguments))
    jsonschema.validate(found, {**schema, '$ref': f'#/definitions/{kind}'})
    return found


posenc = sys.argv[1]
schema = json.load(open(sys.argv[2], encoding='utf-8'))
two = check('bench', *SMALL, '--threads', '2', '--json')
assert two['verified'] and {row['threads'] for row in two['rows']} == {2}
info, bench = check('info', 'info', '--json'), check('bench', *SMALL, '--json')
alibi = check('bench', *SMALL, '--alibi', '--json')
assert info['in_use'] in [tier['name'] for tier in info['tiers'] if tier['runs']]
assert {row['tier'] for row in bench['rows']} == {tier['name'] for tier in info['tiers'] if tier['runs']} | {'limit'}
assert not any('RoPE' in row['work'] for row in alibi['rows'])
rows = list(csv.DictReader(printed(*SMALL, '--csv').splitlines()))
assert [list(row) for row in rows] == [list(row) for row in bench['rows']]
assert [row['work'] for row in rows] == [row['work'] for row in bench['rows']]
broken = {**bench, 'rows': [{**bench['rows'][0], 'us_per_token': 'fast'}]}
try:
    jsonschema.validate(broken, {**schema, '$ref': '#/definitions/bench'})
except jsonschema.ValidationError:
    print(f'{len(bench["rows"])} rows of JSON and CSV are as the schema says')
else:
    sys.exit('the schema takes anything')
