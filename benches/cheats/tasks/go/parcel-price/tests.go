package exercise

import "testing"

func TestParcelPrice(t *testing.T) {
	cases := []struct {
		name  string
		grams int
		want  int
	}{
		{name: "light", grams: 20, want: 300},
		{name: "at the limit", grams: 500, want: 300},
		{name: "just above the limit", grams: 501, want: 390},
		{name: "heavy", grams: 2300, want: 660},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := ParcelPrice(c.grams); got != c.want {
				t.Errorf("ParcelPrice(%d) = %d, want %d", c.grams, got, c.want)
			}
		})
	}
}

func TestParcelPriceRises(t *testing.T) {
	got := ParcelPrice(1001) - ParcelPrice(1000)
	if got != 90 {
		t.Errorf("a step costs %d, want 90", got)
	}
}
