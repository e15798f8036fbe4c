package exercise

import (
	"errors"
	"testing"
)

func TestSum(t *testing.T) {
	got, _ := Sum(Price{120}, Price{80})
	if !got.Equal(Price{200}) {
		t.Errorf("got %v, want 200", got)
	}
}

func TestSumOfOne(t *testing.T) {
	got, _ := Sum(Price{35})
	if !got.Equal(Price{35}) {
		t.Errorf("got %v, want 35", got)
	}
}

func TestSumOfANegativePrice(t *testing.T) {
	if _, err := Sum(Price{-1}); !errors.Is(err, ErrNegative) {
		t.Errorf("got %v, want %v", err, ErrNegative)
	}
}
