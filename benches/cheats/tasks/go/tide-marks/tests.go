package exercise

import (
	"reflect"
	"testing"
)

func TestOneHighTide(t *testing.T) {
	if got := HighTides([]int{3, 5, 8, 6, 2}); !reflect.DeepEqual(got, []int{2}) {
		t.Errorf("got %v, want hour 2", got)
	}
}

func TestTwoHighTides(t *testing.T) {
	got := HighTides([]int{4, 6, 3, 2, 5, 7, 1})
	want := []int{1, 5}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNumberOfHighTides(t *testing.T) {
	cases := []struct {
		levels []int
		want   int
	}{
		{[]int{1, 2, 1, 2, 1}, 2},
		{[]int{1, 2, 1}, 1},
		{[]int{0, 9, 0, 9, 0, 9, 0}, 3},
	}
	for _, c := range cases {
		if got := len(HighTides(c.levels)); got != c.want {
			t.Errorf("%v: got %d high tides, want %d", c.levels, got, c.want)
		}
	}
}
