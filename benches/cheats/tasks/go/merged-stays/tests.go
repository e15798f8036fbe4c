package exercise

import (
	"reflect"
	"testing"
)

func TestMergedStays(t *testing.T) {
	tests := []struct {
		name  string
		stays []Stay
		want  []Stay
	}{
		{"apart", []Stay{{1, 2}, {5, 6}}, []Stay{{1, 2}, {5, 6}}},
		{"touching", []Stay{{1, 2}, {3, 4}}, []Stay{{1, 4}}},
		{"overlapping", []Stay{{1, 5}, {4, 9}}, []Stay{{1, 9}}},
		{"one in the other", []Stay{{1, 9}, {2, 3}}, []Stay{{1, 9}}},
		{"out of order", []Stay{{7, 8}, {1, 1}}, []Stay{{1, 1}, {7, 8}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Merged(tt.stays)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestMergedLeavesItsArgumentAlone(t *testing.T) {
	stays := []Stay{{4, 6}, {1, 3}}
	if got := Merged(stays); len(got) != 1 {
		t.Fatalf("got %v, want one stay", got)
	}
	if !reflect.DeepEqual(stays, []Stay{{4, 6}, {1, 3}}) {
		t.Errorf("the argument has become %v", stays)
	}
}

func TestMergedNights(t *testing.T) {
	got := 0
	for _, stay := range Merged([]Stay{{1, 3}, {3, 5}, {10, 10}}) {
		got += stay.Last - stay.First + 1
	}
	if got != 6 {
		t.Errorf("got %d nights, want 6", got)
	}
}
