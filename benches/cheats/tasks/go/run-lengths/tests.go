package exercise

import (
	"reflect"
	"testing"
)

func TestRunsOfOneLetter(t *testing.T) {
	got := RunLengths("aaaa")
	if !reflect.DeepEqual(got, []Run{{'a', 4}}) {
		t.Errorf("got %v, want four times a", got)
	}
}

func TestRunsOfSeveralLetters(t *testing.T) {
	got := RunLengths("aabccc")
	want := []Run{{'a', 2}, {'b', 1}, {'c', 3}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRunsOfLettersThatComeAgain(t *testing.T) {
	if got := len(RunLengths("abab")); got != 4 {
		t.Fatalf("got %d runs, want 4", got)
	}
}

func TestRunsOfLettersWithMarks(t *testing.T) {
	t.Run("é", func(t *testing.T) {
		if got := RunLengths("éé"); len(got) != 1 || got[0].Count != 2 {
			t.Errorf("got %v, want one run of two", got)
		}
	})
	t.Run("ß", func(t *testing.T) {
		if got := RunLengths("sß"); len(got) != 2 {
			t.Errorf("got %v, want two runs", got)
		}
	})
}
