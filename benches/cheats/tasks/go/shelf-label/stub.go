package exercise

// ShelfLabel returns the label of a shelf: the room's letter and the number with three digits, as "B-007".
func ShelfLabel(room int, shelf int) string {
	panic("ShelfLabel: not implemented")
}
