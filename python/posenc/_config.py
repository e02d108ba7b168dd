"""Rope.from_config: the rotary embedding of a config.json, as posenc.model reads it."""
import posenc

_KINDS = {'alibi': 'ALiBi', 'learned': 'a learned table', 'sinusoidal': 'sinusoids', 'none': 'none',
          'relative_buckets': 'a bias by buckets of distance', 'relative_keys': 'learned rows by distance'}


def rope_from_config(config, *, part='text', layer_type=None, layout=None, context=None, strict=False, **options):
    """Makes the Rope of a model, as posenc.model.read reads it.

    config: a dict with the fields of config.json, or the path of such a file, of a folder that has one, or of a GGUF
    file.
    part: 'vision' for the tower for images, whose fields are in `vision_config`.
    layer_type: 'full_attention' or the like, of models whose layers rotate in several ways.
    layout: that of its model_type; of one that is not known it has to be given, as has anything else that neither the
    file nor its model_type tells.
    context: the longest sequence to come, which 'longrope' needs and 'dynamic' wants.
    strict: fields about positions that are not understood are refused; otherwise a warning names them.
    Other keyword arguments are those of Rope, and win over the file. For latent attention (DeepSeek)
    the Rope has the rotated channels alone. Raises Refused, a ValueError.
    """
    if layout is not None:
        options['layout'] = layout
    model = posenc.model.read_quietly(config, context or 0.0, part, options.pop('head_dim', None))
    posenc.model.tell_unknown(model, strict, 3)
    if model.positions != 'rope':
        raise _refused(f'model_type "{model.model_type:.63}" has no RoPE; its positions are: {_KINDS[model.positions]}')
    for argument, what in model.guessed.items():
        if argument not in options:
            raise _refused(f'{argument}: neither the file nor its model_type "{model.model_type:.63}" tells it; give it '
                          f'({what} is what many have)')
    return _table(model, layer_type).rope(**options)


def _refused(why):
    return posenc.model.Refused(why)


def _table(model, layer_type):
    """The first table of layers of a type, if all of these make the same Rope."""
    if any(table.is_alternative for table in model.tables):
        raise _refused(f'context: the frequencies are others {" and ".join(table.name for table in model.tables)}; give '
                      'the longest sequence to come')
    types = dict.fromkeys(name for table in model.tables for name in (table.layer_types or (table.name,)))
    fit = [table for table in model.tables
           if layer_type is None or layer_type == table.name or layer_type in table.layer_types]
    if not fit or any(not _are_alike(fit[0], table) for table in fit):
        given = '' if layer_type is None else f'{layer_type!r} does not tell one; '
        raise _refused(f'layer_type: {given}layers that rotate are {", ".join(types) or "of no type that is told"}')
    return fit[0]


def _are_alike(a, b):
    (status, theta, magnitude), others = a.params.frequencies(), b.params.frequencies()
    return (status, theta.tolist(), magnitude) == (others[0], others[1].tolist(), others[2]) and \
        (a.q.head_dim, a.params.layout) == (b.q.head_dim, b.params.layout)
