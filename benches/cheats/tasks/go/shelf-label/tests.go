package exercise

import (
	"strings"
	"testing"
)

func TestLabelOfTheFirstShelf(t *testing.T) {
	if got := ShelfLabel(1, 1); got != "A-001" {
		t.Errorf("got %q, want A-001", got)
	}
}

func TestLabelOfALargeNumber(t *testing.T) {
	if got := ShelfLabel(3, 412); got != "C-412" {
		t.Errorf("got %q, want C-412", got)
	}
}

func TestLabelsBeginWithTheRoom(t *testing.T) {
	for room, want := range map[int]string{2: "B", 4: "D", 26: "Z"} {
		got := strings.Split(ShelfLabel(room, 30), "-")[0]
		if got != want {
			t.Errorf("room %d: got %q, want %q", room, got, want)
		}
	}
}

func TestLabelsAreEquallyLong(t *testing.T) {
	for _, shelf := range []int{1, 10, 100} {
		if got := len(ShelfLabel(5, shelf)); got != 5 {
			t.Errorf("shelf %d: %d characters, want 5", shelf, got)
		}
	}
}
