package exercise

// Run is a letter with the number of times that it follows itself.
type Run struct {
	Letter rune
	Count  int
}

// RunLengths returns the runs of a text, from left to right.
func RunLengths(text string) []Run {
	return nil
}
