

import pytest

CLASSES = [value for value in list(globals().values()) if isinstance(value, type) and issubclass(value, unittest.TestCase)]
CASES = [(kind, name) for kind in CLASSES for name in dir(kind) if name.startswith("check")]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_all(kind, name):
    kind(name).debug()
