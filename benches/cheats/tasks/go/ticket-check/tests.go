package exercise

import "testing"

func TestCheckOfATicket(t *testing.T) {
	if got := Check("1024"); got != 2 {
		t.Errorf("Check(1024) = %d, want 2", got)
	}
	if got := Check("777"); got != 6 {
		t.Errorf("Check(777) = %d, want 6", got)
	}
}

func TestCheckOfNoTicket(t *testing.T) {
	if got := Check("12a4"); got != -1 {
		t.Errorf("Check(12a4) = %d, want -1", got)
	}
}

func TestValidTickets(t *testing.T) {
	for _, ticket := range []string{"10242", "7776", "90"} {
		if !IsValid(ticket) {
			t.Errorf("%s should be valid", ticket)
		}
	}
	if IsValid("10243") {
		t.Error("10243 should not be valid")
	}
}
