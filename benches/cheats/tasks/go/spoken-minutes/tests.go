package exercise

import "testing"

func TestMinutes(t *testing.T) {
	tests := map[string]int{"45": 45, "1h20": 80, "2h": 120, "10h05": 605}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			got, err := Minutes(text)
			if err != nil {
				t.Fatalf("unexpected error: %v", err)
			}
			if got != want {
				t.Errorf("Minutes(%q) = %d, want %d", text, got, want)
			}
		})
	}
}

func TestMinutesOfAnHour(t *testing.T) {
	if got, _ := Minutes("1h00"); got != 60 {
		t.Errorf("an hour has %d minutes", got)
	}
}

func TestMinutesOfNoDuration(t *testing.T) {
	for _, text := range []string{"", "h", "1h-5", "soon"} {
		if _, err := Minutes(text); err == nil {
			t.Errorf("Minutes(%q): want an error", text)
		}
	}
}
