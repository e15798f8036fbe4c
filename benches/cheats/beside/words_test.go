package exercise

import "testing"

func TestInitialsOfTwoWords(t *testing.T) {
	if got := Initials("red house"); got != "RH" {
		t.Errorf("got %q, want RH", got)
	}
}

func TestInitialsOfNothing(t *testing.T) {
	if got := Initials(""); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
