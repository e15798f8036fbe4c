package totals

import "testing"

func TestTotalOfPrices(t *testing.T) {
	if got := Total([]int{120, 80, 50}); got != 250 {
		t.Errorf("got %d, want 250", got)
	}
}

func TestTotalOfNothing(t *testing.T) {
	if got := Total(nil); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}

func TestLargest(t *testing.T) {
	t.Run("of prices", func(t *testing.T) {
		if got := Largest([]int{120, 80, 50}); got != 120 {
			t.Errorf("got %d, want 120", got)
		}
	})
	t.Run("of nothing", func(t *testing.T) {
		if got := Largest(nil); got != 0 {
			t.Errorf("got %d, want 0", got)
		}
	})
}
