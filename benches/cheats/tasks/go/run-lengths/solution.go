package exercise

// Run is a letter with the number of times that it follows itself.
type Run struct {
	Letter rune
	Count  int
}

// RunLengths returns the runs of a text, from left to right.
func RunLengths(text string) []Run {
	var runs []Run
	for _, letter := range text {
		last := len(runs) - 1
		if last >= 0 && runs[last].Letter == letter {
			runs[last].Count++
		} else {
			runs = append(runs, Run{letter, 1})
		}
	}
	return runs
}
