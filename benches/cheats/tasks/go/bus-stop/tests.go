package exercise

import "testing"

func TestNextBusOfTheMorning(t *testing.T) {
	got := NextBus("08:10", []string{"07:55", "08:25", "08:55"})
	if got != "08:25" {
		t.Errorf("next bus at 08:10: got %q, want 08:25", got)
	}
}

func TestNextBusLeavesNow(t *testing.T) {
	if got := NextBus("08:25", []string{"08:25", "08:55"}); got != "08:25" {
		t.Errorf("got %q, want the bus that leaves now", got)
	}
}

func TestNextBusInAnyOrder(t *testing.T) {
	cases := []struct {
		now, want string
	}{
		{"12:00", "12:20"},
		{"12:21", "13:05"},
		{"06:00", "06:40"},
	}
	for _, c := range cases {
		if got := NextBus(c.now, []string{"13:05", "06:40", "12:20"}); got != c.want {
			t.Errorf("next bus at %s: got %q, want %q", c.now, got, c.want)
		}
	}
}

func TestNoBusAtNight(t *testing.T) {
	if got := NextBus("23:59", []string{"07:55", "08:25"}); got != "" {
		t.Fatalf("got %q, want none", got)
	}
}
