package exercise

// Check returns the digit that makes the sum of a ticket's digits a multiple of nine.
func Check(ticket string) int {
	return 0
}

// IsValid tells whether the last digit of a ticket is the check of those before it.
func IsValid(ticket string) bool {
	return false
}
