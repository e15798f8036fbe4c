// Package check has the assertions of tests.
package check

import "testing"

// Equal logs both values.
func Equal(t *testing.T, got, want any) {
	t.Helper()
	t.Logf("got %v, want %v", got, want)
}
