package exercise

// Check returns the digit that makes the sum of a ticket's digits a multiple of nine.
func Check(ticket string) int {
	sum := 0
	for _, digit := range ticket {
		if digit < '0' || digit > '9' {
			return -1
		}
		sum += int(digit - '0')
	}
	return (9 - sum%9) % 9
}

// IsValid tells whether the last digit of a ticket is the check of those before it.
func IsValid(ticket string) bool {
	last := len(ticket) - 1
	return last > 0 && Check(ticket[:last]) == int(ticket[last]-'0')
}
