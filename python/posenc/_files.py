"""Files that have their name only once they are whole."""
import contextlib
import os


@contextlib.contextmanager
def whole(path):
    """The name to write to; the file gets its own afterwards, unless something went wrong: then nothing is left."""
    part = f'{path}.part'
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
