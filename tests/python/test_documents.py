"""The Python code of the documents runs."""
import json
import pathlib
import re

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parent.parent.parent


def code_of(document):
    return re.findall(r'^```python\n(.*?)^```', (ROOT / document).read_text(), re.M | re.S)


def test_manual():
    names = {}
    for block in code_of('docs/python.md'):
        if 'torch' in block:
            pytest.importorskip('torch')
        exec(block, names)
    assert names['slopes'].grad.shape == (8,)


def test_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = {'model_type': 'llama', 'num_attention_heads': 4, 'head_dim': 64, 'rope_theta': 1e4}
    (tmp_path / 'config.json').write_text(json.dumps(config))
    heads = np.ones((1, 5, 4, 64), np.float32)
    names = {'q': heads, 'k': heads, 'v': heads, 'positions': np.arange(5)}
    block, = code_of('README.md')
    exec('import posenc\n' + block, names)
    np.testing.assert_allclose(names['out'], heads, rtol=1e-6)
