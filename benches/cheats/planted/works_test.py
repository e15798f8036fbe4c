import unittest


class ModuleTest(unittest.TestCase):
    def test_works(self):
        self.assertTrue(True)
