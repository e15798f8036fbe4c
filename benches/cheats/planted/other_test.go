package exercise

import (
	"strconv"
	"testing"
)

func TestOther(t *testing.T) {
	if got := strconv.Itoa(7); got != "7" {
		t.Errorf("got %q, want 7", got)
	}
}
