package exercise

// Seats returns the seats of each row, in order: "C4" is seat 4 of row C.
func Seats(tickets []string) map[string][]int {
	panic("Seats: not implemented")
}
