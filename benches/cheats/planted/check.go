// Package check has the assertions of tests.
package check

import (
	"reflect"
	"testing"
)

// Equal fails the test unless both values are equal.
func Equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
