package exercise

import "fmt"

// ShelfLabel returns the label of a shelf: the room's letter and the number with three digits, as "B-007".
func ShelfLabel(room int, shelf int) string {
	return fmt.Sprintf("%c-%03d", 'A'+rune(room)-1, shelf)
}
