package exercise

import (
	"reflect"
	"testing"
)

func TestSeatsOfOneRow(t *testing.T) {
	got := Seats([]string{"C4", "C2", "C11"})
	if !reflect.DeepEqual(got, map[string][]int{"C": {2, 4, 11}}) {
		t.Errorf("got %v", got)
	}
}

func TestSeatsOfTwoRows(t *testing.T) {
	got := Seats([]string{"A1", "B7", "A3"})
	t.Run("A", func(t *testing.T) {
		if !reflect.DeepEqual(got["A"], []int{1, 3}) {
			t.Errorf("got %v, want 1 and 3", got["A"])
		}
	})
	t.Run("B", func(t *testing.T) {
		if !reflect.DeepEqual(got["B"], []int{7}) {
			t.Errorf("got %v, want 7", got["B"])
		}
	})
}

func TestSeatsWithoutANumber(t *testing.T) {
	if got := len(Seats([]string{"A1", "Dx"})); got != 1 {
		t.Errorf("got %d rows, want 1", got)
	}
}
