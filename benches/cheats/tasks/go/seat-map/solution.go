package exercise

import (
	"sort"
	"strconv"
)

// Seats returns the seats of each row, in order: "C4" is seat 4 of row C.
func Seats(tickets []string) map[string][]int {
	seats := map[string][]int{}
	for _, ticket := range tickets {
		seat, err := strconv.Atoi(ticket[1:])
		if err == nil {
			seats[ticket[:1]] = append(seats[ticket[:1]], seat)
		}
	}
	for _, row := range seats {
		sort.Ints(row)
	}
	return seats
}
