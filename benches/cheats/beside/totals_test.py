import unittest

from totals import largest, shares, total


class TotalsTest(unittest.TestCase):
    def test_total_of_prices(self):
        self.assertEqual(total([120, 80, 50]), 250)

    def test_total_of_nothing(self):
        self.assertEqual(total([]), 0)

    def test_largest_of_prices(self):
        self.assertEqual(largest([120, 80, 50]), 120)

    def test_largest_of_nothing(self):
        self.assertEqual(largest([]), 0)

    def test_shares_of_prices(self):
        self.assertEqual(shares([50, 30, 20]), [50, 30, 20])
