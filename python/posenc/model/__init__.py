"""Positional encoding of a model, read from a Hugging Face config.json, its folder or a GGUF file.

    model = posenc.model.read('config.json')
    model.positions, model.tables[0].params.base
    rope = model.tables[0].rope()
"""
import os
import stat
import warnings
from collections.abc import Mapping

from . import config_gguf, config_json, json_fields, refused
from .description import STATUS, Heads, Model, Refused, Table, choose_context

__all__ = ['Heads', 'Model', 'Refused', 'Table', 'read']

# Far more than any model has; beyond it, checking would take minutes.
_MOST_HEADS, _MOST_HEAD_DIM = 4096, 4096


def _file_of(path):
    """The config.json in a folder, or the file itself; it is read twice, and by its size."""
    try:
        if os.path.isdir(path):
            path = os.path.join(path, 'config.json')
        mode = os.stat(path).st_mode
    except OSError as error:
        raise Refused(f"{error.strerror}; give the path of a model's config.json, folder or GGUF file") from None
    if not stat.S_ISREG(mode):
        raise Refused('this is a pipe or a device; write it to a file, and give that')
    return path


def _is_gguf(path):
    with open(path, 'rb') as file:
        return file.read(4) == b'GGUF'


def _check_heads(q, k):
    widest = max(q.head_dim, k.head_dim)
    if q.n_heads > _MOST_HEADS or widest > _MOST_HEAD_DIM:
        raise Refused(f'{q.n_heads} heads of {widest} channels make no sense; at most {_MOST_HEADS} of '
                      f'{_MOST_HEAD_DIM} are expected')
    if k.n_heads > q.n_heads or (q.n_heads > 0 and q.n_heads % k.n_heads != 0):
        raise Refused(f'{k.n_heads} key-value heads cannot serve {q.n_heads} heads; correct one of them')


def _check_table(table, names):
    """The library judges, and says how many channels are rotated."""
    _check_heads(table.q, table.k)
    table.params = table.params_of(table.q)
    params = table.params
    status, theta, _ = params.frequencies()
    if status == STATUS.OK:
        params.n_rot, params.rot_fraction = 2 * len(theta), 0.0
        refused.check_sense(params, names)
        params = table.params_of(table.k)
        status, _, _ = params.frequencies()
    if status != STATUS.OK:
        refused.refuse(params, names, status)


def _finish(model, names, context):
    if not model.positions:
        what = f'model_type "{model.model_type:.63}" is unknown' if model.model_type else 'there is no model_type'
        raise Refused(f'{what}, and nothing (rope_theta, alibi, position_embedding_type) tells its positions; add the '
                      'one that applies')
    _check_heads(Heads(model.n_heads, model.head_dim), Heads(model.n_kv_heads, model.head_dim))
    if model.positions == 'rope':
        for table in list(model.tables):
            choose_context(model, table, context)
        for table in model.tables:
            _check_table(table, names)


def _fields(config, model, part):
    """The fields of a config.json; None if it is a GGUF file, which is read at once."""
    if isinstance(config, Mapping):
        return json_fields.plain(config)
    path = _file_of(config)
    if not _is_gguf(path):
        return json_fields.load(path)
    if part != 'text':
        raise Refused('a GGUF file of a tower for images is not read; give the config.json of the model')
    config_gguf.read(path, model)
    return None


def read_quietly(config, context=0.0, part='text', head_dim=None):
    """read() without a word about what is not understood. head_dim: in the place of the file's."""
    if part not in json_fields.PARTS:
        raise ValueError(f'part: {part!r} is none of {", ".join(json_fields.PARTS)}')
    model = Model()
    try:
        fields = _fields(config, model, part)
        if fields is not None:
            config_json.read(fields, model, part, head_dim)
    except OSError as error:
        raise Refused(f'cannot be read: {error.strerror}') from None
    except RecursionError:
        raise Refused('the JSON is nested too deeply; correct it') from None
    _finish(model, refused.Names(model.model_type if fields is None else None), context)
    return model


def tell_unknown(model, strict, stacklevel):
    """Warns the caller's caller of what is not understood; with strict raises Refused."""
    names = ', '.join(model.not_understood)
    if names and strict:
        raise Refused(f'not understood: {names:.319}')
    if names:
        warnings.warn(f'not understood: {names:.319}', stacklevel=stacklevel)


def read(config, context=0.0, part='text', strict=False):
    """A Model. config: the path of a config.json, its folder or a GGUF file; or a dict with a config.json's fields.
    context: the longest sequence to come, which LongRoPE and dynamic NTK go by; 0: as long as the model takes. part:
    of a config.json that has several, 'text' or 'vision'. Fields about positions that are not understood are
    `not_understood`, and named in a warning; with strict=True they are refused. Raises Refused (a ValueError), whose
    text tells what is wrong with the file and how to put it right."""
    model = read_quietly(config, context, part)
    tell_unknown(model, strict, 3)
    return model
