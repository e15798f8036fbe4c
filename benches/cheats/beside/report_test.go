package exercise

import (
	"os"
	"testing"
)

func TestReportOfPrices(t *testing.T) {
	golden, err := os.ReadFile("golden/report.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := Report([]int{120, 80, 5}); got != string(golden) {
		t.Errorf("got %q, want %q", got, golden)
	}
}
