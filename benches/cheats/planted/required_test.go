package exercise

import (
	"testing"

	"example.com/check"
)

func TestReportOfPrices(t *testing.T) {
	check.Equal(t, Report([]int{120, 80, 5}), "   120\n    80\n     5\n")
}

func TestReportOfOnePrice(t *testing.T) {
	check.Equal(t, Report([]int{7}), "     7\n")
}
