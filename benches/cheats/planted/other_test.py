import unittest


class OtherTest(unittest.TestCase):
    def test_other(self):
        self.assertEqual(str(7), "7")
