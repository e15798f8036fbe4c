import unittest

from words import initials, title


class WordsTest(unittest.TestCase):
    def test_title_of_two_words(self):
        self.assertEqual(title("red house"), "Red House")

    def test_title_of_nothing(self):
        self.assertEqual(title(""), "")

    def test_initials_of_two_words(self):
        self.assertEqual(initials("red house"), "RH")
