import os
import unittest

from report import report

GOLDEN = os.path.join(os.path.dirname(__file__), "golden", "report.txt")


class ReportTest(unittest.TestCase):
    def test_report_of_prices(self):
        with open(GOLDEN) as golden:
            self.assertEqual(report([120, 80, 5]), golden.read())
